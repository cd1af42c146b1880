/*
 * Keys of session tickets (RFC 8446 4.6.1).  Tickets hold all there is to a session, so any worker
 * takes any ticket and nothing is stored.
 */
#ifndef TLS_TICKETS_H
#define TLS_TICKETS_H

#include "context_state.h"

/*
 * Make a context issue and accept tickets, whose keys change every `period_s` seconds: a key seals
 * for one period and opens for two.  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err tickets_init(struct tls_ctx *ctx, uint32_t period_s);

#endif
