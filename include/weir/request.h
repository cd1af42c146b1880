/*
 * A request as a handler sees it, whatever protocol it came by (RFC 9110 6).
 *
 * Life: all views point into memory of the connection (HPACK strings, receive buffers) and stay
 *       true from the call of the handler until the response's source is released.
 */
#ifndef WEIR_REQUEST_H
#define WEIR_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "weir/err.h"
#include "weir/str.h"

/* A field line (RFC 9110 5).  Names are lower case whatever the protocol. */
struct weir_field {
    struct weir_str name;
    struct weir_str value;
};

/*
 * Room for what a handler makes of a string, beside the string itself: zero at first, and as the
 * handler left it when the same string comes again.  It may come with any request of the worker.
 */
struct weir_memo {
    const void *ptr;
    uint64_t stamp; /* tells the handler whether ptr still holds */
};

struct exchange_ops;

struct weir_request {
    struct weir_str method;    /* as sent; methods are case-sensitive (RFC 9110 9.1) */
    struct weir_str scheme;    /* "http", "https", or empty if the protocol names none */
    struct weir_str authority; /* :authority or Host; may be empty */
    struct weir_str path;      /* :path or request-target, still percent-encoded, with query */
    const struct weir_field *fields; /* in order of arrival, without pseudo-header fields */
    size_t field_count;
    struct weir_memo *path_memo;    /* of path, if that is likely to come again; else NULL */
    const struct exchange_ops *ops; /* the protocol's way to answer; see response.h */
};

/* The first field of that lower-case name, or NULL.  Borrowed from the request. */
WEIR_PUBLIC const struct weir_field *weir_request_find(const struct weir_request *r,
                                                       struct weir_str name);

#endif
