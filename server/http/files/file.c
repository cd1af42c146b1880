/*
 * See file.h.
 *
 * Nobody can change the bytes of a snapshot.  Before those of a map are sent it is looked at, and
 * again at each chunk of a large one: a response whose bytes are gone is reset.
 */
#include "file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal/assert.h"
#include "internal/stats.h"
#include "look.h"
#include "map_guard.h"
#include "mem.h"
#include "root.h"
#include "window.h"

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

/*
 * What the descriptor shows now.  False: it cannot be seen.
 * Why: statx() for what is not local, since it can do without asking whoever has the file.
 */
static bool file_look(const struct file *f, struct file_id *id)
{
    struct stat st;
    f->root->stats->calls.fstat++;
    if (!f->is_remote) {
        if (fstat(f->fd, &st) == -1)
            return false;
        *id = id_of(&st);
        return true;
    }
    struct statx sx;
    if (statx(f->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &sx) == -1)
        return false;
    *id = (struct file_id){
        .dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
        .ino = sx.stx_ino,
        .size = (off_t)sx.stx_size,
        .mtime = {.tv_sec = sx.stx_mtime.tv_sec, .tv_nsec = sx.stx_mtime.tv_nsec},
        .ctime = {.tv_sec = sx.stx_ctime.tv_sec, .tv_nsec = sx.stx_ctime.tv_nsec},
    };
    return true;
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
    bool is_current = !f->is_stale && !file_is_poisoned(f);
    if (is_current && f->looked_ms != now_ms) {
        f->looked_ms = now_ms;
        struct file_id id;
        is_current = file_look(f, &id) && id_is_same(&f->id, &id);
    }
    f->is_stale = !is_current;
    return is_current;
}

bool file_has_its_size(struct file *f)
{
    struct file_id id;
    bool has = f->is_private || (file_look(f, &id) && (uint64_t)id.size >= f->size);
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
    struct file_id id;
    if (!file_is_map(f) || f->is_private)
        return true;
    bool is_intact = !file_is_poisoned(f) && file_look(f, &id) && id.size == f->id.size &&
                     time_is_same(&id.mtime, &f->id.mtime);
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
    if (f->is_private)
        f->windows_of->decoded_len -= f->size;
    root_close_file(f->root, f->fd);
    mem_give(f);
}

unsigned file_make(const struct file_env *env, struct found *found, struct file **out)
{
    WEIR_ASSERT(found->status == 0);
    bool is_small = found->fd == -1;
    size_t len = is_small ? (size_t)found->st.st_size : 0;
    struct file *f = mem_take(env->mem, sizeof(*f) + len);
    *out = f;
    if (f == NULL)
        return 503;
    *f = (struct file){
        .buf = {.refs = 1, .origin = WEIR_ORIGIN_POOLED, .release = file_free},
        .size = (uint64_t)found->st.st_size,
        .fd = found->fd,
        .windows_of = env->windows,
        .losses = map_guard_losses(),
        .is_ours = found->shows_pages,
        .is_remote = found->is_remote,
        .is_settled = found->is_settled,
        .id = id_of(&found->st),
        .root = env->root,
    };
    list_init(&f->windows);
    found->fd = -1;
    if (is_small) {
        memcpy(f->snapshot, found->bytes, len);
        f->buf.base = f->snapshot;
        f->buf.cap = len;
    }
    return 0;
}
