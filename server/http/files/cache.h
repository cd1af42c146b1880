/*
 * A worker's open resources, found by path.
 *
 * An entry is taken to be what is on disk for LIMIT_CACHE_FRESH_MS; after that the first request
 * for it looks, and opens the file anew if it has changed.  Maps and snapshots are bounded apart:
 * the ones by descriptors, the others by memory.  That a path leads nowhere is remembered for as
 * long.
 *
 * Why not inotify(7): it does not tell of stores into maps, of changes by another hard link, behind
 * a symbolic link or on another machine, so the looks would have to stay.  They cost each file in
 * demand one system call per second, four where it may have siblings.
 *
 * What may have to wait for a disk is done off the loop (look.h); whoever asked is woken then, and
 * asks again.
 *
 * Thread: one worker.
 */
#ifndef FILES_CACHE_H
#define FILES_CACHE_H

#include <stddef.h>

#include "resource.h"
#include "waiter.h"
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

/* Not a status: whoever asked is to wait, and to ask again. */
#define CACHE_WAITS ROOT_WAITS

/*
 * The resource at a decoded path, opened if need be; a path that ends with '/' means its
 * index.html. Gives 0 and *out, the status due, or CACHE_WAITS.
 * Borrowed: *out is true until the next call on the cache.
 */
unsigned cache_get(struct cache *c, struct weir_str path, struct resource **out);

/*
 * Have the original of a resource, which the cache gave last, made from a sibling: see
 * resource_choose().  Gives 0 if that is done, CACHE_WAITS, or 503.
 */
unsigned cache_make_original(struct cache *c, struct resource *resource);

/*
 * Wait for what the last call said CACHE_WAITS for.  Whatever comes of it, asking again while being
 * woken does not wait for the same.
 */
void cache_wait(struct cache *c, struct waiter *waiter);

/* True if a resource that the cache gave, and still has, may be used without asking again. */
bool cache_is_fresh(const struct cache *c, const struct resource *resource);

/* A number that changes whenever a resource that the cache gave may be gone, or another one. */
uint64_t cache_epoch(const struct cache *c);

#endif
