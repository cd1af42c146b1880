/*
 * See cache.h.
 *
 * Invariant: every entry is in one chain of the table and in the ring, and holds a resource.
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

#define INDEX_NAME "index.html"

/* Entries dropped when an open fails for want of descriptors or memory. */
#define EVICT_WHEN_SHORT 16

struct entry {
    struct entry *chain;      /* next with the same bucket */
    uint64_t hash;            /* of the path */
    struct resource resource; /* Own */
    uint64_t checked_ms;      /* when it was last known to be what is on disk */
    uint32_t path_len;        /* bytes of the path as asked for */
    bool is_plain;            /* may be found by the raw path */
    bool is_used;             /* asked for since it was last considered for eviction */
    struct entry *next;       /* ring, oldest first */
    struct entry *prev;
    char path[]; /* decoded, begins with '/'; then the name of the index if any; NUL */
};

struct cache {
    const struct file_env *env; /* Borrowed */
    const struct clock *clock;  /* Borrowed */
    struct entry **buckets;     /* Own: chains by hash */
    size_t mask;                /* buckets - 1 */
    uint64_t seed;              /* of the hash: a peer cannot aim at one bucket */
    size_t max;                 /* files */
    size_t count;               /* of those, kept */
    struct entry *oldest;       /* where eviction looks first; NULL when empty */
    struct missing missing;     /* paths that led nowhere */
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

enum weir_err cache_new(const struct file_env *env, const struct clock *clock, size_t max,
                        struct cache **out)
{
    *out = NULL;
    struct cache *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return WEIR_NOMEM;
    c->env = env;
    c->clock = clock;
    c->max = max;
    size_t buckets = 16;
    while (buckets < max * 2)
        buckets *= 2;
    c->mask = buckets - 1;
    if (getrandom(&c->seed, sizeof(c->seed), 0) != sizeof(c->seed))
        c->seed = (uintptr_t)c; /* chains may then be guessed; nothing breaks */
    c->buckets = calloc(buckets, sizeof(struct entry *));
    if (c->buckets == NULL) {
        cache_free(c);
        return WEIR_NOMEM;
    }
    *out = c;
    return WEIR_OK;
}

static void ring_add(struct cache *c, struct entry *e)
{
    if (c->oldest == NULL) {
        e->next = e;
        e->prev = e;
        c->oldest = e;
        return;
    }
    e->next = c->oldest;
    e->prev = c->oldest->prev;
    e->prev->next = e;
    e->next->prev = e;
}

static void ring_remove(struct cache *c, struct entry *e)
{
    if (c->oldest == e)
        c->oldest = e->next == e ? NULL : e->next;
    e->prev->next = e->next;
    e->next->prev = e->prev;
}

static void cache_add(struct cache *c, struct entry *e)
{
    struct entry **bucket = &c->buckets[e->hash & c->mask];
    e->chain = *bucket;
    *bucket = e;
    ring_add(c, e);
    c->count += resource_count(&e->resource);
}

static void cache_drop(struct cache *c, struct entry *e)
{
    struct entry **slot = &c->buckets[e->hash & c->mask];
    while (*slot != e)
        slot = &(*slot)->chain;
    *slot = e->chain;
    ring_remove(c, e);
    c->count -= resource_count(&e->resource);
    resource_close(&e->resource);
    mem_give(e);
}

/* True if there is an entry besides e, which need not be in the ring. */
static bool cache_has_other(const struct cache *c, const struct entry *e)
{
    return c->oldest != NULL && (c->oldest != e || c->oldest->next != e);
}

/* Drop the entry that was used least, roughly, but not `spare`; there is another. */
static void cache_evict(struct cache *c, const struct entry *spare)
{
    while (c->oldest->is_used || c->oldest == spare) {
        c->oldest->is_used = false;
        c->oldest = c->oldest->next; /* it is the youngest now */
    }
    cache_drop(c, c->oldest);
}

/* Keep within the bound, at the cost of entries other than e. */
static void cache_shrink(struct cache *c, const struct entry *e)
{
    while (c->count > c->max && cache_has_other(c, e))
        cache_evict(c, e);
}

void cache_free(struct cache *c)
{
    if (c == NULL)
        return;
    while (c->oldest != NULL)
        cache_drop(c, c->oldest);
    free(c->buckets);
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

struct resource *cache_find(struct cache *c, struct weir_str raw)
{
    if (raw.len == 0)
        return NULL;
    struct entry *e = cache_lookup(c, raw, hash_path(c->seed, raw));
    if (e == NULL || !e->is_plain || !entry_is_recent(c, e))
        return NULL;
    e->is_used = true;
    return &e->resource;
}

/*
 * Open what an entry is for.  When descriptors or memory are short, entries that are not in use
 * give theirs up.
 */
static unsigned entry_fill(struct cache *c, const struct entry *e, struct resource *out)
{
    unsigned status = resource_open(c->env, e->path, out);
    if (status == 503 && cache_has_other(c, e)) {
        for (int i = 0; i < EVICT_WHEN_SHORT && cache_has_other(c, e); i++)
            cache_evict(c, e);
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
    c->count += resource_count(&resource);
    c->count -= resource_count(&e->resource);
    resource_close(&e->resource);
    e->resource = resource;
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
        e->is_used = true; /* one request alone does not make it worth keeping */
        if (!entry_is_recent(c, e) || resource_is_stale(&e->resource))
            status = entry_refresh(c, e);
    }
    if (status == 404)
        missing_add(&c->missing, hash, path, c->clock->now_ms);
    if (status == 0)
        *out = &e->resource;
    return status;
}

size_t cache_count(const struct cache *c)
{
    return c->count;
}
