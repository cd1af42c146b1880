/*
 * Threads that wait for disks in the place of a loop.  They are started as fetches come and none
 * of them is free, up to LIMIT_HELPERS, and stay.
 *
 *     helper_start ──▶ queue ──▶ a thread: run ──▶ finished ──▶ io_wake ──▶ helper_deliver: done
 *
 * Fetches begin in the order in which they were started, and end in any.  Quick ones overtake the
 * others, which leave LIMIT_HELPERS_QUICK threads to them.
 * Thread: the loop's, all functions of this header; the rest is behind one lock.
 */
#ifndef IO_HELPER_H
#define IO_HELPER_H

#include <stdbool.h>

#include "internal/fetch.h"
#include "weir/err.h"

struct helper;
struct io;

/*
 * A back end that has been woken calls helper_deliver().
 * Borrowed: io, whose count of fetches is kept here.
 * Own:      helper_free().  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err helper_new(struct io *io, struct helper **out);

/* Carry out a fetch; see struct fetcher. */
void helper_start(struct helper *h, struct fetch *f);

/* Call done for each fetch that is over. */
void helper_deliver(struct helper *h);

/*
 * End the threads; fetches that are not over never complete.  False: a thread still waits for a
 * disk.  Then it is left to the end of the process, with h, io and the fetches: nothing of these
 * may be freed.  NULL is fine, and true.
 */
bool helper_free(struct helper *h);

#endif
