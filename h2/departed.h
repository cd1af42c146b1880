/*
 * Streams that are over but for their bytes, which wait in the connection's gather list.  They
 * count as in flight until these have left (RFC 9113 10.5).
 *
 * Nothing else of them is needed, so nothing else is kept: the memory of a stream serves the next
 * one while the processor still has it at hand.  The list grows to what a connection needs: most
 * are content with its first size.
 */
#ifndef H2_DEPARTED_H
#define H2_DEPARTED_H

#include <stdbool.h>
#include <stdint.h>

struct mem;

/* Zeroed means: none. */
struct departed {
    uint64_t *ends; /* Own: session output offsets behind the last byte of each; a ring */
    uint32_t cap;   /* of ends, a power of two; 0 until the first */
    uint32_t first; /* of those that wait, in the order they were added */
    uint32_t count;
};

/* Legal on a zeroed struct. */
void departed_deinit(struct departed *d);

/* Give back what a burst has taken, if none is left of it. */
void departed_rest(struct departed *d);

/* Make room for more.  False: there is no memory. */
bool departed_grow(struct departed *d, struct mem *mem);

/* False: there is no memory, and the stream is not among them. */
static inline bool departed_try_add(struct departed *d, struct mem *mem, uint64_t end)
{
    if (d->count == d->cap && !departed_grow(d, mem))
        return false;
    d->ends[(d->first + d->count++) & (d->cap - 1)] = end;
    return true;
}

/*
 * Forget those whose bytes were sent, and say how many they were.  Ends come nearly in order: one
 * that waits behind a later one is forgotten a little late.
 */
static inline uint32_t departed_reap(struct departed *d, uint64_t sent)
{
    uint32_t n = 0;
    while (n < d->count && d->ends[(d->first + n) & (d->cap - 1)] <= sent)
        n++;
    d->first += n;
    d->count -= n;
    return n;
}

#endif
