/*
 * A bound on what is kept, and who makes room when it is reached: one that was not used since it
 * was last considered (second chance, which comes close to the least recently used at the price of
 * one store per use).
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

/* Zeroed but for max, it is empty. */
struct ring {
    struct ring_node *oldest; /* considered next; NULL when empty */
    size_t cost;              /* of all nodes */
    size_t max;               /* that it should not exceed */
};

/* Add as the youngest. */
void ring_add(struct ring *r, struct ring_node *n, size_t cost);

void ring_remove(struct ring *r, struct ring_node *n);

/* The node to be dropped next, other than `spare`; NULL if there is none. */
struct ring_node *ring_pick(struct ring *r, const struct ring_node *spare);

#endif
