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

#include "describe.h"
#include "internal/assert.h"
#include "internal/stats.h"
#include "look.h"
#include "map_guard.h"
#include "mem.h"
#include "reread.h"
#include "root.h"
#include "window.h"

static struct file *file_from(void *ctx)
{
    return ctx;
}

static struct file_id id_of(const struct stat *st)
{
    return (struct file_id){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime_s = st->st_mtim.tv_sec,
        .mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
        .ctime_s = st->st_ctim.tv_sec,
        .ctime_ns = (uint32_t)st->st_ctim.tv_nsec,
    };
}

/* The bytes may be the same: neither their number nor their time is another. */
static bool id_is_alike(const struct file_id *a, const struct file_id *b)
{
    return a->size == b->size && a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns;
}

static bool id_is_same(const struct file_id *a, const struct file_id *b)
{
    return id_is_alike(a, b) && a->ino == b->ino && a->dev == b->dev && a->ctime_s == b->ctime_s &&
           a->ctime_ns == b->ctime_ns;
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
    f->env->root->stats->calls.fstat++;
    if (!f->is_remote) {
        if (fstat(f->map->fd, &st) == -1)
            return false;
        *id = id_of(&st);
        return true;
    }
    struct statx sx;
    if (statx(f->map->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &sx) == -1)
        return false;
    *id = (struct file_id){
        .dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
        .ino = sx.stx_ino,
        .size = sx.stx_size,
        .mtime_s = sx.stx_mtime.tv_sec,
        .mtime_ns = sx.stx_mtime.tv_nsec,
        .ctime_s = sx.stx_ctime.tv_sec,
        .ctime_ns = sx.stx_ctime.tv_nsec,
    };
    return true;
}

bool file_is_poisoned(struct file *f)
{
    struct file_map *m = f->map;
    unsigned losses = map_guard_losses();
    if (m->losses == losses || m->is_lost)
        return m->is_lost;
    m->losses = losses;
    for (const struct list *link = m->windows.next; link != &m->windows; link = link->next)
        m->is_lost |= weir_buf_is_poisoned(&container_of(link, struct window, of_file)->buf);
    f->is_stale |= m->is_lost;
    return m->is_lost;
}

bool file_is_current(struct file *f, uint64_t now_ms)
{
    if (!file_is_map(f) || f->is_private)
        return true;
    bool is_current = !f->is_stale && !file_is_poisoned(f);
    if (is_current && f->map->looked_ms != now_ms) {
        f->map->looked_ms = now_ms;
        struct file_id id;
        is_current = file_look(f, &id) && id_is_same(&f->id, &id);
    }
    f->is_stale = !is_current;
    return is_current;
}

bool file_has_its_size(struct file *f)
{
    struct file_id id;
    bool has = f->is_private || (file_look(f, &id) && id.size >= f->id.size);
    f->is_stale |= !has;
    return has;
}

static enum weir_err file_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    struct file *f = file_from(ctx);
    WEIR_ASSERT(offset < f->id.size && !file_is_map(f));
    uint64_t left = f->id.size - offset;
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
    bool is_intact = !file_is_poisoned(f) && file_look(f, &id) && id_is_alike(&id, &f->id);
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
    if (file_is_map(*slot))
        windows_forget(*slot);
    file_unref(slot);
}

/* The last holder is gone. */
static void file_free(struct weir_buf *b)
{
    struct file *f = container_of(b, struct file, buf);
    if (f->is_private)
        f->env->windows->decoded_len -= f->id.size;
    if (file_is_map(f))
        root_close_file(f->env->root, f->map->fd);
    file_drop_disk(f);
    mem_give(f->says);
    mem_give(f);
}

/* The bytes of a small file. */
static void file_take_bytes(struct file *f, struct found *found)
{
    file_keep_disk(f, found);
    memcpy(f->tail, found->bytes, (size_t)f->id.size);
    f->buf.base = f->tail;
    f->buf.cap = (size_t)f->id.size;
}

static void file_take_map(struct file *f, struct found *found)
{
    f->map = (struct file_map *)(void *)f->tail;
    *f->map = (struct file_map){
        .fd = found->fd,
        .losses = map_guard_losses(),
        .is_ours = found->shows_pages,
    };
    list_init(&f->map->windows);
    found->fd = -1;
}

unsigned file_make(const struct file_env *env, struct found *found, struct file **out)
{
    WEIR_ASSERT(found->status == 0);
    bool is_small = found->bytes != NULL;
    size_t tail_len = is_small ? (size_t)found->st.st_size : sizeof(struct file_map);
    struct file *f = mem_take(env->mem, sizeof(*f) + tail_len);
    *out = f;
    if (f == NULL)
        return 503;
    *f = (struct file){
        .buf = {.refs = 1, .origin = WEIR_ORIGIN_POOLED, .release = file_free},
        .id = id_of(&found->st),
        .env = env,
        .is_remote = found->is_remote,
        .is_settled = found->is_settled,
    };
    if (is_small)
        file_take_bytes(f, found);
    else
        file_take_map(f, found);
    return 0;
}

size_t file_cost(const struct file *f)
{
    bool has_bytes = !file_is_map(f) || f->is_private;
    return sizeof(*f) + f->says->len + (has_bytes ? (size_t)f->id.size : 0);
}
