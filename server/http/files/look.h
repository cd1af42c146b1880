/*
 * What lies at a path and beside it: all system calls of opening a resource, any of which may wait
 * for a disk.  They are made off the loop, or, as far as the kernel says that it need not wait, on
 * it.
 *
 *     look_open ──▶ found: a descriptor, or the bytes of a small file ──▶ resource_make
 *
 * What can wait nevertheless, on the loop: a look at an entry of a local disk that was opened from
 * it not long ago, but whose directory has left the memory since; and to begin to watch a
 * directory that files were just opened from.
 *
 * Thread: any; a look is used by one at a time.
 */
#ifndef FILES_LOOK_H
#define FILES_LOOK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "internal/limits.h"
#include "internal/stats.h"
#include "negotiate.h"
#include "root.h"

struct dir;

struct found {
    unsigned status;      /* 0, or why there is nothing, as root_open_file() says it */
    int fd;               /* Own, if status is 0; -1 for a small file, which has been read */
    struct stat st;       /* of what was opened, or looked at */
    const uint8_t *bytes; /* Borrowed: of a small file, st.st_size of them, all of one version */
    bool is_linked;       /* changes of it may come by other names than this */
    bool is_remote;       /* not on the local disk of the root: asking for it may wait */
    bool is_settled;      /* did not change just before it was opened */
    bool shows_pages;     /* the kernel tells us what of it is in memory */
};

/* What is known of a path beforehand. */
struct hint {
    unsigned siblings; /* those that may be there: bits, 1 << enum coding */
    bool is_regular;   /* it is a regular file, if anything: so it is read before it is looked at */
    const struct dir *dir; /* Borrowed: that is watched, and in which it is regular; or NULL */
    int dir_fd; /* Borrowed: of the directory of one that is regular, on the loop; or -1 */
};

#define HINT_ALL_SIBLINGS (1U << CODING_BR | 1U << CODING_ZSTD | 1U << CODING_GZIP)

struct look {
    struct root root; /* a copy, which counts system calls apart: */
    struct stats stats;
    struct found found[CODINGS];
    uint8_t bytes[CODINGS][LIMIT_SNAPSHOT_LEN];
};

/* Waits for disks if that is allowed. */
void look_init(struct look *l, const struct root *root);

/*
 * Open the file at a path, which begins with '/', and the siblings that count beside it.
 * False: `may_wait` is, and it would have to; then nothing is open.  Own: look_close().
 */
bool look_open(struct look *l, const char *path, struct hint hint, bool may_wait);

/* Look at them, without opening any. */
void look_stat(struct look *l, const char *path, struct hint hint);

/*
 * True if the directory tells of every change of what was seen, if it is watched.  After
 * look_open(): if the path leads there by no symbolic link.
 */
bool look_is_plain(const struct look *l);

/* True if look_stat() saw nothing at all. */
bool look_is_empty(const struct look *l);

/*
 * Take a descriptor, which passes to *found or is closed; is_regular as in a hint.  Gives 0 or a
 * status; ROOT_WAITS.
 */
unsigned look_adopt(const struct root *root, int fd, uint8_t *bytes, bool may_wait, bool is_regular,
                    struct found *found);

/* Close what nobody has taken. */
void look_close(struct look *l);

/* Add the system calls to those of `stats`.  Thread: that of stats. */
void look_count(struct look *l, struct stats *stats);

/* True if a sibling that looks like st is to be used beside the original, which may be NULL. */
bool sibling_counts(const struct stat *st, const struct timespec *original_mtime);

#endif
