/*
 * See cache.h.
 *
 *     ──▶ opening, without a resource ──▶ kept ◀──▶ looked at, or decoded for, off the loop
 *
 * Invariant: every entry is in one chain of the table.  It is in the ring of its kind unless
 *            something is done for it off the loop: so what a helper refers to is never evicted.
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
#include "opening.h"
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
    KIND_DECODED,  /* bytes of memory, of originals that were made; and a share for open files */
    KINDS,
};

struct entry {
    struct entry *chain;      /* next with the same bucket */
    uint64_t hash;            /* of the path */
    struct resource resource; /* Own */
    uint64_t checked_ms;      /* when it was last known to be what is on disk */
    struct opening *opening;  /* Own: what is done for it off the loop; NULL: nothing */
    uint32_t path_len;        /* bytes of the path as asked for */
    bool is_plain;            /* may be found by the raw path */
    bool is_filled;           /* it has a resource */
    bool was_short;           /* opening it failed for want of descriptors or memory, once */
    enum kind kind;           /* which ring it is in */
    struct ring_node node;
    char path[]; /* decoded, begins with '/'; then the name of the index if any; NUL */
};

/* What has just been found out about a path of which no entry is left. */
struct verdict {
    const struct entry *entry; /* Borrowed: out of the table already; NULL: none */
    unsigned status;
};

struct cache {
    const struct file_env *env; /* Borrowed */
    const struct clock *clock;  /* Borrowed */
    struct entry **buckets;     /* Own: chains by hash */
    size_t mask;                /* buckets - 1 */
    uint64_t seed;              /* of the hash: a peer cannot aim at one bucket */
    uint64_t epoch;             /* see cache_epoch(); also the stamp of memos that hold */
    struct ring rings[KINDS];
    struct openings openings;
    struct opening *pending; /* Borrowed: what cache_get() last said CACHE_WAITS for */
    struct verdict verdict;  /* true while those who waited for it are called */
    struct missing missing;  /* paths that led nowhere */
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
    c->rings[KIND_DECODED].max = LIMIT_DECODED_KEPT;
    size_t buckets = 16;
    while (buckets < bounds->maps + bounds->snapshot_bytes / SNAPSHOT_LEN_TYPICAL)
        buckets *= 2;
    c->mask = buckets - 1;
    if (getrandom(&c->seed, sizeof(c->seed), 0) != sizeof(c->seed))
        c->seed = (uintptr_t)c;                  /* chains may then be guessed; nothing breaks */
    c->epoch = hash_fold(c->seed, (uintptr_t)c); /* none of another cache's */
    c->buckets = calloc(buckets, sizeof(struct entry *));
    if (c->buckets == NULL || openings_init(&c->openings, env) != WEIR_OK) {
        cache_free(c);
        return WEIR_NOMEM;
    }
    *out = c;
    return WEIR_OK;
}

/* What an entry takes of what its kind is bounded by. */
static size_t entry_cost(const struct cache *c, const struct entry *e)
{
    size_t maps = resource_maps(&e->resource);
    size_t len = sizeof(*e) + e->path_len + resource_len(&e->resource);
    switch (e->kind) {
    case KIND_SNAPSHOT: return len;
    case KIND_MAP: return maps;
    case KIND_DECODED: return len + maps * (LIMIT_DECODED_KEPT / c->rings[KIND_MAP].max);
    case KINDS: break;
    }
    return 0;
}

/* Count an entry against the bound of its kind. */
static void entry_enter_ring(struct cache *c, struct entry *e)
{
    e->kind = resource_maps(&e->resource) > 0 ? KIND_MAP : KIND_SNAPSHOT;
    if (e->resource.is_decoded)
        e->kind = KIND_DECODED;
    ring_add(&c->rings[e->kind], &e->node, entry_cost(c, e));
}

static void cache_add(struct cache *c, struct entry *e)
{
    struct entry **bucket = &c->buckets[e->hash & c->mask];
    e->chain = *bucket;
    *bucket = e;
}

/* Take an entry from the table.  Nothing may be done for it off the loop. */
static void cache_unlink(struct cache *c, struct entry *e)
{
    struct entry **slot = &c->buckets[e->hash & c->mask];
    while (*slot != e)
        slot = &(*slot)->chain;
    *slot = e->chain;
    c->epoch++;
}

static void entry_free(struct entry *e)
{
    if (e->is_filled)
        resource_close(&e->resource);
    mem_give(e);
}

static void cache_drop(struct cache *c, struct entry *e)
{
    cache_unlink(c, e);
    ring_remove(&c->rings[e->kind], &e->node);
    entry_free(e);
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
    openings_deinit(&c->openings);
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
    if (memo != NULL && memo->ptr != NULL && memo->stamp == c->epoch)
        return (struct entry *)(uintptr_t)memo->ptr; /* no entry has gone since */
    struct entry *e = raw.len == 0 ? NULL : cache_lookup(c, raw, hash_path(c->seed, raw));
    if (e == NULL || !e->is_plain)
        return NULL;
    if (memo != NULL)
        *memo = (struct weir_memo){e, c->epoch};
    return e;
}

