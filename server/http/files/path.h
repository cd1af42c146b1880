/*
 * From a request's path to a path below the root (RFC 3986 3.3, 5.2.4, 6.2.2).
 *
 * Percent-encoding is undone once, then empty and dot segments are removed; what comes out is
 * never decoded again, so "%252e" stays the text "%2e".
 */
#ifndef FILES_PATH_H
#define FILES_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/str.h"

/* The path of a request target: all before the query. */
struct weir_str path_cut_query(struct weir_str target);

/*
 * Decode `raw`, a path without query, into `out`, which has room for raw.len + 1 bytes.  The result
 * begins with '/', has no empty, "." or ".." segment, ends with '/' if it names a directory, and is
 * followed by a NUL that is not counted in *out_len.
 * False: the path is malformed and due a 400: no '/' at the start, a percent sign without two hex
 * digits, a control character, '#', a backslash or an encoded slash, ".." above the root.
 */
bool path_decode(struct weir_str raw, char *out, size_t *out_len);

/*
 * Percent-encode a decoded path, or a part of one, so that it may stand in a URI reference.  Gives
 * the length, which is 3 * path.len at most; `out` has room for that.
 */
size_t path_encode(struct weir_str path, char *out);

/*
 * True if a decoded path reads the same when it is sent as it is: then the raw path can be looked
 * up without decoding.
 */
bool path_is_plain(struct weir_str decoded);

/* True if a segment begins with a dot, "/.well-known/" at the start excepted (RFC 8615). */
bool path_is_hidden(struct weir_str decoded);

#endif
