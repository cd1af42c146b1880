/*
 * The protocol's half of a request: how weir_respond() and its kin reach the stream.
 * Both functions are given the request that is embedded in the protocol's stream object.
 */
#ifndef INTERNAL_EXCHANGE_H
#define INTERNAL_EXCHANGE_H

#include "weir/response.h"

struct exchange_ops {
    enum weir_err (*respond)(struct weir_request *r, const struct weir_response *resp);
    void (*resume)(struct weir_request *r);
};

#endif
