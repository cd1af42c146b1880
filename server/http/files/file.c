/*
 * See file.h.
 *
 * Nobody can change the bytes of a snapshot.  Before those of a map are sent it is looked at, and
 * again at each chunk of a large one: a response whose bytes are gone is reset.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal/assert.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "map_guard.h"
#include "mem.h"
#include "root.h"
#include "window.h"

/* Times that a small file is read until it did not change meanwhile. */
#define SNAPSHOT_TRIES 3

/*
 * ns before a change that the kernel may date like the one before it: a tick of its clock.  What
 * was opened sooner after a change than this may change again without showing it.
 */
#define CHANGE_TICK_NS 20000000

static struct file *file_from(void *ctx)
{
    return ctx;
}

static struct file_id id_of(const struct stat *st)
{
    return (struct file_id){st->st_dev, st->st_ino, st->st_size, st->st_mtim, st->st_ctim};
}

static bool time_is_same(const struct timespec *a, const struct timespec *b)
{
    return a->tv_nsec == b->tv_nsec && a->tv_sec == b->tv_sec;
}

static bool id_is_same(const struct file_id *a, const struct file_id *b)
{
    return a->ino == b->ino && a->dev == b->dev && a->size == b->size &&
           time_is_same(&a->mtime, &b->mtime) && time_is_same(&a->ctime, &b->ctime);
}

bool file_is_same(const struct file *f, const struct stat *st)
{
    struct file_id id = id_of(st);
    return f->is_settled && !f->is_stale && id_is_same(&f->id, &id);
}

/* What the descriptor shows now.  False: it cannot be seen. */
static bool file_look(const struct file *f, struct stat *st)
{
    f->root->stats->calls.fstat++;
    return fstat(f->fd, st) == 0;
}

bool file_is_poisoned(struct file *f)
{
    unsigned losses = map_guard_losses();
    if (f->losses == losses || f->is_lost)
        return f->is_lost;
    f->losses = losses;
    for (const struct list *link = f->windows.next; link != &f->windows; link = link->next)
        f->is_lost |= weir_buf_is_poisoned(&container_of(link, struct window, of_file)->buf);
    f->is_stale |= f->is_lost;
    return f->is_lost;
}

bool file_is_current(struct file *f, uint64_t now_ms)
{
    if (!file_is_map(f) || f->is_private)
        return true;
    struct stat st;
    bool is_current = !f->is_stale && !file_is_poisoned(f);
    if (is_current && f->looked_ms != now_ms) {
        f->looked_ms = now_ms;
        struct file_id id = {0};
        if (file_look(f, &st))
            id = id_of(&st);
        is_current = id_is_same(&f->id, &id);
    }
    f->is_stale = !is_current;
    return is_current;
}

bool file_has_its_size(struct file *f)
{
    struct stat st;
    bool has = f->is_private || (file_look(f, &st) && (uint64_t)st.st_size >= f->size);
    f->is_stale |= !has;
    return has;
}

static enum weir_err file_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    struct file *f = file_from(ctx);
    WEIR_ASSERT(offset < f->size && !file_is_map(f));
    uint64_t left = f->size - offset;
    size_t len = left < max ? (size_t)left : max;
    *out = weir_slice_of(&f->buf, f->buf.base + offset, len);
    return WEIR_OK;
}

/* The bytes have left: they were those of the file if it is still the one that was opened. */
static bool file_is_intact(void *ctx)
{
    struct file *f = file_from(ctx);
    struct stat st;
    if (!file_is_map(f) || f->is_private)
        return true;
    bool is_intact = !file_is_poisoned(f) && file_look(f, &st);
    if (is_intact) {
        struct file_id id = id_of(&st);
        is_intact = id.size == f->id.size && time_is_same(&id.mtime, &f->id.mtime);
    }
    f->is_stale |= !is_intact;
    return is_intact;
}

static void file_release(void *ctx)
{
    struct file *f = file_from(ctx);
    file_unref(&f);
}

const struct weir_source file_source = {
    .read = file_read,
    .is_intact = file_is_intact,
    .release = file_release,
};

void file_unref(struct file **slot)
{
    struct file *f = *slot;
    *slot = NULL;
    if (f == NULL)
        return;
    struct weir_buf *b = &f->buf;
    weir_buf_unref(&b);
}

