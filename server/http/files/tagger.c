/* See tagger.h. */
#include "tagger.h"

#include <errno.h>
#include <unistd.h>

#include "clock.h"
#include "describe.h"
#include "digest.h"
#include "internal/fetch.h"
#include "internal/limits.h"
#include "internal/stats.h"
#include "mem.h"
#include "root.h"
#include "window.h"

#define READ_LEN 65536

/* A tag that is being made. */
struct tagging {
    struct fetch fetch;
    struct list link;
    struct tagger *all;
    struct file *file;    /* Own: a reference */
    struct digest digest; /* of what has been read */
    uint64_t at;          /* how far that is */
    struct stats stats;   /* of the thread that reads */
    struct list waiters;
};

/* Read a piece.  Gives 0 or -errno. */
static int tagging_read(struct tagging *t)
{
    char bytes[READ_LEN];
    uint64_t left = t->file->id.size - t->at;
    for (uint64_t rest = left < LIMIT_TAG_PIECE ? left : LIMIT_TAG_PIECE; rest > 0;) {
        t->stats.calls.pread64++;
        size_t len = rest < sizeof(bytes) ? (size_t)rest : sizeof(bytes);
        ssize_t n = pread(t->file->map->fd, bytes, len, (off_t)t->at);
        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? -EFAULT : -errno; /* it has shrunk, or the disk fails */
        digest_feed(&t->digest, bytes, (size_t)n);
        t->at += (size_t)n;
        rest -= (size_t)n;
    }
    return 0;
}

static int on_run(struct fetch *f)
{
    return tagging_read(container_of(f, struct tagging, fetch));
}

/* Nothing more is to be read: give the file its tag, if all was well, and tell who waits. */
static void tagging_finish(struct tagging *t, int result)
{
    struct file *f = t->file;
    uint64_t words[2];
    list_remove(&t->link);
    f->map->tagging = NULL;
    bool is_whole = result == 0 && t->at == f->id.size;
    if (is_whole && file_is_current(f, f->env->windows->clock->now_ms)) {
        digest_finish(&t->digest, words);
        file_add_tag(f, words);
    } else {
        f->map->is_untaggable = true; /* who reads it will see why */
    }
    waiters_wake(&t->waiters, 0);
    file_unref(&t->file);
    mem_give(t);
}

/* False: no cache has the file any more, and nobody waits for its tag. */
static bool tagging_is_wanted(const struct tagging *t)
{
    return !t->all->is_ending && (!t->file->is_retired || list_first(&t->waiters) != NULL);
}

static void on_done(struct fetch *f, int result);

/* Begin the next piece of the first file that is wanted. */
static void tagger_advance(struct tagger *t)
{
    struct list *first;
    while (!t->is_running && (first = list_first(&t->queue)) != NULL) {
        struct tagging *next = container_of(first, struct tagging, link);
        if (!tagging_is_wanted(next)) {
            tagging_finish(next, -ECANCELED);
            continue;
        }
        t->is_running = true;
        next->fetch = (struct fetch){.run = on_run, .done = on_done};
        t->env->root->stats->fetches++;
        t->env->fetcher->start(t->env->fetcher, &next->fetch);
    }
}

static void on_done(struct fetch *f, int result)
{
    struct tagging *t = container_of(f, struct tagging, fetch);
    struct tagger *all = t->all;
    all->is_running = false;
    stats_take_calls(all->env->root->stats, &t->stats);
    if (result != 0 || t->at == t->file->id.size)
        tagging_finish(t, result);
    tagger_advance(all);
}

void tagger_init(struct tagger *t, const struct file_env *env)
{
    *t = (struct tagger){.env = env};
    list_init(&t->queue);
}

/* Without anybody to do it off the loop. */
static void tagging_do_now(struct tagging *t)
{
    int result = 0;
    while (result == 0 && t->at < t->file->id.size)
        result = tagging_read(t);
    stats_take_calls(t->all->env->root->stats, &t->stats);
    tagging_finish(t, result);
}

static struct tagging *tagging_new(struct tagger *all, struct file *f)
{
    struct tagging *t = mem_take_zeroed(all->env->mem, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->all = all;
    t->file = file_ref(f);
    digest_init(&t->digest);
    list_init(&t->waiters);
    f->map->tagging = t;
    return t;
}

bool tagger_begin(struct tagger *t, struct file *f)
{
    if (f->map->tagging != NULL)
        return true;
    if (f->says->validators.etag.len > 0 || f->map->is_untaggable)
        return false;
    struct tagging *new = tagging_new(t, f);
    if (new == NULL)
        return false;
    list_append(&t->queue, &new->link);
    if (t->env->fetcher == NULL)
        tagging_do_now(new);
    else
        tagger_advance(t);
    return f->map->tagging != NULL;
}

void tagger_wait(struct file *f, struct waiter *waiter)
{
    list_append(&f->map->tagging->waiters, &waiter->link);
}

void tagger_end(struct tagger *t)
{
    t->is_ending = true;
}
