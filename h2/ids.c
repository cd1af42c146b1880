/* See ids.h. */
#include "ids.h"

#include "internal/assert.h"

void ids_open(struct ids *ids, uint32_t id)
{
    WEIR_ASSERT(id > ids->highest);
    uint32_t steps = (id - ids->highest + 1) / 2; /* from none to 1 is one step */
    ids->used = steps < IDS_WINDOW ? ids->used << steps : 0;
    ids->used |= 1;
    ids->highest = id;
}

void ids_reset(struct ids *ids, uint32_t id)
{
    ids->resets[ids->reset_next++ % IDS_RESETS] = id;
}

enum ids_state ids_state(const struct ids *ids, uint32_t id)
{
    if (id > ids->highest)
        return IDS_NEW;
    for (uint32_t i = 0; i < IDS_RESETS; i++) {
        if (ids->resets[i] == id)
            return IDS_RESET;
    }
    uint32_t back = (ids->highest - id) / 2;
    bool unused = back < IDS_WINDOW && (ids->used & (uint64_t)1 << back) == 0;
    return unused ? IDS_UNUSED : IDS_CLOSED;
}
