/*
 * A worker's open resources, found by path.
 *
 * An entry is taken to be what is on disk for LIMIT_CACHE_FRESH_MS; after that the first request
 * for it looks, and opens the file anew if it has changed.  When the cache is full, an entry that
 * was not asked for since it was last considered makes room (second chance).  That a path leads
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

/*
 * `max` files at most are kept open, those of one resource always; env and clock are borrowed for
 * the cache's life. Own: cache_free().  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err cache_new(const struct file_env *env, const struct clock *clock, size_t max,
                        struct cache **out);

/* Files that a response still holds stay until it is over.  NULL is fine. */
void cache_free(struct cache *c);

/*
 * The resource at a path that is still encoded, if it is known, fresh, and needs no decoding; else
 * NULL.  Costs one hash and one comparison.
 * Borrowed: true until the next call on the cache.
 */
struct resource *cache_find(struct cache *c, struct weir_str raw);

/*
 * The resource at a decoded path, opened if need be; a path that ends with '/' means its
 * index.html. Gives 0 and *out, or the status due. Borrowed: *out is true until the next call on
 * the cache.
 */
unsigned cache_get(struct cache *c, struct weir_str path, struct resource **out);

/* Files that are kept. */
size_t cache_count(const struct cache *c);

#endif
