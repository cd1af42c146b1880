/*
 * Sockets of a back end that wait to be worked on, oldest first.  A socket is in one queue at most.
 */
#ifndef IO_SOCK_QUEUE_H
#define IO_SOCK_QUEUE_H

#include <stddef.h>

#include "io.h"

/* In a socket's flags, above those of the back ends: it is linked by `next`. */
#define SOCK_IN_QUEUE (1U << 15)

/* Zeroed means: empty. */
struct sock_queue {
    struct io_sock *first;
    struct io_sock *last;
};

/* A socket that is in a queue already stays where it is. */
static inline void sock_queue_put(struct sock_queue *q, struct io_sock *s)
{
    if (s->flags & SOCK_IN_QUEUE)
        return;
    s->flags |= SOCK_IN_QUEUE;
    s->next = NULL;
    if (q->last == NULL)
        q->first = s;
    else
        q->last->next = s;
    q->last = s;
}

/* The oldest, or NULL. */
static inline struct io_sock *sock_queue_take(struct sock_queue *q)
{
    struct io_sock *s = q->first;
    if (s == NULL)
        return NULL;
    q->first = s->next;
    if (q->first == NULL)
        q->last = NULL;
    s->flags &= (uint16_t)~SOCK_IN_QUEUE;
    return s;
}

#endif
