/*
 * Timers of one worker: a hierarchical wheel with ticks of a millisecond.  Adding and removing
 * costs a few list operations, whatever the number of timers.
 *
 * Invariant: a timer never fires before it is due; it fires in the first wheel_advance() at or
 *            after that.
 * Thread:    one worker.
 */
#ifndef CORE_WHEEL_H
#define CORE_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#define WHEEL_LEVELS 4
#define WHEEL_SLOTS 64
#define WHEEL_NEVER UINT64_MAX

struct timer;
typedef void timer_fn(struct timer *t);

/* Embedded in its owner.  Zeroed means: not armed. */
struct timer {
    struct timer *next; /* in a slot's ring; NULL when not armed */
    struct timer *prev;
    uint64_t due_ms;
    timer_fn *fn;
};

struct wheel {
    uint64_t now_ms;                               /* everything due up to here has fired */
    uint64_t occupied[WHEEL_LEVELS];               /* bit per slot that holds a timer */
    struct timer slots[WHEEL_LEVELS][WHEEL_SLOTS]; /* heads of rings */
    struct timer far;                              /* ring of timers beyond the last level */
};

void wheel_init(struct wheel *w, uint64_t now_ms);

static inline bool timer_is_armed(const struct timer *t)
{
    return t->next != 0;
}

/* Arm, or move if armed.  t->fn must be set.  A due time that has passed fires at the next advance.
 */
void wheel_arm(struct wheel *w, struct timer *t, uint64_t due_ms);

/* Disarm; fine on a timer that is not armed. */
void wheel_disarm(struct wheel *w, struct timer *t);

/* Fire everything due at or before now_ms, in order of ticks.  A function may arm and disarm any.
 */
void wheel_advance(struct wheel *w, uint64_t now_ms);

/*
 * When wheel_advance() has something to do next: not later than the first due time, and WHEEL_NEVER
 * when nothing is armed.
 */
uint64_t wheel_next_ms(const struct wheel *w);

#endif
