/*
 * A worker's open resources, found by path.
 *
 * An entry is taken to be what is on disk for LIMIT_CACHE_FRESH_MS; after that the first request
 * for it looks, and opens the file anew if it has changed.  Maps and snapshots are bounded apart:
 * the ones by descriptors, the others by memory.  That a path leads
 * nowhere is remembered for as long.
 *
 * Thread: one worker.
 */
#ifndef FILES_CACHE_H
#define FILES_CACHE_H

#include <stddef.h>

#include "resource.h"
#include "weir/err.h"
#include "weir/str.h"

struct cache;
struct clock;

struct cache_bounds {
    size_t maps;           /* files that are mapped, each of which holds a descriptor */
    size_t snapshot_bytes; /* memory for those that are small */
};

/*
 * env and clock are borrowed for the cache's life.  What was opened last is kept in any case.
 * Own: cache_free().  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err cache_new(const struct file_env *env, const struct clock *clock,
                        const struct cache_bounds *bounds, struct cache **out);

/* Files that a response still holds stay until it is over.  NULL is fine. */
void cache_free(struct cache *c);

/*
 * The resource at a path that is still encoded, if it is known, fresh, and needs no decoding; else
 * NULL.  Costs one hash and one comparison; not even those if the path has a memo, which may be
 * NULL, and was found before.
 * Borrowed: true until the next call on the cache.
 */
struct resource *cache_find(struct cache *c, struct weir_str raw, struct weir_memo *memo);

/*
 * The resource at a decoded path, opened if need be; a path that ends with '/' means its
 * index.html. Gives 0 and *out, or the status due. Borrowed: *out is true until the next call on
 * the cache.
 */
unsigned cache_get(struct cache *c, struct weir_str path, struct resource **out);

/* Count a resource that the cache gave anew: an original was added to it. */
void cache_recount(struct cache *c, struct resource *resource);

#endif
