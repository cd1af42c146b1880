/*
 * Who waits for something off the loop; embedded.
 */
#ifndef FILES_WAITER_H
#define FILES_WAITER_H

#include "internal/assert.h"
#include "list.h"

struct waiter {
    struct list link; /* list_remove() takes it back */
    /* It is over: 0, or the status that says how it failed.  The waiter is out of the list. */
    void (*wake)(struct waiter *w, unsigned status);
};

/* Call all waiters of a list, which may come and go meanwhile; new ones are not called. */
static inline void waiters_wake(struct list *head, unsigned status)
{
    struct list now;
    list_move(head, &now);
    struct list *link;
    while ((link = list_first(&now)) != NULL) {
        struct waiter *w = container_of(link, struct waiter, link);
        list_remove(link);
        w->wake(w, status);
    }
}

#endif
