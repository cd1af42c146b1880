/*
 * nghttp2's memory comes from the worker's pools: no malloc after warm-up, and a connection that
 * finds them empty fails alone.
 *
 * Why the reserve: a queue of nghttp2 1.52 that cannot grow leaves its new entry attached to a
 * stream and frees it, and nghttp2_session_del() frees it again.  So that growth never fails: it
 * falls back on memory that was set aside, once, and the connection ends before the next one.
 */
#ifndef H2_MEMORY_H
#define H2_MEMORY_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "weir/err.h"

struct mem;

struct h2_memory {
    nghttp2_mem ng; /* the functions nghttp2 calls; it may keep a pointer to this */
    struct mem *mem;
    void *reserve; /* NULL when it has been used */
    bool is_spent; /* growth fell back on the reserve: end the connection with WEIR_NOMEM */
};

/* Life: mem outlives all that nghttp2 takes, m outlives the session.  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err h2_memory_init(struct h2_memory *m, struct mem *mem);

/* Legal on a zeroed struct. */
void h2_memory_deinit(struct h2_memory *m);

#endif
