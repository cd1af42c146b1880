/* Heads that are kept: what they are made from tells them apart, and the date is always that of
 * now. */
#include "cm.h"

#include "clock.h"
#include "internal/limits.h"
#include "mem.h"
#include "ready_heads.h"
#include "weir/gather.h"

static struct mem *mem;
static struct ready_heads *heads;
static struct clock now;

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(mem_new((size_t)8 * 1024 * 1024, &mem), WEIR_OK);
    assert_int_equal(ready_heads_new(mem, &heads), WEIR_OK);
    clock_format_date(1796056917, now.date);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ready_heads_free(heads);
    assert_int_equal(mem_live(mem), 0);
    assert_int_equal(mem_blocks_live(mem), 0);
    mem_free(mem);
    return 0;
}

static void expect(const struct weir_response *resp, bool is_head, const char *want)
{
    struct weir_gather g;
    weir_gather_init(&g, mem);
    assert_int_equal(ready_heads_write(heads, &g, resp, is_head, &now), WEIR_OK);
    assert_int_equal(g.count, 1);
    assert_int_equal(g.len, strlen(want));
    assert_memory_equal(weir_gather_front(&g)->ptr, want, g.len);
    weir_gather_deinit(&g);
}

#define DATE "date: Mon, 30 Nov 2026 16:41:57 GMT\r\n\r\n"

static void the_date_is_that_of_now(void **state)
{
    (void)state;
    const struct weir_response resp = {.status = 200, .fields_id = 7};
    assert_false(ready_heads_has(heads, &resp, false));
    expect(&resp, false, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" DATE);
    assert_true(ready_heads_has(heads, &resp, false));
    clock_format_date(1796056918, now.date);
    expect(&resp, false,
           "HTTP/1.1 200 OK\r\ncontent-length: 0\r\ndate: Mon, 30 Nov 2026 16:41:58 GMT\r\n\r\n");
}

static void what_differs_is_not_the_same(void **state)
{
    (void)state;
    struct weir_response resp = {.status = 200, .fields_id = 7};
    for (int round = 0; round < 2; round++) {
        resp.status = 200;
        resp.body_len = 0;
        expect(&resp, false, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" DATE);
        expect(&resp, true, "HTTP/1.1 200 OK\r\n" DATE);
        resp.body_len = 5;
        expect(&resp, false, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n" DATE);
        resp.status = 404;
        expect(&resp, false, "HTTP/1.1 404 Not Found\r\ncontent-length: 5\r\n" DATE);
    }
}

static void lists_that_share_a_place_are_told_apart(void **state)
{
    (void)state;
    const struct weir_field fields[] = {{WEIR_STR("x"), WEIR_STR("1")}};
    const struct weir_response a = {.status = 200, .fields_id = 7};
    const struct weir_response b = {
        .status = 200, .fields = fields, .field_count = 1, .fields_id = 7 + LIMIT_READY_HEADS};
    for (int round = 0; round < 2; round++) {
        expect(&a, false, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" DATE);
        assert_false(ready_heads_has(heads, &b, false));
        expect(&b, false, "HTTP/1.1 200 OK\r\nx: 1\r\ncontent-length: 0\r\n" DATE);
        assert_false(ready_heads_has(heads, &a, false));
    }
}

static void a_list_without_a_name_is_not_kept(void **state)
{
    (void)state;
    const struct weir_response resp = {.status = 200};
    expect(&resp, false, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" DATE);
    assert_false(ready_heads_has(heads, &resp, false));
    assert_false(ready_heads_has(NULL, &resp, false));
}

/* A head that is longer than a block is written, and not kept. */
static void a_long_head_is_written_all_the_same(void **state)
{
    (void)state;
    static char value[6000];
    memset(value, 'x', sizeof(value));
    const struct weir_field fields[] = {{WEIR_STR("x"), {value, sizeof(value)}}};
    const struct weir_response resp = {
        .status = 200, .fields = fields, .field_count = 1, .fields_id = 9};
    for (int round = 0; round < 2; round++) {
        struct weir_gather g;
        weir_gather_init(&g, mem);
        assert_int_equal(ready_heads_write(heads, &g, &resp, false, &now), WEIR_OK);
        assert_true(g.len > sizeof(value));
        assert_false(ready_heads_has(heads, &resp, false));
        weir_gather_deinit(&g);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_date_is_that_of_now),
        TEST(what_differs_is_not_the_same),
        TEST(lists_that_share_a_place_are_told_apart),
        TEST(a_list_without_a_name_is_not_kept),
        TEST(a_long_head_is_written_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
