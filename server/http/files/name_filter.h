/*
 * A set of names that never forgets one, and may take others for members (a Bloom filter): it has a
 * fixed size, whatever a directory holds, and a wrong yes costs a question to the kernel.
 */
#ifndef FILES_NAME_FILTER_H
#define FILES_NAME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* of a hundred names, 1 % of the others are taken for members; of a thousand, 40 % */
#define NAME_FILTER_BITS 2048U

struct name_filter {
    uint64_t words[NAME_FILTER_BITS / 64];
};

/* The names' hashes are those of hash_path(): one half for each of two bits. */
static inline uint64_t *name_filter_word(struct name_filter *f, uint32_t half)
{
    return &f->words[half % NAME_FILTER_BITS / 64];
}

static inline void name_filter_add(struct name_filter *f, uint64_t hash)
{
    *name_filter_word(f, (uint32_t)hash) |= (uint64_t)1 << (uint32_t)hash % 64;
    *name_filter_word(f, (uint32_t)(hash >> 32)) |= (uint64_t)1 << (hash >> 32) % 64;
}

static inline bool name_filter_has(struct name_filter *f, uint64_t hash)
{
    return *name_filter_word(f, (uint32_t)hash) >> (uint32_t)hash % 64 & 1 &&
           *name_filter_word(f, (uint32_t)(hash >> 32)) >> (hash >> 32) % 64 & 1;
}

static inline void name_filter_merge(struct name_filter *f, const struct name_filter *more)
{
    for (unsigned i = 0; i < NAME_FILTER_BITS / 64; i++)
        f->words[i] |= more->words[i];
}

#endif
