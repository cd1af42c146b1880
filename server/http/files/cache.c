/*
 * See cache.h.
 *
 *     ──▶ opening, without a resource ──▶ kept ◀──▶ looked at, or decoded for, off the loop
 *
 * Entries and their bounds are those of store.h; who tells of changes is dirs.h.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "dir_hint.h"
#include "dirs.h"
#include "doubt.h"
#include "hash.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "mem.h"
#include "missing.h"
#include "opening.h"
#include "store.h"

/* What has just been found out about a path of which no entry is left. */
struct verdict {
    const struct entry *entry; /* Borrowed: out of the table already; NULL: none */
    unsigned status;
};

struct cache {
    const struct file_env *env; /* Borrowed */
    const struct clock *clock;  /* Borrowed */
    struct store store;
    struct dirs dirs;
    struct openings openings;
    struct opening *pending; /* Borrowed: what cache_get() last said CACHE_WAITS for */
    struct verdict verdict;  /* true while those who waited for it are called */
    struct missing missing;  /* paths that led nowhere */
};

static void on_changed(void *ctx, const struct dir *dir, struct weir_str name, bool is_new)
{
    struct cache *c = ctx;
    doubt_change(&c->store, &c->missing, dir, name, is_new);
}

/* ---- the whole ---- */

enum weir_err cache_new(const struct file_env *env, const struct clock *clock,
                        const struct store_bounds *bounds, struct cache **out)
{
    *out = NULL;
    struct cache *c = calloc(1, sizeof(*c));
    if (c == NULL)
        return WEIR_NOMEM;
    c->env = env;
    c->clock = clock;
    enum weir_err err = store_init(&c->store, env->mem, bounds);
    if (err == WEIR_OK)
        err = dirs_init(&c->dirs, env, clock, c->store.seed, on_changed, c);
    if (err == WEIR_OK)
        err = openings_init(&c->openings, env);
    if (err != WEIR_OK) {
        cache_free(c);
        return err;
    }
    *out = c;
    return WEIR_OK;
}

void cache_free(struct cache *c)
{
    if (c == NULL)
        return;
    store_deinit(&c->store);
    dirs_deinit(&c->dirs);
    openings_deinit(&c->openings);
    free(c);
}

/* ---- finding ---- */

/* The entry of a path that needs no decoding, or NULL. */
static struct entry *cache_find_plain(struct cache *c, struct weir_str raw, struct weir_memo *memo)
{
    if (memo != NULL && memo->ptr != NULL && memo->stamp == c->store.epoch)
        return (struct entry *)(uintptr_t)memo->ptr; /* no entry has gone since */
    struct entry *e =
        raw.len == 0 ? NULL : store_find(&c->store, raw, hash_path(c->store.seed, raw));
    if (e == NULL || !e->is_plain)
        return NULL;
    if (memo != NULL)
        *memo = (struct weir_memo){e, c->store.epoch};
    return e;
}

struct resource *cache_find(struct cache *c, struct weir_str raw, struct weir_memo *memo)
{
    dirs_hear(&c->dirs);
    struct entry *e = cache_find_plain(c, raw, memo);
    if (e == NULL || !e->is_filled || !trust_holds(&e->trust, c->clock->now_ms))
        return NULL;
    e->node.is_used = true;
    return &e->resource;
}

/* ---- opening ---- */

/* What is asked for at the path of an entry. */
static struct hint entry_hint(struct cache *c, const struct entry *e)
{
    return dirs_hint(&c->dirs, (struct weir_str){e->path, strlen(e->path)},
                     resource_may_have_siblings(c->env, e->path));
}

/*
 * Fill an entry, which is in no ring, with what was found.  Gives 0 or a status; CACHE_WAITS: it is
 * to be opened once more, for there was not enough of something.
 */
