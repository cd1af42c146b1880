/* Arenas and pools: what is taken never overlaps, is aligned, and comes back. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "poison.h"
#include "pool.h"

#define ITEMS 3000
#define LEN_OF(array) (sizeof(array) / sizeof((array)[0]))

static void an_arena_hands_out_aligned_spans_up_to_its_cap(void **state)
{
    (void)state;
    struct arena a;
    assert_int_equal(arena_init(&a, ARENA_SPAN_LEN * 5 + 1), WEIR_OK);

    uint8_t *before = NULL;
    for (int i = 0; i < 5; i++) {
        uint8_t *span = arena_span(&a);
        assert_non_null(span);
        assert_int_equal((uintptr_t)span % ARENA_SPAN_LEN, 0);
        if (before != NULL)
            assert_true(span >= before + ARENA_SPAN_LEN);
        span[0] = 1;
        span[ARENA_SPAN_LEN - 1] = 1; /* is there */
        before = span;
    }
    assert_null(arena_span(&a));

    arena_deinit(&a);
    arena_deinit(&a); /* legal on a zeroed struct */
}

static void a_pool_gives_exactly_what_fits_and_all_of_it_again(void **state)
{
    (void)state;
    static const size_t lens[] = {1, 16, 64, 1000, 4096, 16512, POOL_ITEM_MAX / 2, POOL_ITEM_MAX};
    static void *items[2 * ARENA_SPAN_LEN / POOL_ALIGN];
    for (size_t i = 0; i < LEN_OF(lens); i++) {
        struct arena a;
        assert_int_equal(arena_init(&a, ARENA_SPAN_LEN * 2), WEIR_OK);
        struct pool p;
        pool_init(&p, &a, lens[i]);
        size_t fit = pool_left(&p);
        assert_int_equal(fit, 2 * (POOL_ITEM_MAX / p.item_len));

        for (int round = 0; round < 2; round++) {
            for (size_t n = 0; n < fit; n++) {
                assert_int_equal(pool_left(&p), fit - n);
                items[n] = pool_take(&p);
                assert_non_null(items[n]);
            }
            assert_null(pool_take(&p));
            assert_int_equal(p.live, fit);
            for (size_t n = 0; n < fit; n++)
                pool_give(items[n]);
            assert_int_equal(p.live, 0);
        }
        arena_deinit(&a);
    }
}

static void a_null_item_may_be_given_back(void **state)
{
    (void)state;
    pool_give(NULL);
}

/* ---- the model: items that hold a pattern of their own ---- */

struct model_item {
    uint8_t *ptr; /* NULL when not taken */
    struct pool *pool;
    uint8_t pattern;
};

static struct model_item items[ITEMS];

static void item_take(struct model_item *m, struct pool *p, uint8_t pattern)
{
    size_t left = pool_left(p);
    uint8_t *ptr = pool_take(p);
    assert_int_equal(ptr == NULL, left == 0);
    if (ptr == NULL)
        return;
    assert_int_equal((uintptr_t)ptr % (p->item_len % 64 == 0 ? 64 : POOL_ALIGN), 0);
    assert_ptr_equal(pool_of(ptr), p);
    assert_ptr_equal(pool_of(ptr + p->item_len - 1), p);
    *m = (struct model_item){ptr, p, pattern};
    memset(ptr, pattern, p->item_len);
}

/* Nobody else has written to it. */
static void item_check(const struct model_item *m)
{
    assert_int_equal(m->ptr[0], m->pattern);
    assert_memory_equal(m->ptr, m->ptr + 1, m->pool->item_len - 1);
}

static void random_takes_and_gives_never_overlap(void **state)
{
    (void)state;
    struct rng r = rng_new("pool");
    static const size_t lens[] = {8, 48, 64, 336, 1536, 4096, 16512};
    struct arena a;
    assert_int_equal(arena_init(&a, ARENA_SPAN_LEN * 24), WEIR_OK);
    struct pool pools[LEN_OF(lens)];
    size_t live[LEN_OF(lens)] = {0};
    for (size_t i = 0; i < LEN_OF(lens); i++)
        pool_init(&pools[i], &a, lens[i]);

    for (int step = 0; step < 50000; step++) {
        struct model_item *m = &items[rng_below(&r, ITEMS)];
        if (m->ptr != NULL) {
            size_t pool = (size_t)(m->pool - pools);
            item_check(m);
            pool_give(m->ptr);
            m->ptr = NULL;
            live[pool]--;
            assert_int_equal(pools[pool].live, live[pool]);
        } else {
            size_t pool = rng_below(&r, LEN_OF(lens));
            item_take(m, &pools[pool], (uint8_t)rng_next(&r));
            live[pool] += m->ptr != NULL;
            assert_int_equal(pools[pool].live, live[pool]);
        }
    }

    for (size_t i = 0; i < ITEMS; i++) {
        if (items[i].ptr != NULL) {
            item_check(&items[i]);
            pool_give(items[i].ptr);
            items[i].ptr = NULL;
        }
    }
    for (size_t i = 0; i < LEN_OF(lens); i++)
        assert_int_equal(pools[i].live, 0);
    assert_true(a.spans_used <= a.spans);
    arena_deinit(&a);
}

#ifdef POISON_ASAN
static void an_item_is_poisoned_unless_it_is_taken(void **state)
{
    (void)state;
    struct arena a;
    assert_int_equal(arena_init(&a, ARENA_SPAN_LEN), WEIR_OK);
    struct pool p;
    pool_init(&p, &a, 128);

    uint8_t *item = pool_take(&p);
    assert_null(__asan_region_is_poisoned(item, 128));
    assert_true(__asan_address_is_poisoned(item + 128)); /* the next one */
    pool_give(item);

    assert_true(__asan_address_is_poisoned(item));
    assert_true(__asan_address_is_poisoned(item + 127));
    arena_deinit(&a);
}

static void an_arena_leaves_no_poison_at_its_addresses(void **state)
{
    (void)state;
    struct arena a;
    assert_int_equal(arena_init(&a, ARENA_SPAN_LEN), WEIR_OK);
    struct pool p;
    pool_init(&p, &a, 128);
    uint8_t *item = pool_take(&p);
    pool_give(item);

    arena_deinit(&a);

    assert_false(__asan_address_is_poisoned(item)); /* whatever is mapped there next is not ours */
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_hands_out_aligned_spans_up_to_its_cap),
        cmocka_unit_test(a_pool_gives_exactly_what_fits_and_all_of_it_again),
        cmocka_unit_test(a_null_item_may_be_given_back),
        cmocka_unit_test(random_takes_and_gives_never_overlap),
#ifdef POISON_ASAN
        cmocka_unit_test(an_item_is_poisoned_unless_it_is_taken),
        cmocka_unit_test(an_arena_leaves_no_poison_at_its_addresses),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
