/*
 * Keys of session tickets (RFC 8446 4.6.1).  Tickets hold all there is to a session, so any worker
 * takes any ticket and nothing is stored.
 */
#ifndef TLS_TICKETS_H
#define TLS_TICKETS_H

#include "context_state.h"

#define TICKET_PERIOD_S 3600L /* a key encrypts for one period and decrypts for two */

/* Make a context issue and accept tickets.  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err tickets_init(struct tls_ctx *ctx);

#endif
