/* See dir_scan.h. */
#include "dir_scan.h"

#include <dirent.h>
#include <string.h>

#include "hash.h"
#include "mem.h"
#include "sibling.h"

/* names of one directory that are read; one with more is never known whole */
#define NAMES_MAX 100000

struct dir_scan *dir_scan_new(struct mem *mem, const struct root *root, const char *path)
{
    size_t size = strlen(path) + 1;
    struct dir_scan *s = mem_take_zeroed(mem, sizeof(*s) + size);
    if (s == NULL)
        return NULL;
    s->root = *root;
    s->root.stats = &s->stats;
    memcpy(s->path, path, size);
    return s;
}

/* Take in a buffer of getdents64(2).  Gives the number of names. */
static unsigned dir_scan_add(struct dir_scan *s, const char *bytes, size_t len)
{
    unsigned count = 0;
    for (size_t at = 0; at < len; count++) {
        const struct dirent64 *d = (const struct dirent64 *)(const void *)(bytes + at);
        at += d->d_reclen;
        struct weir_str name = {d->d_name, strlen(d->d_name)};
        if (d->d_type != DT_REG || sibling_coding(name) != CODING_IDENTITY)
            name_filter_add(&s->special, hash_path(s->seed, name));
    }
    return count;
}

void dir_scan_run(struct dir_scan *s)
{
    _Alignas(struct dirent64) char bytes[16384];
    int fd;
    const char *path = s->path[0] == '\0' ? "." : s->path + 1;
    if (root_open_file(&s->root, path, true, &fd) != 0)
        return;
    unsigned count = 0;
    ssize_t n = 1;
    while (n > 0 && count <= NAMES_MAX) {
        s->stats.calls.getdents64++;
        n = getdents64(fd, bytes, sizeof(bytes));
        if (n > 0)
            count += dir_scan_add(s, bytes, (size_t)n);
    }
    s->is_whole = n == 0;
    root_close_file(&s->root, fd);
}
