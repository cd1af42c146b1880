/*
 * The names in a directory that anybody may see, sorted.
 */
#ifndef FILES_ENTRIES_H
#define FILES_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/buf.h"

struct mem;
struct root;

/* names of one directory; beyond that a list is of no use to a person */
#define ENTRIES_MAX 10000
#define ENTRIES_BLOCKS_MAX 256

/* Packed one behind the other in blocks. */
struct dir_entry {
    unsigned char type; /* as in struct dirent: DT_DIR and so on */
    char name[];        /* with a NUL */
};

struct entries {
    size_t count;
    bool is_cut;                                 /* there are more */
    const struct dir_entry **sorted;             /* Own: the entries, in order of their names */
    struct weir_buf *blocks[ENTRIES_BLOCKS_MAX]; /* Own: where they lie */
};

/*
 * Read the directory behind fd.  Hidden names are left out, and whatever is neither a file, a
 * directory nor a link.
 * Gives 0, or the status due; entries_deinit() is legal in any case.
 */
unsigned entries_read(struct entries *e, struct mem *mem, const struct root *root, int fd);

void entries_deinit(struct entries *e);

#endif
