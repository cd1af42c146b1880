/* See store.h. */
#include "store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "hash.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "mem.h"
#include "path.h"

/* bytes that a small file takes with all that belongs to it: sizes the table, nothing else */
#define SNAPSHOT_LEN_TYPICAL 2048

/* Entries of each kind dropped when an open fails for want of descriptors or memory. */
#define EVICT_WHEN_SHORT 16

enum weir_err store_init(struct store *s, struct mem *mem, const struct store_bounds *bounds)
{
    *s = (struct store){.mem = mem};
    s->rings[KIND_SNAPSHOT].max = bounds->snapshot_bytes;
    s->rings[KIND_MAP].max = bounds->maps;
    s->rings[KIND_DECODED].max = LIMIT_DECODED_KEPT;
    size_t buckets = 16;
    while (buckets < bounds->maps + bounds->snapshot_bytes / SNAPSHOT_LEN_TYPICAL)
        buckets *= 2;
    s->mask = buckets - 1;
    if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed))
        s->seed = (uintptr_t)s;                  /* chains may then be guessed; nothing breaks */
    s->epoch = hash_fold(s->seed, (uintptr_t)s); /* none of another cache's */
    s->buckets = calloc(buckets, sizeof(struct entry *));
    return s->buckets == NULL ? WEIR_NOMEM : WEIR_OK;
}

struct entry *store_find(const struct store *s, struct weir_str path, uint64_t hash)
{
    struct entry *e = s->buckets[hash & s->mask];
    while (e != NULL) {
        if (e->hash == hash && e->path_len == path.len && memcmp(e->path, path.ptr, path.len) == 0)
            return e;
        e = e->chain;
    }
    return NULL;
}

struct entry *store_add(struct store *s, struct weir_str path, uint64_t hash)
{
    struct weir_str rest = path.ptr[path.len - 1] == '/' ? WEIR_STR(INDEX_NAME) : WEIR_STR("");
    struct entry *e = mem_take_zeroed(s->mem, sizeof(*e) + path.len + rest.len + 1);
    if (e == NULL)
        return NULL;
    memcpy(e->path, path.ptr, path.len);
    memcpy(e->path + path.len, rest.ptr, rest.len);
    e->hash = hash;
    e->path_len = (uint32_t)path.len;
    e->is_plain = path_is_plain(path);
    struct entry **bucket = &s->buckets[hash & s->mask];
    e->chain = *bucket;
    *bucket = e;
    return e;
}

void store_unlink(struct store *s, struct entry *e)
{
    struct entry **slot = &s->buckets[e->hash & s->mask];
    while (*slot != e)
        slot = &(*slot)->chain;
    *slot = e->chain;
    s->epoch++;
}

void entry_free(struct entry *e)
{
    if (e->is_filled)
        resource_close(&e->resource);
    mem_give(e);
}

void store_fill(struct store *s, struct entry *e, const struct resource *resource)
{
    if (e->is_filled)
        resource_close(&e->resource);
    s->epoch++;
    e->resource = *resource;
    e->is_filled = true;
    e->was_short = false;
}

/* Drop an entry of that kind.  False: there is none. */
static bool store_evict(struct store *s, enum kind kind)
{
    struct ring_node *node = ring_pick(&s->rings[kind], NULL);
    if (node == NULL)
        return false;
    struct entry *e = container_of(node, struct entry, node);
    store_leave(s, e);
    store_unlink(s, e);
    entry_free(e);
    return true;
}

static enum kind entry_kind(const struct entry *e)
{
    if (e->resource.is_decoded)
        return KIND_DECODED;
    return resource_maps(&e->resource) > 0 ? KIND_MAP : KIND_SNAPSHOT;
}

/* What an entry takes of what its kind is bounded by. */
static size_t entry_cost(const struct store *s, const struct entry *e)
{
    size_t maps = resource_maps(&e->resource);
    size_t len = sizeof(*e) + e->path_len + resource_len(&e->resource);
    switch (e->kind) {
    case KIND_SNAPSHOT: return len;
    case KIND_MAP: return maps;
    case KIND_DECODED: return len + maps * (LIMIT_DECODED_KEPT / s->rings[KIND_MAP].max);
    case KINDS: break;
    }
    return 0;
}

void store_enter(struct store *s, struct entry *e)
{
    e->kind = entry_kind(e);
    size_t cost = entry_cost(s, e);
    struct ring *ring = &s->rings[e->kind];
    bool is_full = ring_is_full(ring, cost);
    while (ring_is_full(ring, cost) && store_evict(s, e->kind))
        ;
    if (is_full && !e->was_kept)
        ring_add_guest(ring, &e->node, cost);
    else
        ring_add(ring, &e->node, cost);
    e->was_kept = true;
}

void store_leave(struct store *s, struct entry *e)
{
    ring_remove(&s->rings[e->kind], &e->node);
}

bool store_relieve(struct store *s)
{
    bool has_evicted = false;
    for (int i = 0; i < EVICT_WHEN_SHORT; i++) {
        has_evicted |= store_evict(s, KIND_MAP);
        has_evicted |= store_evict(s, KIND_SNAPSHOT);
        has_evicted |= store_evict(s, KIND_DECODED);
    }
    return has_evicted;
}

void store_deinit(struct store *s)
{
    if (s->buckets == NULL)
        return;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        while (store_evict(s, (enum kind)kind))
            ;
    }
    free((void *)s->buckets);
    s->buckets = NULL;
}
