/*
 * See cache.h.
 *
 * Invariant: every entry is in one chain of the table and in the ring of its kind, and holds a
 *            resource.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "mem.h"
#include "missing.h"
#include "path.h"
#include "ring.h"

#define INDEX_NAME "index.html"

/* bytes that a small file takes with all that belongs to it: sizes the table, nothing else */
#define SNAPSHOT_LEN_TYPICAL 2048

/* Entries of each kind dropped when an open fails for want of descriptors or memory. */
#define EVICT_WHEN_SHORT 16

/* What there is not enough of for all. */
enum kind {
    KIND_SNAPSHOT, /* bytes of memory */
    KIND_MAP,      /* open files */
    KINDS,
};

struct entry {
    struct entry *chain;      /* next with the same bucket */
    uint64_t hash;            /* of the path */
    struct resource resource; /* Own */
    uint64_t checked_ms;      /* when it was last known to be what is on disk */
    uint32_t path_len;        /* bytes of the path as asked for */
    bool is_plain;            /* may be found by the raw path */
    enum kind kind;           /* which ring it is in */
    struct ring_node node;
    char path[]; /* decoded, begins with '/'; then the name of the index if any; NUL */
};

struct cache {
    const struct file_env *env; /* Borrowed */
    const struct clock *clock;  /* Borrowed */
    struct entry **buckets;     /* Own: chains by hash */
    size_t mask;                /* buckets - 1 */
    uint64_t seed;              /* of the hash: a peer cannot aim at one bucket */
    uint64_t stamp;             /* of memos that hold: another one whenever an entry goes */
    struct ring rings[KINDS];
    struct missing missing; /* paths that led nowhere */
};

/* Mix two words: the halves of their product. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_path(uint64_t seed, struct weir_str path)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15U;
    uint64_t hash = seed ^ path.len;
    const char *p = path.ptr;
    size_t left = path.len;
    uint64_t word = 0;
    for (; left > 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = hash_fold(hash ^ word, odd);
    }
    if (path.len >= 8) {
        memcpy(&word, p + left - 8, 8); /* overlaps the word before: cheaper than a loop */
        return hash_fold(hash ^ word, odd ^ seed);
    }
    word = 0;
    for (size_t i = 0; i < left; i++)
        word = word << 8 | (unsigned char)p[i];
    return hash_fold(hash ^ word, odd ^ seed);
}

enum weir_err cache_new(const struct file_env *env, const struct clock *clock,
                        const struct cache_bounds *bounds, struct cache **out)
{
    *out = NULL;
    struct cache *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return WEIR_NOMEM;
    c->env = env;
    c->clock = clock;
    c->rings[KIND_SNAPSHOT].max = bounds->snapshot_bytes;
    c->rings[KIND_MAP].max = bounds->maps;
    size_t buckets = 16;
    while (buckets < bounds->maps + bounds->snapshot_bytes / SNAPSHOT_LEN_TYPICAL)
        buckets *= 2;
    c->mask = buckets - 1;
    if (getrandom(&c->seed, sizeof(c->seed), 0) != sizeof(c->seed))
        c->seed = (uintptr_t)c;                  /* chains may then be guessed; nothing breaks */
    c->stamp = hash_fold(c->seed, (uintptr_t)c); /* none of another cache's */
    c->buckets = calloc(buckets, sizeof(struct entry *));
    if (c->buckets == NULL) {
        cache_free(c);
        return WEIR_NOMEM;
    }
    *out = c;
    return WEIR_OK;
}

/* Count an entry against the bound of its kind. */
static void entry_enter_ring(struct cache *c, struct entry *e)
{
    size_t maps = resource_maps(&e->resource);
    e->kind = maps > 0 ? KIND_MAP : KIND_SNAPSHOT;
    size_t cost = maps > 0 ? maps : sizeof(*e) + e->path_len + resource_len(&e->resource);
    ring_add(&c->rings[e->kind], &e->node, cost);
}

static void cache_add(struct cache *c, struct entry *e)
{
    struct entry **bucket = &c->buckets[e->hash & c->mask];
    e->chain = *bucket;
    *bucket = e;
    entry_enter_ring(c, e);
}

static void cache_drop(struct cache *c, struct entry *e)
{
    struct entry **slot = &c->buckets[e->hash & c->mask];
    while (*slot != e)
        slot = &(*slot)->chain;
    *slot = e->chain;
    ring_remove(&c->rings[e->kind], &e->node);
    resource_close(&e->resource);
    mem_give(e);
    c->stamp++;
}

/* Drop an entry of that kind, but not `spare`.  False: there is none. */
static bool cache_evict(struct cache *c, enum kind kind, const struct entry *spare)
{
    struct ring_node *node = ring_pick(&c->rings[kind], spare == NULL ? NULL : &spare->node);
    if (node == NULL)
        return false;
    cache_drop(c, container_of(node, struct entry, node));
    return true;
}

/* Keep within the bounds, at the cost of entries other than e. */
static void cache_shrink(struct cache *c, const struct entry *e)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        const struct ring *ring = &c->rings[kind];
        while (ring->cost > ring->max && cache_evict(c, (enum kind)kind, e))
            ;
    }
}

