/*
 * Fetches that wait, oldest first: to be carried out, or to be delivered.  A fetch is in one queue
 * at most.
 */
#ifndef IO_FETCH_QUEUE_H
#define IO_FETCH_QUEUE_H

#include <stddef.h>

#include "io.h"

/* Zeroed means: empty. */
struct fetch_queue {
    struct fetch *first;
    struct fetch *last;
};

static inline void fetch_queue_put(struct fetch_queue *q, struct fetch *f)
{
    f->next = NULL;
    if (q->last == NULL)
        q->first = f;
    else
        q->last->next = f;
    q->last = f;
}

/* The oldest, or NULL. */
static inline struct fetch *fetch_queue_take(struct fetch_queue *q)
{
    struct fetch *f = q->first;
    if (f == NULL)
        return NULL;
    q->first = f->next;
    if (q->first == NULL)
        q->last = NULL;
    return f;
}

#endif
