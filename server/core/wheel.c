/*
 * See wheel.h.  Level l has slots of 64^l ms.  A timer lies in the lowest level whose current
 * round reaches its due time; when the lower levels wrap, the next slot of the level above is
 * spread over them (cascade).  Rings are circular and doubly linked, with the slot as head.
 */
#include "wheel.h"

#include <stddef.h>

#include "internal/assert.h"

#define SLOT_BITS 6
#define SLOT_MASK (WHEEL_SLOTS - 1U)
#define BIT(n) ((uint64_t)1 << (n))

/* The slot of a level that a time points to. */
static unsigned slot_at(uint64_t ms, unsigned level)
{
    return (unsigned)(ms >> (level * SLOT_BITS)) & SLOT_MASK;
}

static void ring_init(struct timer *head)
{
    head->next = head;
    head->prev = head;
}

static bool ring_is_empty(const struct timer *head)
{
    return head->next == head;
}

static void ring_append(struct timer *head, struct timer *t)
{
    t->prev = head->prev;
    t->next = head;
    head->prev->next = t;
    head->prev = t;
}

static void ring_remove(struct timer *t)
{
    t->prev->next = t->next;
    t->next->prev = t->prev;
    t->next = NULL;
    t->prev = NULL;
}

/* Move all of `from` to the empty ring `to`. */
static void ring_move(struct timer *from, struct timer *to)
{
    ring_init(to);
    if (ring_is_empty(from))
        return;
    *to = *from;
    to->next->prev = to;
    to->prev->next = to;
    ring_init(from);
}

void wheel_init(struct wheel *w, uint64_t now_ms)
{
    *w = (struct wheel){.now_ms = now_ms};
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        for (unsigned slot = 0; slot < WHEEL_SLOTS; slot++)
            ring_init(&w->slots[level][slot]);
    }
    ring_init(&w->far);
}

/* Put an unlinked timer where its due time belongs.  due_ms >= now_ms. */
static void wheel_place(struct wheel *w, struct timer *t)
{
    /* The level is that of the highest group of bits in which due and now differ. */
    uint64_t differs = t->due_ms ^ w->now_ms;
    unsigned level = differs == 0 ? 0 : (63U - (unsigned)__builtin_clzll(differs)) / SLOT_BITS;
    if (level >= WHEEL_LEVELS) {
        ring_append(&w->far, t);
        return;
    }
    unsigned slot = slot_at(t->due_ms, level);
    ring_append(&w->slots[level][slot], t);
    w->occupied[level] |= BIT(slot);
}

void wheel_arm(struct wheel *w, struct timer *t, uint64_t due_ms)
{
    WEIR_ASSERT(t->fn != NULL);
    wheel_disarm(w, t);
    /* The tick of now_ms has fired already. */
    t->due_ms = due_ms > w->now_ms ? due_ms : w->now_ms + 1;
    wheel_place(w, t);
}

void wheel_disarm(struct wheel *w, struct timer *t)
{
    (void)w; /* the mark of a slot that becomes empty is cleared when time gets there */
    if (timer_is_armed(t))
        ring_remove(t);
}

/* Spread a ring over the levels below, now that now_ms has reached its slot. */
static void wheel_cascade(struct wheel *w, struct timer *head)
{
    struct timer ring;
    ring_move(head, &ring);
    while (!ring_is_empty(&ring)) {
        struct timer *t = ring.next;
        ring_remove(t);
        wheel_place(w, t);
    }
}

/*
 * now_ms has reached a multiple of 64.  From the top, so that what falls out of one level can fall
 * on through the next.
 */
static void wheel_turn_over(struct wheel *w)
{
    unsigned top = 1;
    while (top < WHEEL_LEVELS && slot_at(w->now_ms, top - 1) == 0)
        top++;
    if (top == WHEEL_LEVELS && slot_at(w->now_ms, WHEEL_LEVELS - 1) == 0)
        wheel_cascade(w, &w->far);
    for (unsigned level = top; level-- > 1;) {
        unsigned slot = slot_at(w->now_ms, level);
        w->occupied[level] &= ~BIT(slot);
        wheel_cascade(w, &w->slots[level][slot]);
    }
}

static void wheel_fire(struct wheel *w)
{
    unsigned slot = slot_at(w->now_ms, 0);
    w->occupied[0] &= ~BIT(slot);
    struct timer due;
    ring_move(&w->slots[0][slot], &due);
    while (!ring_is_empty(&due)) {
        struct timer *t = due.next;
        ring_remove(t);
        t->fn(t);
    }
}

/* The first tick after now_ms at which a slot of this level comes up; WHEEL_NEVER for none. */
static uint64_t level_next_ms(const struct wheel *w, unsigned level)
{
    unsigned here = slot_at(w->now_ms, level);
    uint64_t ahead = here == SLOT_MASK ? 0 : w->occupied[level] & ~(BIT(here + 1) - 1);
    if (ahead == 0)
        return WHEEL_NEVER;
    unsigned shift = level * SLOT_BITS;
    uint64_t round = w->now_ms >> (shift + SLOT_BITS) << (shift + SLOT_BITS);
    return round | (uint64_t)__builtin_ctzll(ahead) << shift;
}

uint64_t wheel_next_ms(const struct wheel *w)
{
    /* Whatever lies in a level comes up before anything in the levels above. */
    for (unsigned level = 0; level < WHEEL_LEVELS; level++) {
        uint64_t next = level_next_ms(w, level);
        if (next != WHEEL_NEVER)
            return next;
    }
    if (ring_is_empty(&w->far))
        return WHEEL_NEVER;
    const unsigned all = WHEEL_LEVELS * SLOT_BITS;
    return ((w->now_ms >> all) + 1) << all;
}

void wheel_advance(struct wheel *w, uint64_t now_ms)
{
    while (w->now_ms < now_ms) {
        uint64_t next = wheel_next_ms(w);
        if (next > now_ms) {
            w->now_ms = now_ms; /* crosses no marked slot, so nothing has to come down */
            return;
        }
        w->now_ms = next;
        if (slot_at(next, 0) == 0)
            wheel_turn_over(w);
        wheel_fire(w);
    }
}
