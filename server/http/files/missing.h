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

#include "trust.h"
#include "weir/str.h"

#define MISSING_SLOTS 256
#define MISSING_PATH_MAX 102

struct missing_slot {
    struct trust trust; /* that there is nothing */
    uint16_t path_len;  /* 0: the slot is empty */
    char path[MISSING_PATH_MAX];
};

struct missing {
    struct missing_slot slots[MISSING_SLOTS];
};

/* `hash` is that of the path, which is not empty: there is nothing there. */
void missing_add(struct missing *m, uint64_t hash, struct weir_str path, struct trust trust);

/* True if there is nothing at the path, as far as is known. */
bool missing_has(const struct missing *m, uint64_t hash, struct weir_str path, uint64_t now_ms);

/* True if there was nothing when it was last looked for. */
bool missing_knows(const struct missing *m, uint64_t hash, struct weir_str path);

/* There may be something now. */
void missing_remove(struct missing *m, uint64_t hash, struct weir_str path);

/* The same for all paths that go on behind `path` with a '/': a directory may be there. */
void missing_remove_below(struct missing *m, struct weir_str path);

#endif
