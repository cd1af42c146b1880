/*
 * Request targets and authorities (RFC 9112 3.2, RFC 9110 4.2 and 7.2).
 */
#ifndef HTTP1_TARGET_H
#define HTTP1_TARGET_H

#include <stdbool.h>

#include "weir/request.h"

/* True for uri-host [ ":" port ] without userinfo and not empty (RFC 3986 3.2). */
bool authority_is_valid(struct weir_str authority);

/* The same host and port: without regard to case, `default_port` being the same as none. */
bool authority_is_same(struct weir_str a, struct weir_str b, struct weir_str default_port);

/*
 * Set authority, path and scheme of a request whose method is set.
 * target:    the request-target as sent; its bytes may be moved, in place.
 * authority: the value of Host, empty when there is none.
 * is_tls:    how the request came.
 * Gives 0, or the status of the answer that is due.
 */
unsigned target_parse(struct weir_request *r, struct weir_str target, struct weir_str authority,
                      bool is_tls);

#endif
