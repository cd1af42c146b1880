/*
 * Request targets (RFC 9112 3.2).
 */
#ifndef HTTP1_TARGET_H
#define HTTP1_TARGET_H

#include <stdbool.h>

#include "weir/request.h"

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
