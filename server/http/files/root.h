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
    char *path;          /* Own: where it was when it was opened, absolute; NULL: nobody knows */
    bool walks_paths;    /* the kernel does not do it */
    bool is_local;       /* its file system waits for nothing but disks of this machine */
    dev_t dev;           /* of the directory */
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

/* Not a status: it would have to wait for a disk, or for another machine. */
#define ROOT_WAITS 100

/*
 * Open what lies at `path`, relative to the root and without dot segments, for reading.  It waits
 * for a disk at most, whatever is there, and not even for that unless it may.  Gives 0 and the
 * descriptor, or the status that says why not: 404, or 403, 500, 503 for what is there but cannot
 * be had; or ROOT_WAITS.
 */
unsigned root_open_file(const struct root *root, const char *path, bool may_wait, int *fd);

/* The same at a name in a directory below the root, without waiting. */
unsigned root_open_in(const struct root *root, int dir_fd, const char *name, int *fd);

/*
 * A directory on the root's own file system, which must be local, that has no link in its path and
 * is in memory; for nothing but to refer to it.  -1: it is not such a one, or cannot be had.
 */
int root_open_dir(const struct root *root, const char *path);

/* True if looking at a file of that device asks no other machine or process. */
bool root_is_local(const struct root *root, dev_t dev);

/* Close what root_open_file() gave; -1 is fine. */
void root_close_file(const struct root *root, int fd);

/* Look at a path without opening it.  Gives 0, or a status as above. */
unsigned root_stat(const struct root *root, const char *path, struct stat *st);

/* Look at a name in an open directory; at a link itself, not at what it leads to. */
unsigned root_look(const struct root *root, int dir_fd, const char *name, struct stat *st);

#endif
