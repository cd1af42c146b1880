/* A buf that is left over is reported with the lines that took its references. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "capture.h"
#include "mem.h"
#include "ref_trace.h"

static struct mem *mem_make(void)
{
    struct mem *m;
    assert_int_equal(mem_new(ARENA_SPAN_LEN * 4, &m), WEIR_OK);
    return m;
}

/* The next line of the report is this one. */
static void assert_reported(unsigned taken, unsigned dropped, int line)
{
    char expected[PACKET_CAP];
    char got[PACKET_CAP + 1];
    snprintf(expected, sizeof(expected), "weir: error:   taken=%u dropped=%u at %s:%d\n", taken,
             dropped, __FILE__, line);
    packet_read(got);
    assert_string_equal(got, expected);
}

/* The report is at its end: what comes next is what the test itself writes. */
static void assert_report_ended(void)
{
    char got[PACKET_CAP + 1];
    assert_int_equal(write(STDERR_FILENO, "end", 3), 3);
    packet_read(got);
    assert_string_equal(got, "end");
}

static void every_site_is_reported_with_its_counts(void **state)
{
    (void)state;
    struct mem *m = mem_make();
    struct weir_buf *refs[3];

    struct weir_buf *b = block_take(m, BLOCK_SMALL);
    for (size_t i = 0; i < 3; i++)
        refs[i] = weir_buf_ref(b);
    struct weir_slice s = weir_slice_of(b, b->base, 10);
    for (size_t i = 0; i < 2; i++)
        weir_buf_unref(&refs[i]);
    int line = __LINE__;
    mem_blocks_report(m);

    char expected[PACKET_CAP];
    char got[PACKET_CAP + 1];
    snprintf(expected, sizeof(expected), "weir: error: still referenced: buf=%p refs=3\n",
             (void *)b);
    packet_read(got);
    assert_string_equal(got, expected);
    assert_reported(1, 0, line - 6);
    assert_reported(3, 0, line - 4);
    assert_reported(1, 0, line - 3);
    assert_reported(0, 2, line - 1);
    assert_report_ended();

    weir_slice_drop(&s);
    weir_buf_unref(&refs[2]);
    weir_buf_unref(&b);
    assert_int_equal(mem_blocks_live(m), 0);
    mem_free(m);
}

static void a_buf_that_was_given_back_is_not_reported(void **state)
{
    (void)state;
    struct mem *m = mem_make();

    struct weir_buf *b = block_take(m, BLOCK_LARGE);
    struct weir_slice s = weir_slice_of(b, b->base, 10);
    weir_buf_unref(&b);
    weir_slice_drop(&s);
    mem_blocks_report(m);

    assert_report_ended();
    mem_free(m);
}

static void only_blocks_of_this_memory_are_reported(void **state)
{
    (void)state;
    struct mem *m = mem_make();
    struct mem *other = mem_make();
    struct weir_buf *b = block_take(other, BLOCK_SMALL);

    mem_blocks_report(m);

    assert_report_ended();
    weir_buf_unref(&b);
    mem_free(other);
    mem_free(m);
}

static void memory_that_is_freed_takes_its_records_along(void **state)
{
    (void)state;
    struct mem *m = mem_make();
    struct weir_buf *left = block_take(m, BLOCK_SMALL);
    const void *base = m->arena.base;
    size_t len = m->arena.spans * ARENA_SPAN_LEN;
    assert_non_null(left);

    mem_free(m);
    ref_trace_report(base, len);

    assert_report_ended();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURED_TEST(every_site_is_reported_with_its_counts),
        CAPTURED_TEST(a_buf_that_was_given_back_is_not_reported),
        CAPTURED_TEST(only_blocks_of_this_memory_are_reported),
        CAPTURED_TEST(memory_that_is_freed_takes_its_records_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
