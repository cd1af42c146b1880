/*
 * How long others may keep a copy (RFC 9111 5.2).
 */
#ifndef FILES_CACHE_CONTROL_H
#define FILES_CACHE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/str.h"

/* What the operator says about the files whose path matches. */
struct cache_rule {
    struct weir_str glob;  /* see glob_match() */
    struct weir_str value; /* of the field; empty: no such field */
};

/*
 * The value for the file at a path, which begins with '/'.  The first rule that matches counts;
 * else a name that holds a digest of its content is good for ever, a page is to be asked for each
 * time, and so is the rest.
 * Borrowed: from the rules, or a literal.
 */
struct weir_str cache_control_of(struct weir_str path, const struct cache_rule *rules,
                                 size_t rule_count);

/* True if a file name looks like `name.<8 or more of hex or base64url>.ext`. */
bool name_has_digest(struct weir_str path);

#endif
