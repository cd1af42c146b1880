/* Entity-tags. */
#include "cm.h"

#include <string.h>

#include "validator.h"

static void a_tag_depends_on_size_and_time_alone(void **state)
{
    (void)state;
    char a[ETAG_CAP];
    char b[ETAG_CAP];

    size_t a_len = etag_write(a, 1024, 1700000000123456789, 0);
    size_t b_len = etag_write(b, 1024, 1700000000123456789, 0);

    assert_int_equal(a_len, b_len);
    assert_string_equal(a, b);
    assert_int_equal(a_len, strlen(a));
    etag_write(b, 1025, 1700000000123456789, 0);
    assert_string_not_equal(a, b);
    etag_write(b, 1024, 1700000000123456788, 0);
    assert_string_not_equal(a, b);
}

/* Origins of one fleet may run different versions: a tag must not change with the program. */
static void a_tag_is_what_it_always_was(void **state)
{
    (void)state;
    char tag[ETAG_CAP];

    etag_write(tag, 1024, 1700000000123456789, 0);

    assert_string_equal(tag, "\"hsf4n=n.--e81001\"");
}

static void a_tag_is_a_strong_one_of_legal_characters(void **state)
{
    (void)state;
    struct rng r = rng_new("validator");
    for (int step = 0; step < 100000; step++) {
        char tag[ETAG_CAP];
        uint64_t size = rng_next(&r) >> rng_below(&r, 64);

        size_t len = etag_write(tag, size, rng_next(&r), 0);

        assert_in_range(len, 15, ETAG_CAP - 1);
        assert_true(tag[0] == '"' && tag[len - 1] == '"' && tag[len] == '\0');
        for (size_t i = 1; i + 1 < len; i++)
            assert_true(tag[i] > ' ' && tag[i] < 0x7f && tag[i] != '"');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tag_depends_on_size_and_time_alone),
        cmocka_unit_test(a_tag_is_what_it_always_was),
        cmocka_unit_test(a_tag_is_a_strong_one_of_legal_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
