/*
 * What a server calls for each request.
 *
 * Called once the field section is complete; a body may still be on its way.  The handler answers
 * with weir_respond(), now or later.
 * Thread: the worker that owns the connection.
 */
#ifndef WEIR_HANDLER_H
#define WEIR_HANDLER_H

#include "weir/request.h"

typedef void weir_handler_fn(void *ctx, struct weir_request *r);

#endif
