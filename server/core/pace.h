/*
 * Whether a peer takes what is sent to it: two clocks that run while something is due.
 *
 *     stall     LIMIT_WRITE_STALL_MS without a byte acknowledged
 *     rate      LIMIT_PROGRESS_MS with fewer than LIMIT_PROGRESS_BYTES acknowledged
 *
 * What the kernel takes says little of the peer: it takes much at once, and then nothing for as
 * long as a slow peer needs for that.  So at a deadline, and only then, the kernel is asked what is
 * acknowledged.  The first look, LIMIT_PACE_LOOK_MS after something became due, is what the others
 * are compared with.
 */
#ifndef CORE_PACE_H
#define CORE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed means: nothing is due. */
struct pace {
    uint64_t since_ms;     /* when the period began; 0: nothing is due */
    uint64_t moved_ms;     /* when bytes were last seen to move */
    uint64_t acknowledged; /* at the last look */
    uint64_t at_start;     /* acknowledged when the period began; once is_known */
    bool is_known;         /* there was a look in this run */
};

#define PACE_NEVER UINT64_MAX

/* Something is due; again and again is fine. */
void pace_begin(struct pace *p, uint64_t now_ms);

/* Nothing is due any more. */
void pace_rest(struct pace *p);

/* When pace_look() is due; PACE_NEVER while nothing is. */
uint64_t pace_deadline(const struct pace *p);

/* A deadline may have passed.  acknowledged: bytes, ever.  False: the peer is too slow. */
bool pace_look(struct pace *p, uint64_t now_ms, uint64_t acknowledged);

#endif
