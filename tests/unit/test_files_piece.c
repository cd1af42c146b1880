/* Small parts of a large file, as a client sees them. */
#include "files_fake.h"

#include "internal/limits.h"
#include "map_guard.h"
#include "window.h"

#define LARGE_LEN ((size_t)(2 * CHUNK_LEN + 12345))

static struct fake fake;
static char large[LARGE_LEN];

static int setup(void **state)
{
    (void)state;
    fake_init(&fake);
    struct rng r = rng_new("piece");
    for (size_t i = 0; i < LARGE_LEN; i++)
        large[i] = (char)rng_next(&r);
    fake_write(&fake, "large", large, LARGE_LEN);
    fake_open(&fake, (struct files_config){.server = WEIR_STR("weir")});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_deinit(&fake);
    return 0;
}

static const struct fake_answer *get_part(size_t first, size_t len)
{
    char value[80];
    snprintf(value, sizeof(value), "bytes=%zu-%zu", first, first + len - 1);
    fake_add_field(&fake, "range", value);
    return fake_get(&fake, "/large");
}

static void assert_part(size_t first, size_t len)
{
    const struct fake_answer *a = get_part(first, len);
    assert_int_equal(a->status, 206);
    assert_false(a->is_broken);
    assert_int_equal(a->body_read, len);
    assert_memory_equal(a->body, large + first, len);
}

static void a_part_that_is_asked_for_again_is_there(void **state)
{
    (void)state;
    assert_part(CHUNK_LEN + 77, LIMIT_PIECE_LEN);
    assert_part(CHUNK_LEN + 77, LIMIT_PIECE_LEN);
    struct stats before = fake.stats;
    size_t live = mem_live(fake.mem);

    for (int i = 0; i < 1000; i++)
        assert_part(CHUNK_LEN + 77, LIMIT_PIECE_LEN);

    assert_memory_equal(&before, &fake.stats, sizeof(before));
    assert_int_equal(mem_live(fake.mem), live);
}

static void every_part_is_itself(void **state)
{
    (void)state;
    struct rng r = rng_new("parts");
    for (int step = 0; step < 20000; step++) {
        size_t len = 1 + rng_below(&r, step % 2 == 0 ? 3 : LIMIT_PIECE_LEN + 100);
        size_t first = rng_below(&r, step % 3 == 0 ? 20 : LARGE_LEN - len);
        fake.read_max = step % 5 == 0 ? 1 + rng_below(&r, len) : LIMIT_PIECE_LEN;
        assert_part(first, len);
    }
    assert_true(mem_live(fake.mem) < LIMIT_PIECES + 200);
}

static void a_part_that_is_asked_for_once_is_not_copied(void **state)
{
    (void)state;
    assert_part(0, 1);
    size_t live = mem_live(fake.mem);

    for (size_t i = 1; i < 1000; i++)
        assert_part(i * 100, 5000);

    assert_int_equal(mem_live(fake.mem), live);
    assert_int_equal(fake.stats.calls.preadv2, 0);
}

static void a_part_in_two_chunks_comes_from_both(void **state)
{
    (void)state;
    assert_part(CHUNK_LEN - 1000, 3000);
    assert_int_equal(fake.answer.slices, 2);

    assert_part(CHUNK_LEN - 1000, 3000);
    assert_int_equal(fake.answer.slices, 1); /* a copy */
}

/* The tests below: what happens to the file just before its bytes are taken. */

static void edit(struct fake *f, uint64_t offset)
{
    (void)offset;
    large[1000]++;
    fake_write(f, "large", large, LARGE_LEN);
}

static void cut(struct fake *f, uint64_t offset)
{
    (void)offset;
    char path[512];
    fake_path(f, "large", path);
    assert_int_equal(truncate(path, 100), 0);
}

static void bytes_of_another_version_are_not_sent(void **state)
{
    (void)state;
    assert_part(1000, 500);
    fake.before_read = edit;
    assert_true(get_part(1000, 500)->is_broken);

    fake.before_read = NULL;
    assert_part(1000, 500);
}

static void bytes_that_are_gone_are_not_sent(void **state)
{
    (void)state;
    assert_int_equal(map_guard_install(), WEIR_OK); /* here: cmocka has handlers of its own */
    assert_part(LARGE_LEN - 5000, 5000);
    fake.before_read = cut;
    assert_true(get_part(LARGE_LEN - 5000, 5000)->is_broken);

    fake.before_read = NULL;
    assert_int_equal(get_part(LARGE_LEN - 5000, 5000)->status, 416);
}

static void a_new_version_has_new_parts(void **state)
{
    (void)state;
    assert_part(900, 500);
    assert_part(900, 500);

    fake.clock.now_ms++;
    edit(&fake, 0);

    assert_part(900, 500);
}

static void without_memory_parts_come_from_the_map(void **state)
{
    (void)state;
    struct weir_buf *taken[8192];
    size_t count = 0;
    assert_part(2000, 5000);
    while (!mem_is_low(fake.mem)) {
        assert_true(count < sizeof(taken) / sizeof(taken[0]));
        taken[count++] = block_take(fake.mem, BLOCK_LARGE);
    }
    size_t live = mem_live(fake.mem);

    assert_part(2000, 5000);

    assert_int_equal(mem_live(fake.mem), live);
    while (count > 0)
        weir_buf_unref(&taken[--count]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_part_that_is_asked_for_again_is_there, setup, teardown),
        cmocka_unit_test_setup_teardown(every_part_is_itself, setup, teardown),
        cmocka_unit_test_setup_teardown(a_part_that_is_asked_for_once_is_not_copied, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_part_in_two_chunks_comes_from_both, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_of_another_version_are_not_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_that_are_gone_are_not_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_version_has_new_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory_parts_come_from_the_map, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
