/*
 * For how long what was seen at a path is taken to be what is there.
 *
 * Where the kernel tells of changes (dirs.h), that long: as long as its directory's ticket is the
 * one that it was given, and until a safety net of LIMIT_CACHE_WATCHED_MS has passed.  Elsewhere,
 * for LIMIT_CACHE_FRESH_MS.
 */
#ifndef FILES_TRUST_H
#define FILES_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dirs.h"
#include "internal/limits.h"

struct trust {
    uint64_t seen_ms;      /* when it was looked at */
    const struct dir *dir; /* Borrowed: whose watch would tell of a change; NULL: none would */
    uint64_t ticket;       /* of that directory then */
};

static inline bool trust_holds(const struct trust *t, uint64_t now_ms)
{
    if (t->dir == NULL)
        return now_ms - t->seen_ms < LIMIT_CACHE_FRESH_MS;
    return t->ticket == t->dir->ticket && now_ms - t->seen_ms < LIMIT_CACHE_WATCHED_MS;
}

/* Begun by a look at now_ms; dir is watched since before it, or NULL. */
static inline struct trust trust_since(uint64_t now_ms, const struct dir *dir)
{
    return (struct trust){now_ms, dir, dir == NULL ? 0 : dir->ticket};
}

/* A change was told of by dir. */
static inline void trust_end(struct trust *t, const struct dir *dir)
{
    t->dir = dir;
    t->ticket = DIR_TICKET_NONE;
}

#endif
