/* See dirs.h. */
#include "dirs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "dir_hint.h"
#include "file.h"
#include "hash.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/stats.h"
#include "mem.h"

#define BUCKETS LIMIT_WATCHED_DIRS

/* Directories above a file in which changes are heard of. */
#define DEPTH_MAX 32

/* Descriptors of directories: with one, a file in it is opened without the way from the root, which
 * saves 1 us of the 4 that an open takes. */
#define FDS_MAX 256

static_assert(LIMIT_WATCHED_DIRS > 2 * DEPTH_MAX, "one with nothing below it can be dropped");

/* ---- which are known ---- */

static struct dir *dirs_find(const struct dirs *d, struct weir_str path, uint64_t hash)
{
    struct dir *dir = d->by_path[hash % BUCKETS];
    while (dir != NULL &&
           !(dir->hash == hash && weir_str_eq(path, (struct weir_str){dir->path, dir->path_len})))
        dir = dir->next_by_path;
    return dir;
}

static struct dir *dirs_find_watch(const struct dirs *d, int watch)
{
    struct dir *dir = d->by_watch[(unsigned)watch % BUCKETS];
    while (dir != NULL && dir->watch != watch)
        dir = dir->next_by_watch;
    return dir;
}

static void dir_end_watch(struct dirs *d, struct dir *dir)
{
    struct dir **slot = &d->by_watch[(unsigned)dir->watch % BUCKETS];
    while (*slot != dir)
        slot = &(*slot)->next_by_watch;
    *slot = dir->next_by_watch;
    watcher_remove(&d->watcher, dir->watch);
    d->fds -= dir->fd != -1;
    root_close_file(d->env->root, dir->fd);
    if (dir->parent != NULL)
        dir->parent->children--;
}

/* Forget one that has none watched below it. */
static void dir_forget(struct dirs *d, struct dir *dir)
{
    WEIR_ASSERT(dir->children == 0);
    if (dir->watch != -1)
        dir_end_watch(d, dir);
    ring_remove(&d->ring, &dir->node);
    struct dir **slot = &d->by_path[dir->hash % BUCKETS];
    while (*slot != dir)
        slot = &(*slot)->next_by_path;
    *slot = dir->next_by_path;
    mem_give(dir->path);
    *dir = (struct dir){.ticket = ++d->last_ticket, .watch = -1, .fd = -1, .next_by_path = d->free};
    d->free = dir;
}

static struct dir *dirs_child(const struct dirs *d, const struct dir *parent)
{
    struct ring_node *node = d->ring.oldest;
    while (container_of(node, struct dir, node)->parent != parent)
        node = node->next;
    return container_of(node, struct dir, node);
}

/* Forget one and all below it. */
static void dirs_drop(struct dirs *d, struct dir *dir)
{
    while (dir->children > 0) {
        struct dir *leaf = dirs_child(d, dir);
        while (leaf->children > 0)
            leaf = dirs_child(d, leaf);
        dir_forget(d, leaf);
    }
    dir_forget(d, dir);
}

static void dirs_drop_all(struct dirs *d)
{
    while (d->ring.oldest != NULL)
        dirs_drop(d, container_of(d->ring.oldest, struct dir, node));
}

/* Make room, but not at the cost of `spare`, which may be NULL. */
static void dirs_evict(struct dirs *d, const struct dir *spare)
{
    while (d->ring.cost >= d->ring.max) {
        struct ring_node *node = ring_pick(&d->ring, spare == NULL ? NULL : &spare->node);
        struct dir *dir = container_of(node, struct dir, node);
        if (dir->children == 0)
            dir_forget(d, dir);
        else
            node->is_used = true; /* it stands for those below it */
    }
}

static struct dir *dir_new(struct dirs *d)
{
    struct dir *dir = d->free;
    if (dir == NULL)
        return mem_take_zeroed(d->env->mem, sizeof(*dir));
    d->free = dir->next_by_path;
    return dir;
}

struct dir *dirs_get(struct dirs *d, struct weir_str path, const struct dir *spare)
{
    uint64_t hash = hash_path(d->seed, path);
    struct dir *dir = dirs_find(d, path, hash);
    if (dir != NULL) {
        dir->node.is_used = true;
        return dir;
    }
    dirs_evict(d, spare);
    char *text = mem_take(d->env->mem, path.len + 1);
    dir = text == NULL ? NULL : dir_new(d);
    if (dir == NULL) {
        mem_give(text);
        return NULL;
    }
    memcpy(text, path.ptr, path.len);
    text[path.len] = '\0';
    struct dir **slot = &d->by_path[hash % BUCKETS];
    *dir = (struct dir){
        .next_by_path = *slot,
        .hash = hash,
        .ticket = ++d->last_ticket,
        .watch = -1,
        .fd = -1,
        .path_len = (uint16_t)path.len,
        .path = text,
    };
    *slot = dir;
    ring_add(&d->ring, &dir->node, 1);
    return dir;
}

/* ---- watching ---- */

