/*
 * HTTP/2 (RFC 9113) as a protocol of a connection: see internal/protocol.h for the contract.
 *
 * nghttp2 does the states of streams, flow control, and what is sent next.  This module adds what a
 * server needs around it: field sections decoded into references and encoded from memory, responses
 * and DATA framed into a gather list without a copy, budgets for everything a peer can make us do,
 * and an orderly end in two steps.
 */
#ifndef H2_H2_H
#define H2_H2_H

#include "internal/protocol.h"

extern const struct protocol h2_protocol;

#endif
