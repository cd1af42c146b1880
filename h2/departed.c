/* See departed.h. */
#include "departed.h"

#include "mem.h"

/* Places at first: what a client that asks for a few things at a time needs. */
#define DEPARTED_CAP_MIN 8

void departed_deinit(struct departed *d)
{
    mem_give(d->ends);
    *d = (struct departed){0};
}

void departed_rest(struct departed *d)
{
    if (d->count == 0 && d->cap > DEPARTED_CAP_MIN)
        departed_deinit(d);
}

bool departed_grow(struct departed *d, struct mem *mem)
{
    uint32_t cap = d->cap == 0 ? DEPARTED_CAP_MIN : 2 * d->cap;
    uint64_t *ends = mem_take(mem, cap * sizeof(*ends));
    if (ends == NULL)
        return false;
    for (uint32_t i = 0; i < d->count; i++)
        ends[i] = d->ends[(d->first + i) & (d->cap - 1)];
    mem_give(d->ends);
    d->ends = ends;
    d->cap = cap;
    d->first = 0;
    return true;
}
