/*
 * nghttp2's memory comes from the worker's pools: no malloc after warm-up, and a connection that
 * finds them empty fails alone.
 */
#ifndef H2_MEMORY_H
#define H2_MEMORY_H

#include <nghttp2/nghttp2.h>

struct mem;

/* The functions nghttp2 calls, on `mem`.  Life: mem outlives every session made with it. */
nghttp2_mem h2_memory(struct mem *mem);

#endif
