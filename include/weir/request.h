/*
 * A request as a handler sees it, whatever protocol it came by (RFC 9110 6).
 *
 * Life: all views point into memory of the connection (HPACK strings, receive buffers) and stay
 *       true from the call of the handler until the response's source is released.
 */
#ifndef WEIR_REQUEST_H
#define WEIR_REQUEST_H

#include <stddef.h>

#include "weir/err.h"
#include "weir/str.h"

/* A field line (RFC 9110 5).  Names are lower case whatever the protocol. */
struct weir_field {
    struct weir_str name;
    struct weir_str value;
};

struct exchange_ops;

struct weir_request {
    struct weir_str method;    /* as sent; methods are case-sensitive (RFC 9110 9.1) */
    struct weir_str scheme;    /* "http", "https", or empty if the protocol names none */
    struct weir_str authority; /* :authority or Host; may be empty */
    struct weir_str path;      /* :path or request-target, still percent-encoded, with query */
    const struct weir_field *fields; /* in order of arrival, without pseudo-header fields */
    size_t field_count;
    const struct exchange_ops *ops; /* the protocol's way to answer; see response.h */
};

/* The first field of that lower-case name, or NULL.  Borrowed from the request. */
WEIR_PUBLIC const struct weir_field *weir_request_find(const struct weir_request *r,
                                                       struct weir_str name);

#endif
