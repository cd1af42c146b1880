/* See missing.h. */
#include "missing.h"

#include <string.h>

#include "internal/limits.h"

void missing_add(struct missing *m, uint64_t hash, struct weir_str path, uint64_t now_ms)
{
    if (path.len > MISSING_PATH_MAX)
        return;
    struct missing_slot *slot = &m->slots[hash % MISSING_SLOTS];
    slot->seen_ms = now_ms;
    slot->path_len = (uint16_t)path.len;
    memcpy(slot->path, path.ptr, path.len);
}

bool missing_has(const struct missing *m, uint64_t hash, struct weir_str path, uint64_t now_ms)
{
    const struct missing_slot *slot = &m->slots[hash % MISSING_SLOTS];
    return slot->seen_ms != 0 && now_ms - slot->seen_ms < LIMIT_CACHE_FRESH_MS &&
           weir_str_eq((struct weir_str){slot->path, slot->path_len}, path);
}
