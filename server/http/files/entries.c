/* See entries.h. */
#include "entries.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal/stats.h"
#include "mem.h"
#include "root.h"

/* Where the next entry goes. */
struct cursor {
    size_t block;
    size_t at;
};

/* Room for an entry with a name of that length, or NULL. */
static struct dir_entry *entry_take(struct entries *e, struct mem *mem, struct cursor *c,
                                    size_t name_len)
{
    size_t len = sizeof(struct dir_entry) + name_len + 1;
    if (e->blocks[c->block] != NULL && BLOCK_LARGE_CAP - c->at < len) {
        if (c->block + 1 == ENTRIES_BLOCKS_MAX)
            return NULL;
        c->block++;
        c->at = 0;
    }
    struct weir_buf **block = &e->blocks[c->block];
    if (*block == NULL && !mem_is_low(mem))
        *block = block_take(mem, BLOCK_LARGE);
    if (*block == NULL)
        return NULL;
    struct dir_entry *entry = (struct dir_entry *)(void *)((*block)->base + c->at);
    c->at += len;
    return entry;
}

static bool is_shown(const struct dirent64 *d)
{
    return d->d_name[0] != '.' && (d->d_type == DT_REG || d->d_type == DT_DIR ||
                                   d->d_type == DT_LNK || d->d_type == DT_UNKNOWN);
}

/* Take in a buffer of getdents64(2).  False: no memory. */
static bool entries_add(struct entries *e, struct mem *mem, struct cursor *c, const char *bytes,
                        size_t len)
{
    for (size_t at = 0; at < len;) {
        const struct dirent64 *d = (const struct dirent64 *)(const void *)(bytes + at);
        at += d->d_reclen;
        if (!is_shown(d))
            continue;
        if (e->count == ENTRIES_MAX) {
            e->is_cut = true;
            return true;
        }
        size_t name_len = strlen(d->d_name);
        struct dir_entry *entry = entry_take(e, mem, c, name_len);
        if (entry == NULL)
            return false;
        entry->type = d->d_type;
        memcpy(entry->name, d->d_name, name_len + 1);
        e->sorted[e->count++] = entry;
    }
    return true;
}

static int entry_compare(const void *a, const void *b)
{
    const struct dir_entry *const *x = a;
    const struct dir_entry *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

unsigned entries_read(struct entries *e, struct mem *mem, const struct root *root, int fd)
{
    *e = (struct entries){0};
    e->sorted = mem_take(mem, ENTRIES_MAX * sizeof(void *));
    if (e->sorted == NULL)
        return 503;
    struct cursor c = {0};
    _Alignas(struct dirent64) char bytes[8192];
    while (!e->is_cut) {
        root->stats->calls.getdents64++;
        ssize_t n = getdents64(fd, bytes, sizeof(bytes));
        if (n == -1)
            return errno == ENOTDIR ? 404 : 500;
        if (n == 0)
            break;
        if (!entries_add(e, mem, &c, bytes, (size_t)n))
            return 503;
    }
    qsort((void *)e->sorted, e->count, sizeof(void *), entry_compare);
    return 0;
}

void entries_deinit(struct entries *e)
{
    mem_give((void *)e->sorted);
    for (size_t i = 0; i < ENTRIES_BLOCKS_MAX && e->blocks[i] != NULL; i++)
        weir_buf_unref(&e->blocks[i]);
}
