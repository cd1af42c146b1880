/*
 * The authority of a URI of http or https, as Host and :authority say it (RFC 9110 4.2 and 7.2,
 * RFC 3986 3.2).
 */
#ifndef CORE_AUTHORITY_H
#define CORE_AUTHORITY_H

#include <stdbool.h>

#include "weir/str.h"

/* True for uri-host [ ":" port ] without userinfo and not empty (RFC 3986 3.2). */
bool authority_is_valid(struct weir_str authority);

/* The same host and port: without regard to case, `default_port` being the same as none. */
bool authority_is_same(struct weir_str a, struct weir_str b, struct weir_str default_port);

#endif
