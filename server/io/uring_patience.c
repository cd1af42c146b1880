/* See uring_patience.h. */
#include "uring_patience.h"

/* waits that must reach the goal before it grows: a try in vain costs one of them its latency */
#define STREAK_TO_GROW 16
/* weight of what was before in the mean */
#define GAP_MEMORY 8
/* so that a pause is forgotten after some twenty waits */
#define GAP_MAX_NS 1000000

void uring_patience_init(struct uring_patience *p)
{
    *p = (struct uring_patience){.gap_ns = GAP_MAX_NS, .goal = 1};
}

unsigned uring_patience_begin(struct uring_patience *p, unsigned sends, size_t sockets)
{
    size_t max = sockets / URING_PATIENCE_SOCKETS;
    if (max > URING_PATIENCE_GOAL_MAX)
        max = URING_PATIENCE_GOAL_MAX;
    if (p->goal > max)
        p->goal = max > 0 ? (unsigned)max : 1;
    if (p->streak >= STREAK_TO_GROW && p->goal < max) {
        p->goal++;
        p->streak = 0;
    }
    p->is_patient = p->gap_ns < URING_PATIENCE_GAP_NS;
    return p->is_patient ? sends + p->goal : 1;
}

static void patience_learn_gap(struct uring_patience *p, uint64_t passed_ns, unsigned received)
{
    uint64_t gap_ns = received > 1 ? passed_ns / received : passed_ns;
    if (gap_ns > GAP_MAX_NS)
        gap_ns = GAP_MAX_NS;
    p->gap_ns = (p->gap_ns * (GAP_MEMORY - 1) + gap_ns) / GAP_MEMORY;
}

static void patience_learn_goal(struct uring_patience *p, unsigned received)
{
    if (received >= p->goal) {
        p->streak++;
        return;
    }
    p->goal = received > 0 ? received : 1;
    p->streak = 0;
}

void uring_patience_end(struct uring_patience *p, uint64_t now_ns, unsigned sends, unsigned ready)
{
    unsigned received = ready > sends ? ready - sends : 0;
    patience_learn_gap(p, now_ns - p->ended_ns, received);
    if (p->is_patient)
        patience_learn_goal(p, received);
    p->is_patient = false;
    p->ended_ns = now_ns;
}