static unsigned entry_fill(struct cache *c, struct entry *e, struct look *look)
{
    struct resource resource;
    unsigned status = resource_make(c->env, e->path, look, &resource);
    if (status == 503 && !e->was_short && store_relieve(&c->store)) {
        e->was_short = true;
        return CACHE_WAITS;
    }
    if (status == 308 && e->path[e->path_len - 1] == '/')
        return 404; /* the index is a directory */
    if (status != 0)
        return status;
    store_fill(&c->store, e, &resource);
    e->trust = trust_since(c->clock->now_ms, NULL);
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
            e->trust = trust_since(c->clock->now_ms, NULL);
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
    store_unlink(&c->store, e);
    if (status == 404)
        missing_add(&c->missing, e->hash, (struct weir_str){e->path, e->path_len},
                    trust_since(c->clock->now_ms, NULL));
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
        store_enter(&c->store, e);
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
static unsigned entry_begin(struct cache *c, struct entry *e, enum opening_kind kind,
                            struct hint hint)
{
    struct opening *o = mem_take_zeroed(c->env->mem, sizeof(*o));
    if (o == NULL)
        return 503;
    o->all = &c->openings;
    o->kind = kind;
    o->path = e->path;
    o->hint = hint;
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

/*
 * Open an entry that is in no ring, on the loop if that need not wait.  `dir`, which may be NULL,
 * is watched since before and tells of every change of what is at the path: even of one in the same
 * tick as the one before, for whatever comes after the watch is an event that is yet to be heard.
 */
static unsigned entry_open(struct cache *c, struct entry *e, struct hint hint,
                           const struct dir *dir)
{
    unsigned status = CACHE_WAITS;
    while (status == CACHE_WAITS) {
        struct look *look = openings_own_look(&c->openings);
        if (!look_open(look, e->path, hint, c->env->fetcher == NULL)) {
            look_count(look, c->env->root->stats);
            return entry_begin(c, e, OPENING_OPEN, hint);
        }
        bool is_told = look_is_plain(look);
        status = entry_fill(c, e, look);
        if (status == 0 && is_told && !resource_is_remote(&e->resource))
            e->trust = trust_since(c->clock->now_ms, dir);
        look_close(look);
        look_count(look, c->env->root->stats);
    }
    return status;
}

/*
 * Make sure that an entry, which is in no ring, shows what is on disk.  It is in demand for longer
 * than a moment: from now on the kernel is to tell of changes.
 */
static unsigned entry_refresh(struct cache *c, struct entry *e)
{
    struct hint hint = entry_hint(c, e);
    if (c->env->fetcher != NULL && resource_is_remote(&e->resource))
        return entry_begin(c, e, OPENING_STAT, hint);
    const struct dir *dir = dirs_watch(&c->dirs, (struct weir_str){e->path, strlen(e->path)});
    struct look *look = openings_own_look(&c->openings);
    look_stat(look, e->path, hint);
    bool is_same = resource_is_same(&e->resource, look);
    bool is_told = look_is_plain(look) && !resource_is_remote(&e->resource);
    look_count(look, c->env->root->stats);
    if (!is_same)
        return entry_open(c, e, hint, is_told ? dir : NULL);
    e->trust = trust_since(c->clock->now_ms, is_told ? dir : NULL);
    return 0;
}

/* ---- paths that lead nowhere ---- */

/* There is nothing at the path.  If that was so a while ago too, the kernel is to tell of changes.
 */
static void cache_add_missing(struct cache *c, struct weir_str path, uint64_t hash)
{
    uint64_t now_ms = c->clock->now_ms;
    const struct dir *dir = NULL;
    if (missing_knows(&c->missing, hash, path))
        dir = dirs_watch(&c->dirs, path);
    if (dir != NULL) {
        struct look *look = openings_own_look(&c->openings);
        look_stat(look, path.ptr, (struct hint){.siblings = HINT_ALL_SIBLINGS});
        if (!look_is_empty(look))
            dir = NULL;
        look_count(look, c->env->root->stats);
    }
    missing_add(&c->missing, hash, path, trust_since(now_ms, dir));
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
    if (status == 0) {
        store_enter(&c->store, e);
        return;
    }
    store_unlink(&c->store, e);
    if (status == 404)
        cache_add_missing(c, (struct weir_str){e->path, e->path_len}, e->hash);
    entry_free(e);
}

/* Open what is not known yet. */
static unsigned cache_open(struct cache *c, struct weir_str path, uint64_t hash, struct entry **out)
{
    unsigned status = cache_recall(c, path, hash);
    if (status != 0)
        return status;
    *out = store_add(&c->store, path, hash);
    if (*out == NULL)
        return 503;
    struct hint hint = entry_hint(c, *out);
    status = entry_open(c, *out, hint, hint.siblings == 0 ? hint.dir : NULL);
    entry_settle(c, *out, status);
    return status;
}

/* Make sure that an entry may be used. */
static unsigned cache_renew(struct cache *c, struct entry *e)
{
    e->node.is_used = true; /* one request alone does not make it worth keeping */
    if (e->is_filled && trust_holds(&e->trust, c->clock->now_ms) &&
        !resource_is_stale(&e->resource))
        return 0;
    if (e->opening != NULL) {
        c->pending = e->opening;
        return CACHE_WAITS;
    }
    store_leave(&c->store, e);
    unsigned status = entry_refresh(c, e);
    entry_settle(c, e, status);
    return status;
}

unsigned cache_get(struct cache *c, struct weir_str path, struct resource **out)
{
    WEIR_ASSERT(path.len > 0 && path.ptr[0] == '/');
    dirs_hear(&c->dirs);
    uint64_t hash = hash_path(c->store.seed, path);
    struct entry *e = store_find(&c->store, path, hash);
    unsigned status = e == NULL ? cache_open(c, path, hash, &e) : cache_renew(c, e);
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
    store_leave(&c->store, e);
    unsigned status = entry_begin(c, e, OPENING_DECODE, (struct hint){0});
    if (status != CACHE_WAITS)
        store_enter(&c->store, e);
    return status;
}

void cache_wait(struct cache *c, struct waiter *waiter)
{
    list_append(&c->pending->waiters, &waiter->link);
}
