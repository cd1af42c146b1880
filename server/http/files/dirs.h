/*
 * Directories below the root that files were opened from, the kernel's word on what changes in
 * them, and which names in them need a closer look.
 *
 *     known ──▶ watched, and all above it ──▶ scanned: names that are special are known
 *       ▲               │ it, or one above it, was moved, deleted or made inaccessible,
 *       └───────────────┘ or events were lost: what was seen below it must be looked at again
 *
 * Only one is watched whose path has no symbolic link, on a local file system, and a bounded number
 * of those used last.  A watch is there before anything is looked at that it is to vouch for.
 *
 * What no event tells of: a store into a shared map, something mounted over a directory, a change
 * by another hard link.  Files with more links than one are not vouched for; for the rest there is
 * LIMIT_CACHE_WATCHED_MS.
 *
 * Invariant: all directories above a watched one are watched.
 * Thread:    one worker.
 */
#ifndef FILES_DIRS_H
#define FILES_DIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "dir_scan.h"
#include "name_filter.h"
#include "ring.h"
#include "watcher.h"
#include "weir/err.h"
#include "weir/str.h"

struct clock;
struct file_env;

/* of no directory at any time */
#define DIR_TICKET_NONE 0

/* Its memory stays as long as that of all: what refers to it need not be told when it is dropped.
 */
struct dir {
    struct dir *next_by_path;  /* in the same bucket; of one that is free: the next free one */
    struct dir *next_by_watch; /* the same */
    struct ring_node node;
    uint64_t hash;      /* of the path */
    uint64_t ticket;    /* another one each time that what was seen below it may have changed */
    uint64_t failed_ms; /* when watching it failed last; 0: never */
    struct dir *parent; /* of one that is watched, unless it is the root */
    unsigned children;  /* that are watched */
    unsigned opens;     /* of files in it, while it was not scanned */
    unsigned arrivals;  /* of names, since it was scanned */
    int watch;          /* -1: it is not watched */
    int fd;             /* Own: of one that is watched; -1: there are enough of them */
    bool is_scanned;    /* special has all names that are */
    struct name_filter special; /* names that may be no regular file, or a compressed sibling */
    uint16_t path_len;
    char *path; /* Own: as a request has it, without the slash at the end; a NUL follows */
};

/* Told of a change at a name in a directory; is_new: there may be something else than before. */
typedef void dirs_changed_fn(void *ctx, const struct dir *dir, struct weir_str name, bool is_new);

struct dirs {
    const struct file_env *env; /* Borrowed */
    const struct clock *clock;  /* Borrowed */
    dirs_changed_fn *changed;
    void *ctx;
    struct watcher watcher;
    struct dir **by_path;  /* Own: chains by hash */
    struct dir **by_watch; /* Own: chains by number */
    struct ring ring;
    size_t fds;           /* of directories: those that are open, */
    size_t fds_max;       /* and how many may be */
    struct dir *free;     /* those dropped, for use again */
    uint64_t last_ticket; /* that was given out */
    uint64_t seed;        /* of the hash of paths */
    uint64_t read_ms;     /* when events were last read */
    bool is_scanning;
};

/* Borrowed: env, clock, ctx.  Own: dirs_deinit().  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err dirs_init(struct dirs *d, const struct file_env *env, const struct clock *clock,
                        uint64_t seed, dirs_changed_fn *changed, void *ctx);

/* Legal on one that failed, or is zeroed. */
void dirs_deinit(struct dirs *d);

/* Hear what has changed; once in a millisecond is enough. */
void dirs_hear(struct dirs *d);

/*
 * The directory that a file at `path` lies in, watched from now on; NULL: it cannot be.
 * Borrowed: for the life of d.
 */
struct dir *dirs_watch(struct dirs *d, struct weir_str path);

/*
 * The directory at a path without a slash at its end, known from now on, though not at the cost of
 * `spare`, which may be NULL.  NULL: no memory.
 * Borrowed: for the life of d.
 */
struct dir *dirs_get(struct dirs *d, struct weir_str path, const struct dir *spare);

#endif
