/*
 * The names in a directory that anybody may see, as many as there are: a page of them in order.
 * Thread: any; system calls are counted where the root says.
 */
#ifndef FILES_DIRECTORY_H
#define FILES_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scratch.h"

struct root;

/* bytes of the names and of what keeps them in order: a million of 27 letters; more are left out */
#define DIRECTORY_BYTES_MAX ((size_t)32 * 1024 * 1024)

struct directory {
    struct scratch scratch; /* Own: names with their NULs from the front, places from the back */
    size_t names_len;       /* bytes of the names */
    size_t count;           /* names */
    size_t sorted;          /* of these, those that are in order: the first ones */
    bool is_cut;            /* there are more */
};

/*
 * Read the directory behind fd.  Hidden names are left out, and whatever is neither a file, a
 * directory nor a link.
 * Gives 0, or the status due; directory_deinit() is legal in any case.
 */
unsigned directory_read(struct directory *d, const struct root *root, int fd);

void directory_deinit(struct directory *d, const struct root *root);

/* Name number i < count, in the order of their bytes.  Borrowed.  It costs what is skipped, too. */
const char *directory_name(struct directory *d, size_t i);

#endif