void cache_free(struct cache *c)
{
    if (c == NULL)
        return;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        while (cache_evict(c, (enum kind)kind, NULL))
            ;
    }
    free((void *)c->buckets);
    free(c);
}

static struct entry *cache_lookup(const struct cache *c, struct weir_str path, uint64_t hash)
{
    struct entry *e = c->buckets[hash & c->mask];
    while (e != NULL) {
        if (e->hash == hash && e->path_len == path.len && memcmp(e->path, path.ptr, path.len) == 0)
            return e;
        e = e->chain;
    }
    return NULL;
}

/* True if the entry was looked at not long ago. */
static bool entry_is_recent(const struct cache *c, const struct entry *e)
{
    return c->clock->now_ms - e->checked_ms < LIMIT_CACHE_FRESH_MS;
}

/* The entry of a path that needs no decoding, or NULL. */
static struct entry *cache_find_plain(struct cache *c, struct weir_str raw, struct weir_memo *memo)
{
    if (memo != NULL && memo->ptr != NULL && memo->stamp == c->stamp)
        return (struct entry *)(uintptr_t)memo->ptr; /* no entry has gone since */
    struct entry *e = raw.len == 0 ? NULL : cache_lookup(c, raw, hash_path(c->seed, raw));
    if (e == NULL || !e->is_plain)
        return NULL;
    if (memo != NULL)
        *memo = (struct weir_memo){e, c->stamp};
    return e;
}

struct resource *cache_find(struct cache *c, struct weir_str raw, struct weir_memo *memo)
{
    struct entry *e = cache_find_plain(c, raw, memo);
    if (e == NULL || !entry_is_recent(c, e))
        return NULL;
    e->node.is_used = true;
    return &e->resource;
}

/*
 * Open what an entry is for.  When descriptors or memory are short, entries that are not in use
 * give theirs up.
 */
static unsigned entry_fill(struct cache *c, const struct entry *e, struct resource *out)
{
    unsigned status = resource_open(c->env, e->path, out);
    if (status == 503) {
        bool has_evicted = false;
        for (int i = 0; i < EVICT_WHEN_SHORT; i++) {
            has_evicted |= cache_evict(c, KIND_MAP, e);
            has_evicted |= cache_evict(c, KIND_SNAPSHOT, e);
        }
        if (has_evicted)
            status = resource_open(c->env, e->path, out);
    }
    if (status == 308 && e->path[e->path_len - 1] == '/')
        return 404; /* the index is a directory */
    return status;
}

/* Make sure that the entry shows what is on disk.  Gives 0, or a status and the entry is gone. */
static unsigned entry_refresh(struct cache *c, struct entry *e)
{
    if (resource_is_same(c->env, &e->resource)) {
        e->checked_ms = c->clock->now_ms;
        return 0;
    }
    struct resource resource;
    unsigned status = entry_fill(c, e, &resource);
    if (status != 0) {
        cache_drop(c, e);
        return status;
    }
    ring_remove(&c->rings[e->kind], &e->node);
    resource_close(&e->resource);
    e->resource = resource;
    entry_enter_ring(c, e);
    e->checked_ms = c->clock->now_ms;
    cache_shrink(c, e);
    return 0;
}

static unsigned entry_open(struct cache *c, struct weir_str path, uint64_t hash, struct entry **out)
{
    struct entry *e = mem_take_zeroed(c->env->mem, sizeof(*e) + path.len + sizeof(INDEX_NAME));
    if (e == NULL)
        return 503;
    memcpy(e->path, path.ptr, path.len);
    if (path.ptr[path.len - 1] == '/')
        memcpy(e->path + path.len, INDEX_NAME, sizeof(INDEX_NAME));
    e->hash = hash;
    e->path_len = (uint32_t)path.len;
    e->is_plain = path_is_plain(path);
    e->checked_ms = c->clock->now_ms;
    unsigned status = entry_fill(c, e, &e->resource);
    if (status != 0) {
        mem_give(e);
        return status;
    }
    cache_add(c, e);
    cache_shrink(c, e);
    *out = e;
    return 0;
}

unsigned cache_get(struct cache *c, struct weir_str path, struct resource **out)
{
    WEIR_ASSERT(path.len > 0 && path.ptr[0] == '/');
    uint64_t hash = hash_path(c->seed, path);
    struct entry *e = cache_lookup(c, path, hash);
    unsigned status = 0;
    if (e == NULL) {
        if (missing_has(&c->missing, hash, path, c->clock->now_ms))
            return 404;
        status = entry_open(c, path, hash, &e);
    } else {
        e->node.is_used = true; /* one request alone does not make it worth keeping */
        if (!entry_is_recent(c, e) || resource_is_stale(&e->resource))
            status = entry_refresh(c, e);
    }
    if (status == 404)
        missing_add(&c->missing, hash, path, c->clock->now_ms);
    if (status == 0)
        *out = &e->resource;
    return status;
}

void cache_recount(struct cache *c, struct resource *resource)
{
    struct entry *e = container_of(resource, struct entry, resource);
    ring_remove(&c->rings[e->kind], &e->node);
    entry_enter_ring(c, e);
    cache_shrink(c, e);
}
