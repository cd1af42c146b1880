/*
 * See directory.h.
 *
 * The places of the names are a heap, and the least name is taken from its root to its end as often
 * as one is asked for.  So the first page of a directory costs no more than to look at each name
 * twice or so, and no memory but that of the names.
 *
 *     names, each with a NUL ──▶      free      | heap | ... third, second, first in order
 */
#include "directory.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "internal/assert.h"
#include "internal/stats.h"
#include "root.h"

#define READ_LEN 32768

/* Where the names begin. */
static uint32_t *directory_places(const struct directory *d)
{
    return (uint32_t *)(void *)(d->scratch.base + d->scratch.cap) - d->count;
}

/* No path leads to a name with a backslash: see path.h. */
static bool is_shown(const struct dirent64 *entry)
{
    if (entry->d_name[0] == '.' || strchr(entry->d_name, '\\') != NULL)
        return false;
    return (entry->d_type == DT_REG || entry->d_type == DT_DIR || entry->d_type == DT_LNK ||
            entry->d_type == DT_UNKNOWN);
}

/* False: there is no room. */
static bool directory_add(struct directory *d, const char *name)
{
    size_t len = strlen(name) + 1;
    size_t places_len = (d->count + 1) * sizeof(uint32_t);
    if (d->scratch.cap - d->names_len < len + places_len)
        return false;
    memcpy(d->scratch.base + d->names_len, name, len);
    d->count++;
    directory_places(d)[0] = (uint32_t)d->names_len;
    d->names_len += len;
    return true;
}

/* ---- order ---- */

static bool name_is_less(const struct directory *d, uint32_t a, uint32_t b)
{
    return strcmp(d->scratch.base + a, d->scratch.base + b) < 0;
}

/* Let the place at `at` sink to where it belongs in a heap of so many. */
static void heap_sink(const struct directory *d, uint32_t *heap, size_t count, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            if (name_is_less(d, heap[child], heap[least]))
                least = child;
        }
        if (least == at)
            return;
        uint32_t sinking = heap[at];
        heap[at] = heap[least];
        heap[least] = sinking;
        at = least;
    }
}

static void directory_make_heap(const struct directory *d)
{
    for (size_t i = d->count / 2; i > 0; i--)
        heap_sink(d, directory_places(d), d->count, i - 1);
}

const char *directory_name(struct directory *d, size_t i)
{
    WEIR_ASSERT(i < d->count);
    uint32_t *places = directory_places(d);
    for (; d->sorted <= i; d->sorted++) {
        size_t last = d->count - d->sorted - 1;
        uint32_t least = places[0];
        places[0] = places[last];
        places[last] = least;
        heap_sink(d, places, last, 0);
    }
    return d->scratch.base + places[d->count - i - 1];
}

/* ---- reading ---- */

/* Take in a buffer of getdents64(2). */
static void directory_add_all(struct directory *d, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len && !d->is_cut;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(bytes + at);
        at += entry->d_reclen;
        if (is_shown(entry))
            d->is_cut = !directory_add(d, entry->d_name);
    }
}

unsigned directory_read(struct directory *d, const struct root *root, int fd)
{
    *d = (struct directory){0};
    if (scratch_init(&d->scratch, DIRECTORY_BYTES_MAX, root->stats) != WEIR_OK)
        return 503;
    _Alignas(struct dirent64) char bytes[READ_LEN];
    while (!d->is_cut) {
        root->stats->calls.getdents64++;
        ssize_t n = getdents64(fd, bytes, sizeof(bytes));
        if (n == -1)
            return errno == ENOTDIR ? 404 : 500;
        if (n == 0)
            break;
        directory_add_all(d, bytes, (size_t)n);
    }
    directory_make_heap(d);
    return 0;
}

void directory_deinit(struct directory *d, const struct root *root)
{
    scratch_deinit(&d->scratch, root->stats);
}
