/*
 * What the operator says about files whose path matches a pattern.
 */
#ifndef FILES_RULES_H
#define FILES_RULES_H

#include <stddef.h>

#include "weir/str.h"

struct path_rule {
    struct weir_str glob;  /* see glob_match() */
    struct weir_str value; /* of a field */
};

struct path_rules {
    const struct path_rule *first; /* Borrowed */
    size_t count;
};

/* The first rule that matches a path, which begins with '/'; NULL: none does.  Thread: any. */
const struct path_rule *rules_find(const struct path_rules *rules, struct weir_str path);

#endif
