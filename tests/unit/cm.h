/* cmocka with the headers it wants before it, and the seed of randomised tests. */
#ifndef TESTS_CM_H
#define TESTS_CM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

/* A small generator (xorshift64*), so that a seed gives the same test on every machine. */
struct rng {
    uint64_t state;
};

/* Seeded from WEIR_SEED if that is set, else from the time; the seed is printed. */
static inline struct rng rng_new(const char *test)
{
    const char *given = getenv("WEIR_SEED"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("%s: WEIR_SEED=%llu\n", test, (unsigned long long)seed);
    return (struct rng){seed * 2654435769U + 88172645463325252U};
}

static inline uint64_t rng_next(struct rng *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * 2685821657736338717U;
}

/* 0..below-1 */
static inline size_t rng_below(struct rng *r, size_t below)
{
    return (size_t)(rng_next(r) % below);
}

#endif
