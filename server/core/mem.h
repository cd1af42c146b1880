/*
 * A worker's memory: one arena, pools of every size class on it, and the blocks that bytes on
 * their way live in.  After warm-up the request path takes memory from here and nowhere else.
 *
 * Thread: the worker that made it.
 */
#ifndef CORE_MEM_H
#define CORE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "pool.h"
#include "weir/buf.h"

/*
 * Size classes: steps of 16 bytes up to 128, then eight steps per doubling up to 128 KiB, so that
 * at most an eighth of an item is wasted.
 */
#define MEM_CLASS_MAX ((size_t)128 * 1024)
#define MEM_CLASSES (8 + 10 * 8)

/* A block is a weir_buf followed by its bytes, in one pool item. */
#define BLOCK_HEADER_LEN 64
#define BLOCK_SMALL_CAP (4096 - BLOCK_HEADER_LEN)
/* One TLS record: 5 head, 16384 plaintext, 1 type, 16 tag (RFC 8446 5.2), rounded up to 64. */
#define BLOCK_LARGE_CAP 16448

enum block_size { BLOCK_SMALL, BLOCK_LARGE, BLOCK_SIZES };

/* Bytes that all who work with them share: an HTTP/2 frame and its head, rounded up. */
#define MEM_SCRATCH_LEN ((size_t)16384 + 64)

struct mem {
    struct arena arena;
    struct pool classes[MEM_CLASSES];
    struct pool blocks[BLOCK_SIZES];
    void *scratch; /* Own: shared by its users; NULL while there are none */
    size_t scratch_users;
};

/*
 * cap: bytes this worker may use at most.
 * Own: mem_free().  Err: WEIR_NOMEM, and *out is NULL.
 */
WEIR_MUST_USE
enum weir_err mem_new(size_t cap, struct mem **out);

/* Everything taken from it dies with it.  NULL is fine. */
void mem_free(struct mem *m);

/* `len` bytes, 1..MEM_CLASS_MAX, undefined content; NULL when there are none.  Own: mem_give(). */
void *mem_take(struct mem *m, size_t len);

/* The same, zeroed. */
void *mem_take_zeroed(struct mem *m, size_t len);

/* As realloc(): NULL, and ptr stays valid, when there is no memory. */
void *mem_resize(struct mem *m, void *ptr, size_t len);

/* Give back what mem_take() or mem_resize() gave.  NULL is fine. */
void mem_give(void *ptr);

/*
 * The MEM_SCRATCH_LEN bytes that are the same for all users of this memory; NULL when there are
 * none.  What is in them stays only until the user gives up control to others.
 * Own: a use of them; mem_scratch_unref().
 */
void *mem_scratch_ref(struct mem *m);
void mem_scratch_unref(struct mem *m);

/* An empty block with one reference, or NULL when there is none.  Own: weir_buf_unref(). */
struct weir_buf *block_take(struct mem *m, enum block_size size);

/*
 * True when so few large blocks are left that a worker must stop taking in bytes and connections
 * and live on what comes back.
 */
bool mem_is_low(const struct mem *m);

/* Items and blocks taken and not given back: 0 once every connection is closed. */
size_t mem_live(const struct mem *m);

/* Bytes of those, as the pools cut them. */
size_t mem_live_bytes(const struct mem *m);
size_t mem_blocks_live(const struct mem *m);

/* Log who holds the blocks that are live, in builds that know (WEIR_REF_TRACE). */
void mem_blocks_report(const struct mem *m);

#ifdef WEIR_REF_TRACE
#include "ref_trace.h"
#define block_take(m, size) ref_trace_take(block_take(m, size), REF_HERE)
#endif

#endif
