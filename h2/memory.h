/*
 * nghttp2's memory comes from the worker's pools: no malloc after warm-up, and a connection that
 * finds them empty fails alone.
 *
 * Why the reserve: a queue of nghttp2 1.52 that cannot grow leaves its new entry attached to a
 * stream and frees it, and nghttp2_session_del() frees it again.  So that growth never fails: it
 * falls back on memory that was set aside, once, and the connection ends before the next one.
 *
 * The frame buffer, more than half of what a session takes, is the same for all sessions of a
 * worker (mem_scratch_ref).  nghttp2 writes a frame there while output is pulled, and the next one
 * over it; only one that found no room is needed again.  That one is kept (h2_memory_hold) and put
 * back before the next pull, since others have pulled meanwhile.
 */
#ifndef H2_MEMORY_H
#define H2_MEMORY_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/err.h"

struct mem;

struct h2_memory {
    nghttp2_mem ng; /* the functions nghttp2 calls; it may keep a pointer to this */
    struct mem *mem;
    void *reserve;    /* NULL when it has been used */
    bool is_spent;    /* growth fell back on the reserve: end the connection with WEIR_NOMEM */
    bool is_opening;  /* the session is being made: a block as long as a frame is its buffer */
    void *frame;      /* that buffer: a use of the scratch; NULL if the session has its own */
    uint8_t *held;    /* Own: bytes of a frame that found no room; NULL for none */
    uint8_t *held_at; /* where they belong */
    size_t held_len;
};

/* Life: mem outlives all that nghttp2 takes, m outlives the session.  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err h2_memory_init(struct h2_memory *m, struct mem *mem);

/* The session is made. */
void h2_memory_opened(struct h2_memory *m);

/* Legal on a zeroed struct. */
void h2_memory_deinit(struct h2_memory *m);

/* The frame whose bytes lie there, in the frame buffer, has to wait.  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err h2_memory_hold(struct h2_memory *m, const uint8_t *bytes, size_t len);

/* Put back what waits, if anything: nghttp2 is about to go on. */
void h2_memory_restore(struct h2_memory *m);

#endif
