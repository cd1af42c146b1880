/*
 * A list of objects that embed a link: a ring with a head, added to at either end.  A link that is
 * zeroed, or was removed, is in no list.
 * Thread: one worker.
 */
#ifndef CORE_LIST_H
#define CORE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next; /* first of the list, if this is its head */
    struct list *prev;
};

static inline void list_init(struct list *head)
{
    head->next = head;
    head->prev = head;
}

static inline bool list_is_linked(const struct list *link)
{
    return link->next != NULL;
}

static inline void list_append(struct list *head, struct list *link)
{
    link->prev = head->prev;
    link->next = head;
    head->prev->next = link;
    head->prev = link;
}

static inline void list_prepend(struct list *head, struct list *link)
{
    list_append(head->next, link); /* a ring has its end before any of its links */
}

/* Fine on a link that is in no list. */
static inline void list_remove(struct list *link)
{
    if (!list_is_linked(link))
        return;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    link->next = NULL;
    link->prev = NULL;
}

/* The first link, or NULL. */
static inline struct list *list_first(const struct list *head)
{
    return head->next == head ? NULL : head->next;
}

/* Move all of `from` to `to`, which is empty. */
static inline void list_move(struct list *from, struct list *to)
{
    list_init(to);
    struct list *first = list_first(from);
    if (first == NULL)
        return;
    *to = *from;
    to->next->prev = to;
    to->prev->next = to;
    list_init(from);
}

#endif
