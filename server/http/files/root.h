/*
 * The directory that is served.  Every file is opened below its descriptor, and whatever leads out
 * of it is refused: by the kernel (openat2(2), RESOLVE_BENEATH), or else by beneath.h.
 */
#ifndef FILES_ROOT_H
#define FILES_ROOT_H

#include <sys/stat.h>

#include <stdbool.h>
#include <stdint.h>

#include "weir/err.h"

struct stats;

struct root {
    int fd;              /* the directory; -1 when not open */
    bool walks_paths;    /* the kernel does not do it */
    struct stats *stats; /* Borrowed: system calls are counted there */
    uint64_t lists_made; /* of fields; gives each its number */
};

/*
 * Open the directory at `path`.  `walks_paths`: see beneath_is_in_kernel().
 * Own: root_close().  Err: WEIR_CONFIG: it cannot be read as a directory; said in one line.
 */
WEIR_MUST_USE
enum weir_err root_open(struct root *root, const char *path, bool walks_paths, struct stats *stats);

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
