/* A worker's memory: size classes, growing, blocks, and the cap. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "internal/limits.h"
#include "mem.h"

#define ITEMS 500

static struct mem *mem_make(size_t cap)
{
    struct mem *m;
    assert_int_equal(mem_new(cap, &m), WEIR_OK);
    return m;
}

static void every_length_gets_an_item_that_wastes_little(void **state)
{
    (void)state;
    struct mem *m = mem_make(ARENA_SPAN_LEN * (MEM_CLASSES + 1));
    size_t classes = 0;
    size_t before = 0;
    for (size_t len = 1; len <= MEM_CLASS_MAX; len++) {
        void *ptr = mem_take(m, len);
        assert_non_null(ptr);

        size_t item_len = pool_of(ptr)->item_len;
        assert_true(item_len >= len);
        if (len > 128)
            assert_true((item_len - len) * 8 <= item_len);
        else
            assert_true(item_len - len < 16);
        assert_true(item_len >= before);
        classes += item_len != before;
        before = item_len;
        mem_give(ptr);
    }
    assert_int_equal(classes, MEM_CLASSES);
    mem_free(m);
}

static void a_length_that_no_class_has_is_refused(void **state)
{
    (void)state;
    struct mem *m = mem_make(ARENA_SPAN_LEN * 2);

    assert_null(mem_take(m, 0));
    assert_null(mem_take(m, MEM_CLASS_MAX + 1));
    assert_null(mem_take(m, SIZE_MAX));
    assert_null(mem_take_zeroed(m, SIZE_MAX));
    void *ptr = mem_take(m, 10);
    assert_null(mem_resize(m, ptr, MEM_CLASS_MAX + 1));

    assert_int_equal(mem_live(m), 1); /* ptr stays valid */
    mem_give(ptr);
    mem_give(NULL);
    assert_int_equal(mem_live(m), 0);
    mem_free(m);
    mem_free(NULL);
}

static void zeroed_memory_is_zero_also_the_second_time(void **state)
{
    (void)state;
    struct mem *m = mem_make(ARENA_SPAN_LEN * 2);
    static const uint8_t zeros[1000];
    for (int i = 0; i < 3; i++) {
        uint8_t *ptr = mem_take_zeroed(m, sizeof(zeros));
        assert_memory_equal(ptr, zeros, sizeof(zeros));
        memset(ptr, 0xff, sizeof(zeros));
        mem_give(ptr);
    }
    mem_free(m);
}

static void a_block_has_one_reference_and_all_of_its_bytes(void **state)
{
    (void)state;
    static const size_t caps[BLOCK_SIZES] = {BLOCK_SMALL_CAP, BLOCK_LARGE_CAP};
    struct mem *m = mem_make(ARENA_SPAN_LEN * 4);
    for (enum block_size size = BLOCK_SMALL; size < BLOCK_SIZES; size++) {
        struct weir_buf *b = block_take(m, size);
        struct weir_buf *other = block_take(m, size);

        assert_int_equal(b->refs, 1);
        assert_int_equal(b->cap, caps[size]);
        assert_int_equal(b->origin, WEIR_ORIGIN_POOLED);
        assert_int_equal((uintptr_t)b->base % 64, 0);
        memset(b->base, 1, b->cap);
        memset(other->base, 2, other->cap);
        assert_int_equal(b->base[0], 1);
        assert_int_equal(b->base[b->cap - 1], 1);
        assert_int_equal(b->refs, 1); /* its bytes are not its header's */
        assert_int_equal(mem_blocks_live(m), 2);

        struct weir_buf *second = weir_buf_ref(b);
        weir_buf_unref(&b);
        assert_null(b);
        assert_int_equal(mem_blocks_live(m), 2);
        weir_buf_unref(&second);
        weir_buf_unref(&other);
        assert_int_equal(mem_blocks_live(m), 0);
        assert_int_equal(mem_live(m), 0);
    }
    mem_free(m);
}

static struct weir_buf *kept[256];
static size_t kept_count;

/* Take large blocks, at most `max`.  Gives how many there were. */
static size_t keep_blocks(struct mem *m, size_t max)
{
    size_t before = kept_count;
    while (kept_count - before < max) {
        struct weir_buf *b = block_take(m, BLOCK_LARGE);
        if (b == NULL)
            break;
        kept[kept_count++] = b;
    }
    return kept_count - before;
}