struct resource *cache_find(struct cache *c, struct weir_str raw, struct weir_memo *memo)
{
    struct entry *e = cache_find_plain(c, raw, memo);
    if (e == NULL || !e->is_filled || !entry_is_recent(c, e))
        return NULL;
    e->node.is_used = true;
    return &e->resource;
}

bool cache_is_fresh(const struct cache *c, const struct resource *resource)
{
    return entry_is_recent(c, container_of(resource, const struct entry, resource)) &&
           !resource_is_stale(resource);
}

uint64_t cache_epoch(const struct cache *c)
{
    return c->epoch;
}

/* Make room by giving up some that are not in use.  False: there are none. */
static bool cache_relieve(struct cache *c, const struct entry *e)
{
    bool has_evicted = false;
    for (int i = 0; i < EVICT_WHEN_SHORT; i++) {
        has_evicted |= cache_evict(c, KIND_MAP, e);
        has_evicted |= cache_evict(c, KIND_SNAPSHOT, e);
        has_evicted |= cache_evict(c, KIND_DECODED, e);
    }
    return has_evicted;
}

/*
 * Fill an entry, which is in no ring, with what was found.  Gives 0 or a status; CACHE_WAITS: it is
 * to be opened once more, for there was not enough of something.
 */
static unsigned entry_fill(struct cache *c, struct entry *e, struct look *look)
{
    struct resource resource;
    unsigned status = resource_make(c->env, e->path, look, &resource);
    if (status == 503 && !e->was_short && cache_relieve(c, e)) {
        e->was_short = true;
        return CACHE_WAITS;
    }
    if (status == 308 && e->path[e->path_len - 1] == '/')
        return 404; /* the index is a directory */
    if (status != 0)
        return status;
    if (e->is_filled)
        resource_close(&e->resource);
    c->epoch++;
    e->resource = resource;
    e->is_filled = true;
    e->was_short = false;
    e->checked_ms = c->clock->now_ms;
    return 0;
}

/* Take over what was found off the loop.  Gives 0, a status, or CACHE_WAITS: there is more to do.
 */
static unsigned entry_conclude(struct cache *c, struct entry *e, struct opening *o)
{
    unsigned status = 0;
    switch (o->kind) {
    case OPENING_STAT:
        if (resource_is_same(&e->resource, o->look)) {
            e->checked_ms = c->clock->now_ms;
            break;
        }
        status = CACHE_WAITS;
        o->kind = OPENING_OPEN;
        break;
    case OPENING_OPEN: status = entry_fill(c, e, o->look); break;
    case OPENING_DECODE:
        status = resource_add_original(&e->resource, c->env, &o->look->found[CODING_IDENTITY]);
        break;
    }
    return status;
}

static void opening_free(struct opening *o)
{
    for (unsigned i = 0; i < CODINGS; i++)
        file_unref(&o->packed[i]);
    mem_give(o);
}

/* An entry that cannot be had leaves the table; those who waited for it are told why. */
static void entry_fail(struct cache *c, struct entry *e, struct opening *o, unsigned status)
{
    cache_unlink(c, e);
    if (status == 404)
        missing_add(&c->missing, e->hash, (struct weir_str){e->path, e->path_len},
                    c->clock->now_ms);
    c->verdict = (struct verdict){e, status};
    waiters_wake(&o->waiters, 0); /* each asks again, and is given the verdict */
    c->verdict = (struct verdict){0};
    entry_free(e);
}

static void on_opened(struct opening *o)
{
    struct cache *c = container_of(o->all, struct cache, openings);
    struct entry *e = o->entry;
    unsigned status = entry_conclude(c, e, o);
    if (status == CACHE_WAITS) {
        opening_start(o);
        return;
    }
    e->opening = NULL;
    if (status == 0) {
        entry_enter_ring(c, e);
        cache_shrink(c, e);
        waiters_wake(&o->waiters, 0);
    } else {
        entry_fail(c, e, o, status);
    }
    opening_free(o);
}

/* Without anybody to do it off the loop. */
static unsigned opening_do_now(struct cache *c, struct entry *e, struct opening *o)
{
    o->look = openings_own_look(&c->openings);
    opening_run(o);
    unsigned status = entry_conclude(c, e, o);
    look_close(o->look);
    look_count(o->look, c->env->root->stats);
    opening_free(o);
    return status;
}

/*
 * Begin something off the loop for an entry that is in no ring.  Gives CACHE_WAITS or a status; 0:
 * it has been done.
 */
static unsigned entry_begin(struct cache *c, struct entry *e, enum opening_kind kind)
{
    struct opening *o = mem_take_zeroed(c->env->mem, sizeof(*o));
    if (o == NULL)
        return 503;
    o->all = &c->openings;
    o->kind = kind;
    o->path = e->path;
    o->with_siblings = resource_may_have_siblings(c->env, e->path);
    o->entry = e;
    o->done = on_opened;
    list_init(&o->waiters);
    if (kind == OPENING_DECODE) {
        for (unsigned i = 0; i < CODINGS; i++)
            o->packed[i] = e->resource.files[i] == NULL ? NULL : file_ref(e->resource.files[i]);
    }
    if (c->env->fetcher == NULL)
        return opening_do_now(c, e, o);
    e->opening = o;
    c->pending = o;
    opening_start(o);
    return CACHE_WAITS;
}

