/* See pace.h. */
#include "pace.h"

#include "internal/limits.h"

void pace_begin(struct pace *p, uint64_t now_ms)
{
    p->moved_ms = now_ms;
    if (p->since_ms != 0)
        return;
    p->since_ms = now_ms;
    p->is_known = false;
}

void pace_rest(struct pace *p)
{
    p->since_ms = 0;
}

uint64_t pace_deadline(const struct pace *p)
{
    if (p->since_ms == 0)
        return PACE_NEVER;
    if (!p->is_known)
        return p->since_ms + LIMIT_PACE_LOOK_MS;
    uint64_t stall = p->moved_ms + LIMIT_WRITE_STALL_MS;
    uint64_t rate = p->since_ms + LIMIT_PROGRESS_MS;
    return stall < rate ? stall : rate;
}

static void pace_start_period(struct pace *p, uint64_t now_ms)
{
    p->since_ms = now_ms;
    p->at_start = p->acknowledged;
}

bool pace_look(struct pace *p, uint64_t now_ms, uint64_t acknowledged)
{
    if (now_ms < pace_deadline(p))
        return true;
    bool has_moved = acknowledged > p->acknowledged || !p->is_known;
    p->acknowledged = acknowledged;
    if (has_moved)
        p->moved_ms = now_ms;
    else if (now_ms >= p->moved_ms + LIMIT_WRITE_STALL_MS)
        return false;
    if (!p->is_known) {
        p->is_known = true;
        pace_start_period(p, now_ms);
        return true;
    }
    if (now_ms < p->since_ms + LIMIT_PROGRESS_MS)
        return true;
    bool is_fine = acknowledged - p->at_start >= LIMIT_PROGRESS_BYTES;
    pace_start_period(p, now_ms);
    return is_fine;
}
