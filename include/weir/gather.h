/*
 * A gather list: the bytes of an output, as a first-in first-out list of slices.
 *
 *     append ──▶ [9 B head][file page ...][9 B head][file page ...] ──▶ consume(n)
 *                                 │
 *                                 └─ export ──▶ struct iovec[] ──▶ sendmsg
 *
 * Three rules keep the list short: a slice that continues the last one is merged with it; a slice
 * below WEIR_GATHER_INLINE_MAX bytes is copied behind the last copied bytes (an iovec entry costs
 * more than such a copy); bytes that are appended without a buf are copied as well.
 *
 * Invariant: len is the sum of the slices' lengths; no slice is empty.
 * Own:       the list holds one reference per slice, from append until consume or deinit.
 * Thread:    one worker.
 */
#ifndef WEIR_GATHER_H
#define WEIR_GATHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "weir/buf.h"
#include "weir/err.h"

struct mem;

/* Slices shorter than this are copied.  Measured: see DESIGN 10, the break-even lies near here. */
#define WEIR_GATHER_INLINE_MAX 256

struct weir_gather {
    struct mem *mem; /* Borrowed: the worker's memory, where segments and blocks come from */
    struct gather_seg *first; /* oldest segment; NULL when empty */
    struct gather_seg *last;  /* newest segment */
    struct weir_buf *tail;    /* block that copied bytes go to; NULL until the first copy */
    size_t tail_used;         /* bytes of tail that some slice refers to */
    size_t len;               /* bytes in the list */
    size_t count;             /* slices in the list */
    uint64_t copied;          /* bytes ever copied by append, for accounting */
};

WEIR_PUBLIC void weir_gather_init(struct weir_gather *g, struct mem *mem);

/* Drop everything that is left.  Legal on a zeroed struct. */
WEIR_PUBLIC void weir_gather_deinit(struct weir_gather *g);

/*
 * Append a slice; an empty one is dropped.
 * Own: the list takes over the slice's reference, also when it fails.
 * Err: WEIR_NOMEM, and the list is as before.
 */
WEIR_MUST_USE
WEIR_PUBLIC enum weir_err weir_gather_append(struct weir_gather *g, struct weir_slice s);

/*
 * Append a copy of bytes, any number of them.
 * Err: WEIR_NOMEM, and part of the bytes may have been appended: the output is to be given up.
 */
WEIR_MUST_USE
WEIR_PUBLIC enum weir_err weir_gather_append_copy(struct weir_gather *g, const void *bytes,
                                                  size_t len);

/* Drop the first n bytes, n <= len. */
WEIR_PUBLIC void weir_gather_consume(struct weir_gather *g, size_t n);

/*
 * Move the first n bytes, n <= len, to the end of `to`.  No byte is copied.
 * Err: WEIR_NOMEM: both lists stay valid and no byte is lost, but only a part was moved.
 */
WEIR_MUST_USE
WEIR_PUBLIC enum weir_err weir_gather_split(struct weir_gather *g, size_t n,
                                            struct weir_gather *to);

/*
 * Write the first slices into iov, at most `max` entries and at most `max_len` bytes; the last
 * entry is cut to fit.  Gives the number of entries and, in *len, their bytes.
 * Life: the entries are true until the next consume, split or deinit.
 */
WEIR_PUBLIC size_t weir_gather_export(const struct weir_gather *g, struct iovec *iov, size_t max,
                                      size_t max_len, size_t *len);

/*
 * The same as slices, for readers that must know whose bytes they are.
 * Borrowed: they hold no references; true as long as the entries of an export.
 */
WEIR_PUBLIC size_t weir_gather_peek(const struct weir_gather *g, struct weir_slice *slices,
                                    size_t max, size_t max_len, size_t *len);

/*
 * Put `zeros` in the place of every slice that refers to `lost`, byte for byte; zeros->cap is at
 * least the longest of those.  Gives the number of bytes.
 */
WEIR_PUBLIC size_t weir_gather_replace(struct weir_gather *g, const struct weir_buf *lost,
                                       struct weir_buf *zeros);

/*
 * Drop the first slice that refers to `lost` and all that is behind it; nothing if there is none.
 * Without memory even less may be left, but always from the front on.
 */
WEIR_PUBLIC void weir_gather_cut(struct weir_gather *g, const struct weir_buf *lost);

/* The buf of the first slice whose bytes were lost, or NULL.  Borrowed. */
WEIR_PUBLIC struct weir_buf *weir_gather_find_poisoned(const struct weir_gather *g);

/* Read a byte of every page that a slice of a file map refers to, so that a guard sees what is
 * gone. */
WEIR_PUBLIC void weir_gather_touch(const struct weir_gather *g);

/* The oldest slice, or NULL.  Borrowed: true until the next call on g. */
WEIR_PUBLIC const struct weir_slice *weir_gather_front(const struct weir_gather *g);

#endif