/* Open an entry that is in no ring, on the loop if that need not wait. */
static unsigned entry_open(struct cache *c, struct entry *e)
{
    unsigned status = CACHE_WAITS;
    bool has_siblings = resource_may_have_siblings(c->env, e->path);
    while (status == CACHE_WAITS) {
        struct look *look = openings_own_look(&c->openings);
        if (!look_open(look, e->path, has_siblings, c->env->fetcher == NULL)) {
            look_count(look, c->env->root->stats);
            return entry_begin(c, e, OPENING_OPEN);
        }
        status = entry_fill(c, e, look);
        look_close(look);
        look_count(look, c->env->root->stats);
    }
    return status;
}

/* Make sure that an entry, which is in no ring, shows what is on disk. */
static unsigned entry_refresh(struct cache *c, struct entry *e)
{
    if (c->env->fetcher != NULL && resource_is_remote(&e->resource))
        return entry_begin(c, e, OPENING_STAT);
    struct look *look = openings_own_look(&c->openings);
    look_stat(look, e->path, resource_may_have_siblings(c->env, e->path));
    bool is_same = resource_is_same(&e->resource, look);
    look_count(look, c->env->root->stats);
    if (!is_same)
        return entry_open(c, e);
    e->checked_ms = c->clock->now_ms;
    return 0;
}

static struct entry *entry_new(const struct cache *c, struct weir_str path, uint64_t hash)
{
    struct entry *e = mem_take_zeroed(c->env->mem, sizeof(*e) + path.len + sizeof(INDEX_NAME));
    if (e == NULL)
        return NULL;
    memcpy(e->path, path.ptr, path.len);
    if (path.ptr[path.len - 1] == '/')
        memcpy(e->path + path.len, INDEX_NAME, sizeof(INDEX_NAME));
    e->hash = hash;
    e->path_len = (uint32_t)path.len;
    e->is_plain = path_is_plain(path);
    return e;
}

/* What is known without an entry; 0: nothing. */
static unsigned cache_recall(const struct cache *c, struct weir_str path, uint64_t hash)
{
    const struct entry *e = c->verdict.entry;
    if (e != NULL && e->hash == hash && weir_str_eq(path, (struct weir_str){e->path, e->path_len}))
        return c->verdict.status;
    return missing_has(&c->missing, hash, path, c->clock->now_ms) ? 404 : 0;
}

/* An entry that is in the table and in no ring gets its place, or goes. */
static void entry_settle(struct cache *c, struct entry *e, unsigned status)
{
    if (status == CACHE_WAITS)
        return;
    if (status != 0) {
        cache_unlink(c, e);
        entry_free(e);
        return;
    }
    entry_enter_ring(c, e);
    cache_shrink(c, e);
}

unsigned cache_get(struct cache *c, struct weir_str path, struct resource **out)
{
    WEIR_ASSERT(path.len > 0 && path.ptr[0] == '/');
    uint64_t hash = hash_path(c->seed, path);
    struct entry *e = cache_lookup(c, path, hash);
    unsigned status = e == NULL ? cache_recall(c, path, hash) : 0;
    if (status != 0)
        return status;
    if (e == NULL) {
        e = entry_new(c, path, hash);
        if (e == NULL)
            return 503;
        cache_add(c, e);
        status = entry_open(c, e);
        entry_settle(c, e, status);
    } else {
        e->node.is_used = true; /* one request alone does not make it worth keeping */
        bool is_fresh = e->is_filled && cache_is_fresh(c, &e->resource);
        if (!is_fresh && e->opening != NULL) {
            c->pending = e->opening;
            return CACHE_WAITS;
        }
        if (!is_fresh) {
            ring_remove(&c->rings[e->kind], &e->node);
            status = entry_refresh(c, e);
            entry_settle(c, e, status);
        }
    }
    if (status == 404)
        missing_add(&c->missing, hash, path, c->clock->now_ms);
    if (status == 0)
        *out = &e->resource;
    return status;
}

unsigned cache_make_original(struct cache *c, struct resource *resource)
{
    struct entry *e = container_of(resource, struct entry, resource);
    if (e->opening != NULL) {
        c->pending = e->opening;
        return CACHE_WAITS;
    }
    ring_remove(&c->rings[e->kind], &e->node);
    unsigned status = entry_begin(c, e, OPENING_DECODE);
    if (status != CACHE_WAITS) {
        entry_enter_ring(c, e);
        cache_shrink(c, e);
    }
    return status;
}

void cache_wait(struct cache *c, struct waiter *waiter)
{
    list_append(&c->pending->waiters, &waiter->link);
}
