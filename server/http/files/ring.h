/*
 * A bound on what is kept, and who makes room when it is reached: one that was not used since it
 * was last considered (second chance, which comes close to the least recently used at the price of
 * one store per use).
 *
 * Who comes when it is full is a guest, mostly: the next to go, unless it is used before.  One in
 * RING_GUESTS stays.  So a crawler that asks for everything once, or a working set that is larger
 * than the bound, drives out little of what is in demand; with a queue of all, a set that is asked
 * for in turn would never be found here.  (Qureshi et al., Adaptive Insertion Policies, 2007.)
 */
#ifndef FILES_RING_H
#define FILES_RING_H

#include <stdbool.h>
#include <stddef.h>

/* Embedded in what is kept. */
struct ring_node {
    struct ring_node *next; /* younger; the youngest leads to the oldest */
    struct ring_node *prev;
    size_t cost;  /* what it counts for */
    bool is_used; /* since it was last considered */
};

/* Of so many newcomers one stays. */
#define RING_GUESTS 32

/* Zeroed but for max, it is empty. */
struct ring {
    struct ring_node *oldest; /* considered next; NULL when empty */
    size_t cost;              /* of all nodes */
    size_t max;               /* that it should not exceed */
    unsigned guests;          /* that have come, modulo RING_GUESTS */
};

/* Add as the youngest. */
void ring_add(struct ring *r, struct ring_node *n, size_t cost);

/* True if one of that cost finds no room. */
static inline bool ring_is_full(const struct ring *r, size_t cost)
{
    return r->cost + cost > r->max;
}

/* Add a newcomer for whom room had to be made: mostly as a guest. */
void ring_add_guest(struct ring *r, struct ring_node *n, size_t cost);

void ring_remove(struct ring *r, struct ring_node *n);

/* The node to be dropped next, other than `spare`; NULL if there is none. */
struct ring_node *ring_pick(struct ring *r, const struct ring_node *spare);

#endif
