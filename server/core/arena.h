/*
 * The address range that one worker's memory is cut from.
 *
 * One mapping of `cap` bytes, reserved but not committed, advised to use huge pages.  It is cut
 * into spans of ARENA_SPAN_LEN bytes, aligned to their length, so that any pointer leads to its
 * span by a mask.  Spans are handed out for good: pools reuse items, never spans.
 *
 * Made by the worker's own thread after it is pinned: the first touch places the pages.
 */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "weir/err.h"

#define ARENA_SPAN_LEN ((size_t)256 * 1024)
/* bytes before the first span that are of the mapping, too, but in no huge page: see uring_fixed.c
 */
#define ARENA_LEAD_LEN ((size_t)4096)

struct arena {
    uint8_t *base;     /* first span; aligned to ARENA_SPAN_LEN */
    size_t spans;      /* spans that fit under the cap */
    size_t spans_used; /* of those, handed out */
    uint8_t *map;      /* the mapping as mmap gave it */
    size_t map_len;
};

/* Err: WEIR_NOMEM: the range cannot be reserved. */
WEIR_MUST_USE
enum weir_err arena_init(struct arena *a, size_t cap);

/* Every pointer into the arena dies.  Legal on a zeroed struct. */
void arena_deinit(struct arena *a);

/* The next span, or NULL when the cap is reached. */
void *arena_span(struct arena *a);

#endif
