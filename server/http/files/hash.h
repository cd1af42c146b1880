/*
 * The hash of a path, seeded so that a peer cannot aim at one bucket.
 */
#ifndef FILES_HASH_H
#define FILES_HASH_H

#include <stdint.h>
#include <string.h>

#include "weir/str.h"

/* Mix two words: the halves of their product. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_path(uint64_t seed, struct weir_str path)
{
    static const uint64_t odd = 0x9e3779b97f4a7c15U;
    uint64_t hash = seed ^ path.len;
    const char *p = path.ptr;
    size_t left = path.len;
    uint64_t word = 0;
    for (; left > 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = hash_fold(hash ^ word, odd);
    }
    if (path.len >= 8) {
        memcpy(&word, p + left - 8, 8); /* overlaps the word before: cheaper than a loop */
        return hash_fold(hash ^ word, odd ^ seed);
    }
    word = 0;
    for (size_t i = 0; i < left; i++)
        word = word << 8 | (unsigned char)p[i];
    return hash_fold(hash ^ word, odd ^ seed);
}

#endif
