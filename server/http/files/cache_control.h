/*
 * How long others may keep a copy (RFC 9111 5.2).
 */
#ifndef FILES_CACHE_CONTROL_H
#define FILES_CACHE_CONTROL_H

#include <stdbool.h>

#include "rules.h"
#include "weir/str.h"

/*
 * The value for the file at a path, which begins with '/', and of a media type.  What the rules say
 * counts, empty: no such field; else a name that holds a digest of its content is good for ever,
 * a page is to be asked for each time, and so is the rest.
 * Borrowed: from the rules, or a literal.
 */
struct weir_str cache_control_of(struct weir_str path, struct weir_str type,
                                 struct path_rules rules);

/* True if a file name looks like `name.<8 or more of hex or base64url>.ext`. */
bool name_has_digest(struct weir_str path);

#endif