/* Begin to watch; the descriptor of the directory is kept while there are few.  Gives -1, or: */
static int dir_add_watch(struct dirs *d, struct dir *dir)
{
    int fd = root_open_dir(d->env->root, dir->path[0] == '\0' ? "." : dir->path + 1);
    int watch = fd == -1 ? -1 : watcher_add(&d->watcher, fd);
    if (watch != -1 && dirs_find_watch(d, watch) != NULL)
        watch = -1; /* it is also somewhere else: mounted */
    if (watch != -1 && d->fds < d->fds_max) {
        d->fds++;
        dir->fd = fd;
        return watch;
    }
    root_close_file(d->env->root, fd);
    return watch;
}

/* Watch one; its parent, NULL for the root, is watched.  False: it cannot be, for a while. */
static bool dir_watch(struct dirs *d, struct dir *dir, struct dir *parent)
{
    uint64_t now_ms = d->clock->now_ms;
    if (dir->watch != -1)
        return true;
    if (dir->failed_ms != 0 && now_ms - dir->failed_ms < LIMIT_CACHE_WATCHED_MS)
        return false;
    errno = 0;
    dir->watch = dir_add_watch(d, dir);
    if (dir->watch == -1) {
        /* One that is not in memory, which is EAGAIN, will be when somebody has looked into it. */
        dir->failed_ms = errno == EAGAIN ? 0 : now_ms;
        return false;
    }
    struct dir **slot = &d->by_watch[(unsigned)dir->watch % BUCKETS];
    dir->next_by_watch = *slot;
    *slot = dir;
    dir->ticket = ++d->last_ticket;
    dir->parent = parent;
    if (parent != NULL)
        parent->children++;
    return true;
}

struct dir *dirs_watch(struct dirs *d, struct weir_str path)
{
    struct dir *parent = NULL;
    unsigned depth = 0;
    if (path.len >= PATH_MAX)
        return NULL;
    for (size_t len = 0; len < path.len; len++) {
        if (path.ptr[len] != '/')
            continue;
        struct dir *dir = dirs_get(d, (struct weir_str){path.ptr, len}, parent);
        if (dir == NULL || ++depth > DEPTH_MAX || !dir_watch(d, dir, parent))
            return NULL;
        parent = dir;
    }
    return parent;
}

/* ---- hearing ---- */

/* What lies below a directory that was moved, replaced or made inaccessible must be looked at. */
static void dirs_drop_named(struct dirs *d, const struct dir *dir, struct weir_str name)
{
    char path[PATH_MAX + NAME_MAX + 2];
    size_t len = dir->path_len;
    memcpy(path, dir->path, len);
    path[len++] = '/';
    memcpy(path + len, name.ptr, name.len);
    struct weir_str whole = {path, len + name.len};
    struct dir *below = dirs_find(d, whole, hash_path(d->seed, whole));
    if (below != NULL)
        dirs_drop(d, below);
}

static void on_event(void *ctx, const struct inotify_event *event)
{
    struct dirs *d = ctx;
    d->env->root->stats->changes++;
    struct dir *dir = event->wd == -1 ? NULL : dirs_find_watch(d, event->wd);
    if (event->mask & IN_Q_OVERFLOW)
        dirs_drop_all(d);
    if (dir == NULL)
        return;            /* it was dropped meanwhile */
    if (event->len == 0) { /* of the directory itself: its mode, or it has gone */
        dirs_drop(d, dir);
        return;
    }
    struct weir_str name = {event->name, strlen(event->name)};
    bool is_new = (event->mask & (IN_CREATE | IN_MOVED_TO)) != 0;
    if (is_new)
        dir_note_arrival(d, dir, name);
    d->changed(d->ctx, dir, name, is_new);
    if (is_new || (event->mask & IN_ISDIR) != 0)
        dirs_drop_named(d, dir, name);
}

void dirs_hear(struct dirs *d)
{
    if (d->read_ms == d->clock->now_ms)
        return;
    d->read_ms = d->clock->now_ms;
    watcher_read(&d->watcher, on_event, d);
}

/* ---- the whole ---- */

/* Within a sixteenth of the process's descriptors. */
static size_t fds_max(void)
{
    struct rlimit limit;
    bool is_low = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 16 < FDS_MAX;
    return is_low ? (size_t)limit.rlim_cur / 16 : FDS_MAX;
}

enum weir_err dirs_init(struct dirs *d, const struct file_env *env, const struct clock *clock,
                        uint64_t seed, dirs_changed_fn *changed, void *ctx)
{
    *d = (struct dirs){
        .env = env,
        .clock = clock,
        .changed = changed,
        .ctx = ctx,
        .ring = {.max = LIMIT_WATCHED_DIRS},
        .fds_max = fds_max(),
        .seed = seed,
        .last_ticket = DIR_TICKET_NONE,
    };
    watcher_init(&d->watcher, env->root->stats);
    d->by_path = calloc(BUCKETS, sizeof(struct dir *));
    d->by_watch = calloc(BUCKETS, sizeof(struct dir *));
    return d->by_path == NULL || d->by_watch == NULL ? WEIR_NOMEM : WEIR_OK;
}

void dirs_deinit(struct dirs *d)
{
    if (d->env == NULL)
        return;
    dirs_drop_all(d);
    while (d->free != NULL) {
        struct dir *dir = d->free;
        d->free = dir->next_by_path;
        mem_give(dir);
    }
    watcher_deinit(&d->watcher);
    free((void *)d->by_path);
    free((void *)d->by_watch);
}
