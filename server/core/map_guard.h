/*
 * What keeps a file that shrinks from ending the process.
 *
 * Reading a page of a map that lies beyond the end of its file raises SIGBUS.  The handler lays a
 * page of zeros over it and marks the map's buf as poisoned, and the reader goes on.  Whoever has
 * read from a map asks weir_buf_is_poisoned() afterwards, and sends nothing of it then.
 *
 * Every thread has guards of its own: those of the maps that it alone reads.  A SIGBUS at any other
 * address is handled as if there were no guards.
 */
#ifndef CORE_MAP_GUARD_H
#define CORE_MAP_GUARD_H

#include "weir/buf.h"
#include "weir/err.h"

/* Embedded in the owner of a map, from mmap() to munmap(). */
struct map_guard {
    struct map_guard *next; /* of this thread */
    struct map_guard *prev;
    struct weir_buf *buf; /* Borrowed: base and cap are the map's */
};

/*
 * Handle SIGBUS from here on, in all threads.  Once per process, before threads start.
 * Err: WEIR_IO: the kernel refuses it.
 */
WEIR_MUST_USE
enum weir_err map_guard_install(void);

/* How many pages of the calling thread's maps have been lost so far. */
unsigned map_guard_losses(void);

/* Guard the map that buf is over.  Thread: the one that reads it. */
void map_guard_add(struct map_guard *g, struct weir_buf *buf);

/* Before munmap(), in the same thread. */
void map_guard_remove(struct map_guard *g);

#endif
