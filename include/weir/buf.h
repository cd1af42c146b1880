/*
 * Reference-counted bytes and views of them.
 *
 * Invariant: refs >= 1 for as long as anyone can reach the buf.  Bytes that more than one slice
 *            refers to are never written again, so a slice stays true until it is dropped.
 * Thread:    a buf never leaves the worker that made it; refs is a plain integer.
 */
#ifndef WEIR_BUF_H
#define WEIR_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/err.h"

/* Where the bytes lie, for the accounting of body bytes (`--stats`). */
enum weir_origin {
    WEIR_ORIGIN_POOLED, /* built in a pool block, or constant data of the program */
    WEIR_ORIGIN_MAPPED, /* pages of a file map */
};

struct weir_buf {
    uint32_t refs;                       /* holders */
    enum weir_origin origin;             /* for accounting */
    bool poisoned;                       /* bytes were lost under a reader (a file map's SIGBUS) */
    uint8_t *base;                       /* first byte */
    size_t cap;                          /* bytes from base on */
    const struct weir_buf *whole;        /* what this is a window of; NULL: of nothing larger */
    void (*release)(struct weir_buf *b); /* called when refs falls to 0; takes the buf back */
};

/* What b is a part of, or b: all bytes of one file have it in common. */
static inline const struct weir_buf *weir_buf_whole(const struct weir_buf *b)
{
    return b->whole != NULL ? b->whole : b;
}

/* A run of bytes inside a buf.  Own: a slice that is stored holds one reference on its buf. */
struct weir_slice {
    struct weir_buf *buf;
    const uint8_t *ptr;
    size_t len;
};

static inline struct weir_buf *weir_buf_ref(struct weir_buf *b)
{
    b->refs++;
    return b;
}

/* Drop one reference and forget it.  A NULL in *slot is fine. */
static inline void weir_buf_unref(struct weir_buf **slot)
{
    struct weir_buf *b = *slot;
    *slot = NULL;
    if (b != NULL && --b->refs == 0)
        b->release(b);
}

/*
 * Were bytes of b lost while, or before, they were read?  Ask after reading: the mark is set by a
 * signal handler of the same thread.
 */
static inline bool weir_buf_is_poisoned(const struct weir_buf *b)
{
    return *(const volatile bool *)&b->poisoned;
}

/* A slice of `len` bytes at `ptr` inside b.  Own: the slice takes a reference of its own. */
static inline struct weir_slice weir_slice_of(struct weir_buf *b, const uint8_t *ptr, size_t len)
{
    return (struct weir_slice){weir_buf_ref(b), ptr, len};
}

static inline void weir_slice_drop(struct weir_slice *s)
{
    weir_buf_unref(&s->buf);
    *s = (struct weir_slice){0};
}

#endif
