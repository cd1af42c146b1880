/*
 * Work that may wait for a disk, and so is not done by the thread of a loop.
 *
 *     start(fetch) ──▶ run, in another thread ──▶ done, in the thread that started it
 *
 * Without a function of its own, a fetch makes pages of a file map resident.  What goes wrong is
 * its result, never a signal: a page that lies beyond the end of its file is -EFAULT, and so is
 * one that the disk does not give.
 */
#ifndef INTERNAL_FETCH_H
#define INTERNAL_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fetch {
    struct fetch *next; /* whoever carries it out: in its queue */
    /* Gives the result: 0 or more, or -errno.  NULL: see above.  Thread: any but the caller's. */
    int (*run)(struct fetch *f);
    void *addr; /* pages of a map of fd: the first, */
    size_t len; /* and how many bytes */
    int fd;     /* Borrowed: to read those bytes from where the kernel cannot be asked for pages */
    off_t offset;  /* of addr in fd */
    bool is_quick; /* it reads nothing: it need not wait behind those that do */
    int result;    /* whoever carries it out */
    /* Over: f is the caller's again, who may start it anew. */
    void (*done)(struct fetch *f, int result);
};

/* Somebody who carries fetches out. */
struct fetcher {
    /*
     * Borrowed: f and what it refers to, until done, which never comes from within this call.
     * There is no way to call a fetch back.
     */
    void (*start)(struct fetcher *fetcher, struct fetch *f);
};

#endif
