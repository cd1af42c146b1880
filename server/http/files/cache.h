/*
 * A worker's open resources, found by path.
 *
 * Where the kernel tells of changes, an entry is taken to be what is on disk until it does so: see
 * dirs.h.  It begins to do so for what is asked for longer than LIMIT_CACHE_FRESH_MS.  Everywhere
 * else an entry is fresh for that time, and then the first request for it looks.  What has changed
 * is opened anew.  The same goes for a path that leads nowhere.
 *
 * Maps and snapshots are bounded apart: the ones by descriptors, the others by memory.
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
struct store_bounds;

/*
 * env and clock are borrowed for the cache's life.  What was opened last is kept in any case.
 * Own: cache_free().  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err cache_new(const struct file_env *env, const struct clock *clock,
                        const struct store_bounds *bounds, struct cache **out);

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

#endif
