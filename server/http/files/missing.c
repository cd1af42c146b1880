/* See missing.h. */
#include "missing.h"

#include <string.h>

void missing_add(struct missing *m, uint64_t hash, struct weir_str path, struct trust trust)
{
    if (path.len > MISSING_PATH_MAX)
        return;
    struct missing_slot *slot = &m->slots[hash % MISSING_SLOTS];
    slot->trust = trust;
    slot->path_len = (uint16_t)path.len;
    memcpy(slot->path, path.ptr, path.len);
}

bool missing_knows(const struct missing *m, uint64_t hash, struct weir_str path)
{
    const struct missing_slot *slot = &m->slots[hash % MISSING_SLOTS];
    return weir_str_eq((struct weir_str){slot->path, slot->path_len}, path);
}

bool missing_has(const struct missing *m, uint64_t hash, struct weir_str path, uint64_t now_ms)
{
    return missing_knows(m, hash, path) &&
           trust_holds(&m->slots[hash % MISSING_SLOTS].trust, now_ms);
}

void missing_remove(struct missing *m, uint64_t hash, struct weir_str path)
{
    if (missing_knows(m, hash, path))
        m->slots[hash % MISSING_SLOTS].path_len = 0;
}

void missing_remove_below(struct missing *m, struct weir_str path)
{
    for (size_t i = 0; i < MISSING_SLOTS; i++) {
        struct missing_slot *slot = &m->slots[i];
        if (slot->path_len > path.len && slot->path[path.len] == '/' &&
            memcmp(slot->path, path.ptr, path.len) == 0)
            slot->path_len = 0;
    }
}
