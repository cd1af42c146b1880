/* See rules.h. */
#include "rules.h"

#include "glob.h"

const struct path_rule *rules_find(const struct path_rules *rules, struct weir_str path)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (glob_match(rules->first[i].glob, path))
            return &rules->first[i];
    }
    return NULL;
}
