/* See reread.h. */
#include "reread.h"

#include <unistd.h>

#include "internal/bench.h"
#include "root.h"
#include "window.h"

/* Where a slice of a snapshot, or of a window of a map, lies on disk.  False: it is of neither. */
static bool slice_place(const struct weir_slice *s, int *fd, uint64_t *at)
{
    *at = (uint64_t)(s->ptr - s->buf->base);
    if (s->buf->whole != NULL) {
        const struct window *w = container_of(s->buf, struct window, buf);
        *fd = w->file->map->fd;
        *at += w->index * WINDOW_LEN;
        return true;
    }
    const struct file *f = container_of(s->buf, struct file, buf);
    if (s->buf->base != f->tail)
        return false; /* its bytes do not lie where those of a file do: it is something else */
    *fd = f->disk_fd;
    return true;
}

static bool slice_read(const struct weir_slice *from, uint8_t *to)
{
    int fd;
    uint64_t at;
    return slice_place(from, &fd, &at) && pread(fd, to, from->len, (off_t)at) == (ssize_t)from->len;
}

void file_keep_disk(struct file *f, struct found *found)
{
    f->disk_fd = found->fd;
    found->fd = -1;
    bench_read = slice_read;
}

void file_drop_disk(struct file *f)
{
    root_close_file(f->env->root, f->disk_fd);
}
