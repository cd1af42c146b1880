/*
 * Paths that were looked for in vain a moment ago, so that a flood of requests for them does not
 * become one of system calls.
 *
 * A table in which a path has one place: one that comes later takes it over.  Long paths have none.
 */
#ifndef FILES_MISSING_H
#define FILES_MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/str.h"

#define MISSING_SLOTS 256
#define MISSING_PATH_MAX 110

struct missing_slot {
    uint64_t seen_ms; /* when it was not there; 0: the slot is empty */
    uint16_t path_len;
    char path[MISSING_PATH_MAX];
};

struct missing {
    struct missing_slot slots[MISSING_SLOTS];
};

/* `hash` is that of the path; at now_ms, which is not 0, it is not there. */
void missing_add(struct missing *m, uint64_t hash, struct weir_str path, uint64_t now_ms);

/* True if the path was not there less than LIMIT_CACHE_FRESH_MS ago. */
bool missing_has(const struct missing *m, uint64_t hash, struct weir_str path, uint64_t now_ms);

#endif
