/* See ring.h. */
#include "ring.h"

void ring_add(struct ring *r, struct ring_node *n, size_t cost)
{
    n->cost = cost;
    r->cost += cost;
    if (r->oldest == NULL) {
        n->next = n;
        n->prev = n;
        r->oldest = n;
        return;
    }
    n->next = r->oldest;
    n->prev = r->oldest->prev;
    n->prev->next = n;
    n->next->prev = n;
}

void ring_add_guest(struct ring *r, struct ring_node *n, size_t cost)
{
    ring_add(r, n, cost);
    r->guests = (r->guests + 1) % RING_GUESTS;
    if (r->guests != 0)
        r->oldest = n; /* before the oldest is behind the youngest */
}

void ring_remove(struct ring *r, struct ring_node *n)
{
    r->cost -= n->cost;
    if (r->oldest == n)
        r->oldest = n->next == n ? NULL : n->next;
    n->prev->next = n->next;
    n->next->prev = n->prev;
}

struct ring_node *ring_pick(struct ring *r, const struct ring_node *spare)
{
    if (r->oldest == NULL || (r->oldest == spare && r->oldest->next == spare))
        return NULL;
    while (r->oldest->is_used || r->oldest == spare) {
        r->oldest->is_used = false;
        r->oldest = r->oldest->next; /* it is the youngest now */
    }
    return r->oldest;
}
