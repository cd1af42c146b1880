/*
 * Items of one size, cut from spans of an arena.  Taking and giving back is a push and a pop of a
 * free list; fresh spans are cut as items are needed, so untouched memory stays untouched.
 *
 * Under AddressSanitizer items that are not taken are poisoned: use after give is reported.
 * Thread: one worker.
 */
#ifndef CORE_POOL_H
#define CORE_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

#define POOL_ALIGN 16           /* of each item, at least; 64 if item_len is a multiple of 64 */
#define POOL_SPAN_HEADER_LEN 64 /* bytes at the start of each span that tell whose it is */
#define POOL_ITEM_MAX (ARENA_SPAN_LEN - POOL_SPAN_HEADER_LEN)

struct pool {
    struct arena *arena;    /* Borrowed */
    size_t item_len;        /* bytes of an item, a multiple of POOL_ALIGN */
    struct pool_item *free; /* items that came back */
    uint8_t *cut;           /* next never used item of the newest span */
    size_t cut_left;        /* items from cut on */
    size_t free_count;      /* items on the free list */
    size_t live;            /* items taken and not given back */
};

/* item_len: 1..POOL_ITEM_MAX, rounded up to POOL_ALIGN. */
void pool_init(struct pool *p, struct arena *arena, size_t item_len);

/* An item with undefined content, or NULL when the arena is used up.  Own: pool_give(). */
void *pool_take(struct pool *p);

/* Give back an item of any pool.  NULL is fine. */
void pool_give(void *item);

/* The pool that an item belongs to.  Borrowed. */
struct pool *pool_of(const void *item);

/* How many more items can be taken for certain, if nobody else takes spans. */
size_t pool_left(const struct pool *p);

#endif
