/*
 * See file.h.
 *
 * Small files are read from their map without looking at them again; of a large one the size is
 * looked at before each window, and a response whose bytes are gone is reset.
 */
#include "file.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "internal/assert.h"
#include "internal/stats.h"
#include "mem.h"
#include "mime.h"
#include "root.h"

static struct file *file_from(void *ctx)
{
    return ctx;
}

/* Look at the size again.  False: bytes that were promised are gone. */
static bool file_is_whole(struct file *f)
{
    struct stat st;
    f->root->stats->calls.fstat++;
    if (fstat(f->fd, &st) == 0 && (uint64_t)st.st_size >= f->size)
        return true;
    f->has_shrunk = true;
    return false;
}

static enum weir_err file_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    struct file *f = file_from(ctx);
    WEIR_ASSERT(offset < f->size);
    uint64_t left = f->size - offset;
    if (f->fd != -1) {
        uint64_t in_window = offset % FILE_WINDOW;
        if (in_window == 0 && !file_is_whole(f))
            return WEIR_STREAM;
        if (left > FILE_WINDOW - in_window)
            left = FILE_WINDOW - in_window;
    }
    size_t len = left < max ? (size_t)left : max;
    *out = weir_slice_of(&f->buf, f->buf.base + offset, len);
    return WEIR_OK;
}

static void file_release(void *ctx)
{
    struct file *f = file_from(ctx);
    file_unref(&f);
}

static const struct weir_source file_source = {.read = file_read, .release = file_release};

void file_unref(struct file **slot)
{
    struct file *f = *slot;
    *slot = NULL;
    if (f == NULL)
        return;
    struct weir_buf *b = &f->buf;
    weir_buf_unref(&b);
}

/* The last holder is gone. */
static void file_free(struct weir_buf *b)
{
    struct file *f = container_of(b, struct file, buf);
    if (f->buf.base != NULL) {
        f->root->stats->calls.munmap++;
        munmap(f->buf.base, f->buf.cap);
    }
    if (f->fd != -1) {
        f->root->stats->calls.close++;
        close(f->fd);
    }
    mem_give(f);
}

bool file_is_same(const struct file *f, const struct stat *st)
{
    const struct file_id *id = &f->id;
    return id->ino == st->st_ino && id->dev == st->st_dev && id->size == st->st_size &&
           id->mtime.tv_nsec == st->st_mtim.tv_nsec && id->mtime.tv_sec == st->st_mtim.tv_sec &&
           id->ctime.tv_nsec == st->st_ctim.tv_nsec && id->ctime.tv_sec == st->st_ctim.tv_sec;
}

static void file_add_field(struct file *f, struct weir_str name, struct weir_str value)
{
    WEIR_ASSERT(f->whole.field_count < FILE_FIELDS);
    f->fields[f->whole.field_count++] = (struct weir_field){name, value};
}

/* Make the ready responses.  The name of the file decides the type. */
static void file_describe(struct file *f, const struct file_env *env, const char *path)
{
    f->whole = (struct weir_response){
        .status = 200,
        .fields = f->fields,
        .source = &file_source,
        .ctx = f,
        .body_len = f->size,
    };
    struct weir_str length = {f->content_length, 0};
    length.len = (size_t)snprintf(f->content_length, sizeof(f->content_length), "%llu",
                                  (unsigned long long)f->size);
    int64_t mtime_ns = (int64_t)f->id.mtime.tv_sec * 1000000000 + f->id.mtime.tv_nsec;
    struct weir_str tag = {f->etag, etag_write(f->etag, f->size, mtime_ns)};
    clock_format_date(f->id.mtime.tv_sec, f->last_modified);

    if (env->server.len > 0)
        file_add_field(f, WEIR_STR("server"), env->server);
    const struct mime *mime = mime_find((struct weir_str){path, strlen(path)});
    file_add_field(f, WEIR_STR("content-type"), mime->type);
    file_add_field(f, WEIR_STR("content-length"), length);
    file_add_field(f, WEIR_STR("etag"), tag);
    file_add_field(f, WEIR_STR("last-modified"),
                   (struct weir_str){f->last_modified, CLOCK_DATE_LEN});
    f->head = f->whole;
    f->head.body_len = 0;
}

/* Take in the bytes behind f->fd.  Gives 0 or a status. */
static unsigned file_map(struct file *f)
{
    if (f->size == 0)
        return 0; /* an empty range cannot be mapped */
    if (f->size > SIZE_MAX / 2)
        return 500;
    f->root->stats->calls.mmap++;
    void *map = mmap(NULL, (size_t)f->size, PROT_READ, MAP_SHARED, f->fd, 0);
    if (map == MAP_FAILED)
        return 503;
    f->buf.base = map;
    f->buf.cap = (size_t)f->size;
    return 0;
}

/* Become the file behind f->fd.  Gives 0 or a status. */
static unsigned file_load(struct file *f)
{
    struct stat st;
    f->root->stats->calls.fstat++;
    if (fstat(f->fd, &st) == -1)
        return 500;
    if (!S_ISREG(st.st_mode))
        return 404;
    f->id = (struct file_id){st.st_dev, st.st_ino, st.st_size, st.st_mtim, st.st_ctim};
    f->size = (uint64_t)st.st_size;
    unsigned status = file_map(f);
    if (status == 0 && f->size <= FILE_WINDOW) {
        f->root->stats->calls.close++;
        close(f->fd);
        f->fd = -1;
    }
    return status;
}

unsigned file_open(const struct file_env *env, const char *path, struct file **out)
{
    *out = NULL;
    int fd;
    unsigned status = root_open_file(env->root, path, &fd);
    if (status != 0)
        return status;
    struct file *f = mem_take_zeroed(env->mem, sizeof(*f));
    if (f == NULL) {
        close(fd);
        return 503;
    }
    f->buf = (struct weir_buf){.refs = 1, .origin = WEIR_ORIGIN_MAPPED, .release = file_free};
    f->root = env->root;
    f->fd = fd;
    status = file_load(f);
    if (status != 0) {
        file_unref(&f);
        return status;
    }
    file_describe(f, env, path);
    *out = f;
    return 0;
}
