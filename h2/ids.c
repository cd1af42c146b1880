/* See ids.h. */
#include "ids.h"

#include "internal/assert.h"
#include "mem.h"

/* The bit of an identifier that is higher than any before; IDS_SIGNALS or more: it has none. */
static uint32_t signal_bit(const struct ids *ids, uint32_t id)
{
    return (id - ids->highest - 1) / 2;
}

void ids_signal(struct ids *ids, uint32_t id)
{
    bool is_ahead = id > ids->highest && id % 2 == 1;
    if (is_ahead && signal_bit(ids, id) < IDS_SIGNALS)
        ids->signals |= (unsigned __int128)1 << signal_bit(ids, id);
}

bool ids_has_signal(const struct ids *ids, uint32_t id)
{
    if (ids->signals == 0 || signal_bit(ids, id) >= IDS_SIGNALS)
        return false;
    return (ids->signals >> signal_bit(ids, id) & 1) != 0;
}

void ids_open(struct ids *ids, uint32_t id)
{
    WEIR_ASSERT(id > ids->highest);
    uint32_t steps = (id - ids->highest + 1) / 2; /* from none to 1 is one step */
    ids->used = steps < IDS_WINDOW ? ids->used << steps : 0;
    ids->used |= 1;
    ids->signals = steps < IDS_SIGNALS ? ids->signals >> steps : 0;
    ids->highest = id;
}

enum weir_err ids_reset(struct ids *ids, struct mem *mem, uint32_t id)
{
    if (ids->resets == NULL) {
        ids->resets = mem_take_zeroed(mem, IDS_RESETS * sizeof(*ids->resets));
        if (ids->resets == NULL)
            return WEIR_NOMEM;
    }
    ids->resets[ids->reset_next++ % IDS_RESETS] = id;
    return WEIR_OK;
}

void ids_deinit(struct ids *ids)
{
    mem_give(ids->resets);
    ids->resets = NULL;
}

enum ids_state ids_state(const struct ids *ids, uint32_t id)
{
    if (id > ids->highest)
        return IDS_NEW;
    for (uint32_t i = 0; ids->resets != NULL && i < IDS_RESETS; i++) {
        if (ids->resets[i] == id)
            return IDS_RESET;
    }
    uint32_t back = (ids->highest - id) / 2;
    bool unused = back < IDS_WINDOW && (ids->used & (uint64_t)1 << back) == 0;
    return unused ? IDS_UNUSED : IDS_CLOSED;
}
