/*
 * Streams that are over but for their bytes, which wait in the connection's gather list.  They
 * count as in flight until these have left (RFC 9113 10.5).
 *
 * Nothing else of them is needed, so nothing else is kept: the memory of a stream serves the next
 * one while the processor still has it at hand.
 */
#ifndef H2_DEPARTED_H
#define H2_DEPARTED_H

#include <stdint.h>

#include "internal/assert.h"
#include "internal/limits.h"

/* Zeroed means: none. */
struct departed {
    uint64_t ends[LIMIT_STREAMS]; /* session output offsets behind the last byte of each; a ring */
    uint32_t first;               /* of those that wait, in the order they were added */
    uint32_t count;
};

/* There are at most LIMIT_STREAMS in flight, whoever counts them. */
static inline void departed_add(struct departed *d, uint64_t end)
{
    WEIR_ASSERT(d->count < LIMIT_STREAMS);
    d->ends[(d->first + d->count++) % LIMIT_STREAMS] = end;
}

/*
 * Forget those whose bytes were sent, and say how many they were.  Ends come nearly in order: one
 * that waits behind a later one is forgotten a little late.
 */
static inline uint32_t departed_reap(struct departed *d, uint64_t sent)
{
    uint32_t n = 0;
    while (n < d->count && d->ends[(d->first + n) % LIMIT_STREAMS] <= sent)
        n++;
    d->first = (d->first + n) % LIMIT_STREAMS;
    d->count -= n;
    return n;
}

#endif
