/*
 * Large files are mapped in windows, and a window knows which of its pages are in memory.
 *
 *     file     | window 0        | window 1        | ...
 *     window   | chunk | chunk | chunk | ... |
 *
 * A chunk whose pages were seen in memory not long ago may be sent; else the kernel is asked, and
 * what is not there is fetched off the loop, while whoever needs it waits.
 *
 * How the kernel is asked: mincore() tells of 512 KiB in 1 us if the pages are in the page table
 * and in 10 us if not, but since Linux 5.2 it tells the truth only to who may write the file, and
 * says "in memory" to all others; cachestat() does not answer those at all.  For them the chunk is
 * read into a page of scratch memory with RWF_NOWAIT, which takes 20 us and stops where it would
 * have to wait.  So the answer is kept for LIMIT_RESIDENT_MS, and a chunk that is sent all the time
 * costs one question in that time: below a thousandth of what sending it costs.
 *
 * What is not covered: pages that go within that time, or between being handed out and being sent.
 *
 * Own:    who has a window holds a reference of its buf; so do slices, and the ring of windows that
 *         are kept mapped.  A window holds a reference of its file.
 * Thread: one worker.
 */
#ifndef FILES_WINDOW_H
#define FILES_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "map_guard.h"
#include "ring.h"
#include "waiter.h"
#include "weir/buf.h"

struct clock;
struct fetcher;
struct file;
struct mem;
struct page_fetch;
struct stats;

/* Bytes of a window: a multiple of what a page table can map at once. */
#define WINDOW_LEN ((uint64_t)4 * 1024 * 1024)
/* Bytes that are fetched, and known to be in memory or not, together.  A slice never crosses a
 * multiple of it. */
#define CHUNK_LEN ((uint64_t)512 * 1024)
#define WINDOW_CHUNKS (WINDOW_LEN / CHUNK_LEN)

/* The windows of a worker. */
struct windows {
    struct mem *mem; /* Borrowed, as all of these */
    const struct clock *clock;
    struct stats *stats;
    struct fetcher *fetcher; /* NULL: whatever is read is waited for */
    struct ring ring;        /* those that are kept mapped; its max is in bytes */
    size_t page_len;         /* bytes of a page, as mincore() counts them */
    uint64_t decoded_len;    /* bytes of files that were made (decode.h), mapped or not */
};

struct chunk {
    uint64_t seen_ms;         /* when its pages were last known to be in memory; 0: never */
    struct page_fetch *fetch; /* under way, or NULL */
};

struct window {
    struct weir_buf buf;
    struct map_guard guard;
    struct ring_node node;
    bool is_kept;            /* it is in the ring, which holds a reference */
    struct windows *windows; /* Borrowed */
    struct file *file;       /* Own: a reference */
    uint64_t index;          /* it begins at index * WINDOW_LEN */
    struct list of_file;     /* in the file's list */
    struct chunk chunks[WINDOW_CHUNKS];
};

/* What is known of a chunk. */
enum residency {
    RESIDENT, /* its pages are in memory */
    FETCHING, /* they are on their way */
    LOST,     /* they cannot be had: there is no memory to fetch them */
};

/*
 * The window of f with that index, mapped if need be.
 * Own: a reference of (*out)->buf.  Gives 0, or the status due.
 */
unsigned window_take(struct windows *ws, struct file *f, uint64_t index, struct window **out);

/* Find out, and begin to fetch what is not in memory. */
enum residency window_need(struct window *w, unsigned chunk);

/* Call a waiter when the chunk, which is FETCHING, is there, or with 500 if it cannot be had. */
void window_wait(struct window *w, unsigned chunk, struct waiter *waiter);

/* Keep no window of f any longer.  The caller holds a reference of f. */
void windows_forget(struct file *f);

/* Unmap the windows that nobody uses, for want of memory.  False: there is none. */
bool windows_evict(struct windows *ws);

static inline struct window *window_ref(struct window *w)
{
    weir_buf_ref(&w->buf);
    return w;
}

/* A NULL in *slot is fine. */
void window_unref(struct window **slot);

#endif