void file_retire(struct file **slot)
{
    if (*slot == NULL)
        return;
    (*slot)->is_retired = true;
    windows_forget(*slot);
    file_unref(slot);
}

/* The last holder is gone. */
static void file_free(struct weir_buf *b)
{
    struct file *f = container_of(b, struct file, buf);
    root_close_file(f->root, f->fd);
    mem_give(f);
}

/*
 * True if the kernel tells the caller which pages of the file are in memory (can_do_mincore() of
 * Linux 5.2): it owns the file, or could write it.
 */
static bool file_shows_pages(const struct file *f, const struct stat *st)
{
    if (st->st_uid == geteuid())
        return true;
    f->root->stats->calls.faccessat2++;
    return faccessat(f->fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

/* Read the bytes behind f->fd.  Gives the length that came, or -1. */
static ssize_t file_fill(struct file *f)
{
    size_t len = 0;
    while (len < f->size) {
        f->root->stats->calls.pread64++;
        ssize_t n = pread(f->fd, f->snapshot + len, (size_t)f->size - len, (off_t)len);
        if (n == -1 && errno != EINTR)
            return -1;
        if (n == 0)
            break;
        len += n == -1 ? 0 : (size_t)n;
    }
    return (ssize_t)len;
}

/* Copy the bytes behind f->fd, all of one version.  Gives 0 or a status. */
static unsigned file_copy(struct file *f)
{
    for (int i = 0; i < SNAPSHOT_TRIES; i++) {
        struct stat st;
        ssize_t len = file_fill(f);
        if (len == -1) {
            log_errno(LV_WARN, errno, "cannot read a file below the root");
            return 500;
        }
        if (!file_look(f, &st))
            return 500;
        struct file_id id = id_of(&st);
        if ((uint64_t)len == f->size && id_is_same(&f->id, &id)) {
            root_close_file(f->root, f->fd);
            f->fd = -1;
            f->buf.base = f->snapshot;
            f->buf.cap = (size_t)f->size;
            return 0;
        }
        if ((uint64_t)st.st_size != f->size)
            break;
        f->id = id;
    }
    return 503; /* it is being written */
}

/* True if the change shown by an id lies so far back that the next one will show. */
static bool id_is_settled(const struct file_id *id)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    int64_t age_ns = (now.tv_sec - id->ctime.tv_sec) * 1000000000 + now.tv_nsec - id->ctime.tv_nsec;
    return age_ns > CHANGE_TICK_NS;
}

/* 0 for a regular file, 308 for a directory, whose name ends with a slash, 404 for all else. */
static unsigned mode_status(mode_t mode)
{
    if (S_ISREG(mode))
        return 0;
    return S_ISDIR(mode) ? 308 : 404;
}

unsigned file_adopt(const struct file_env *env, int fd, struct file **out)
{
    *out = NULL;
    struct stat st;
    env->root->stats->calls.fstat++;
    unsigned status = fstat(fd, &st) == -1 ? 500 : mode_status(st.st_mode);
    bool is_small = (uint64_t)st.st_size <= FILE_SNAPSHOT_MAX;
    size_t extra = is_small ? (size_t)st.st_size : 0;
    struct file *f = status == 0 ? mem_take(env->mem, sizeof(*f) + extra) : NULL;
    if (f == NULL) {
        root_close_file(env->root, fd);
        return status == 0 ? 503 : status;
    }
    *f = (struct file){
        .buf = {.refs = 1, .origin = WEIR_ORIGIN_POOLED, .release = file_free},
        .size = (uint64_t)st.st_size,
        .fd = fd,
        .id = id_of(&st),
        .root = env->root,
        .windows_of = env->windows,
    };
    list_init(&f->windows);
    f->losses = map_guard_losses();
    if (is_small)
        status = file_copy(f);
    else
        f->is_ours = file_shows_pages(f, &st);
    f->is_settled = id_is_settled(&f->id);
    if (status != 0)
        file_unref(&f);
    *out = f;
    return status;
}

unsigned file_open(const struct file_env *env, const char *path, struct file **out)
{
    *out = NULL;
    int fd;
    unsigned status = root_open_file(env->root, path + 1, &fd);
    return status == 0 ? file_adopt(env, fd, out) : status;
}
