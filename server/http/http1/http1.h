/*
 * HTTP/1.1 and HTTP/1.0 (RFC 9112) as a protocol of internal/protocol.h.
 *
 *     feed ──▶ head_scan ──▶ llhttp ──▶ request checks ──▶ handler       pull ──▶ head, body slices
 *                 │ a head that arrives whole is used where it lies
 *
 * feed() lower-cases field names where they lie: the bytes of a slice that is fed are the
 * session's from then on.
 *
 * Whoever breaks the framing, even a little, gets an answer and `Connection: close`, and nothing
 * that follows is interpreted: a request that two parties could read in two ways is not served.
 */
#ifndef HTTP1_HTTP1_H
#define HTTP1_HTTP1_H

#include "internal/protocol.h"

extern const struct protocol http1_protocol;

#endif
