/*
 * The directory that is served.  Every file is opened below its descriptor, and the kernel refuses
 * whatever leads out of it (openat2(2), RESOLVE_BENEATH).
 */
#ifndef FILES_ROOT_H
#define FILES_ROOT_H

#include <sys/stat.h>

#include <stdint.h>

#include "weir/err.h"

struct stats;

struct root {
    int fd;              /* the directory; -1 when not open */
    struct stats *stats; /* Borrowed: system calls are counted there */
    uint64_t lists_made; /* of fields; gives each its number */
};

/*
 * Open the directory at `path`.
 * Own: root_close().  Err: WEIR_CONFIG: it cannot be read as a directory; said in one line.
 */
WEIR_MUST_USE
enum weir_err root_open(struct root *root, const char *path, struct stats *stats);

/* Legal on a root that failed to open. */
void root_close(struct root *root);

/*
 * Open what lies at `path`, relative to the root and without dot segments, for reading.  It never
 * waits, whatever is there.  Gives 0 and the descriptor, or the status that says why not: 404, or
 * 403, 500, 503 for what is there but cannot be had.
 */
unsigned root_open_file(const struct root *root, const char *path, int *fd);

/* Close what root_open_file() gave; -1 is fine. */
void root_close_file(const struct root *root, int fd);

/* Look at a path without opening it.  Gives 0, or a status as above. */
unsigned root_stat(const struct root *root, const char *path, struct stat *st);

/* Look at a name in an open directory; at a link itself, not at what it leads to. */
unsigned root_look(const struct root *root, int dir_fd, const char *name, struct stat *st);

#endif