static void give_blocks(void)
{
    while (kept_count > 0)
        weir_buf_unref(&kept[--kept_count]);
}

static void memory_is_low_before_it_is_gone_and_recovers(void **state)
{
    (void)state;
    const size_t cap = ARENA_SPAN_LEN * 16;
    struct mem *m = mem_make(cap);
    assert_false(mem_is_low(m));

    size_t taken = 0;
    while (!mem_is_low(m))
        taken += keep_blocks(m, 1);
    size_t reserve = keep_blocks(m, SIZE_MAX);

    assert_true(reserve > 0 && reserve < LIMIT_BLOCK_RESERVE);
    assert_true((taken + reserve) * (BLOCK_HEADER_LEN + BLOCK_LARGE_CAP) <= cap);
    assert_int_equal(mem_blocks_live(m), taken + reserve);
    assert_null(mem_take(m, 1)); /* blocks have taken every span */

    give_blocks();
    assert_false(mem_is_low(m));
    assert_int_equal(mem_live(m), 0);
    assert_int_equal(keep_blocks(m, SIZE_MAX), taken + reserve);
    give_blocks();
    mem_free(m);
}

/* ---- the model: items whose bytes follow from a seed ---- */

struct model_item {
    uint8_t *ptr; /* NULL when not taken */
    size_t len;
    uint8_t seed;
};

static struct model_item items[ITEMS];

static uint8_t byte_at(uint8_t seed, size_t at)
{
    return (uint8_t)(seed + at * 7 + at / 251);
}

static void item_fill(struct model_item *item, uint8_t seed)
{
    item->seed = seed;
    for (size_t i = 0; i < item->len; i++)
        item->ptr[i] = byte_at(seed, i);
}

static void item_check(const struct model_item *item, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (item->ptr[i] != byte_at(item->seed, i))
            fail_msg("byte %zu of %zu was overwritten", i, item->len);
    }
}

/* Most are small. */
static size_t some_len(struct rng *r)
{
    return 1 + rng_below(r, (size_t)1 << (1 + rng_below(r, 17)));
}

static void item_resize(struct rng *r, struct mem *m, struct model_item *item, size_t *live)
{
    size_t len = some_len(r);
    uint8_t *ptr = mem_resize(m, item->ptr, len);
    if (ptr == NULL)
        return; /* the item is as it was, which is looked at when it is given back */
    *live += item->ptr == NULL;
    size_t same = item->ptr == NULL ? 0 : item->len < len ? item->len : len;
    item->ptr = ptr;
    item_check(item, same);
    item->len = len;
    item_fill(item, (uint8_t)rng_next(r));
}

static void random_operations_keep_every_byte(void **state)
{
    (void)state;
    struct rng r = rng_new("mem");
    struct mem *m = mem_make(ARENA_SPAN_LEN * 100); /* less than all of them may want */
    size_t live = 0;

    for (int step = 0; step < 10000; step++) {
        struct model_item *item = &items[rng_below(&r, ITEMS)];
        if (rng_below(&r, 3) == 0) {
            item_resize(&r, m, item, &live);
        } else if (item->ptr != NULL) {
            item_check(item, item->len);
            mem_give(item->ptr);
            item->ptr = NULL;
            live--;
        } else {
            size_t len = some_len(&r);
            item->ptr = mem_take(m, len);
            if (item->ptr != NULL) {
                item->len = len;
                item_fill(item, (uint8_t)rng_next(&r));
                live++;
            }
        }
        assert_int_equal(mem_live(m), live);
    }

    for (size_t i = 0; i < ITEMS; i++) {
        if (items[i].ptr != NULL)
            item_check(&items[i], items[i].len);
        mem_give(items[i].ptr);
        items[i].ptr = NULL;
    }
    assert_int_equal(mem_live(m), 0);
    mem_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_gets_an_item_that_wastes_little),
        cmocka_unit_test(a_length_that_no_class_has_is_refused),
        cmocka_unit_test(zeroed_memory_is_zero_also_the_second_time),
        cmocka_unit_test(a_block_has_one_reference_and_all_of_its_bytes),
        cmocka_unit_test(memory_is_low_before_it_is_gone_and_recovers),
        cmocka_unit_test(random_operations_keep_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
