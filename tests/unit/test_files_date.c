/* HTTP dates in their three formats. */
#include "cm.h"

#include <string.h>

#include "clock.h"
#include "date.h"

#define NOW 1700000000 /* 2023 */
#define NONE INT64_MIN

static const struct {
    const char *text;
    int64_t want;
} rows[] = {
    {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
    {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
    {"Sun Nov  6 08:49:37 1994", 784111777},
    {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
    {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
    {"Sat, 01 Jan 0000 00:00:00 GMT", -62167219200},
    {"Wed, 01 Mar 0000 00:00:00 GMT", -62162035200},
    {"Thu, 29 Feb 2024 00:00:00 GMT", 1709164800},
    {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800},
    {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
    {"Monday, 01-Jan-73 00:00:00 GMT", 3250454400}, /* 50 years ahead: 2073 */
    {"Monday, 01-Jan-74 00:00:00 GMT", 126230400},  /* 51: 1974 */
    {"Wednesday, 01-Jan-20 00:00:00 GMT", 1577836800},
    {"Wed Jan 15 00:00:00 2020", 1579046400},
    /* the day of the week is not held against it */
    {"Mon, 06 Nov 1994 08:49:37 GMT", 784111777},
    {"", NONE},
    {"now", NONE},
    {"0", NONE},
    {"784111777", NONE},
    {"Sun, 06 Nov 1994 08:49:37", NONE},
    {"Sun, 06 Nov 1994 08:49:37 UTC", NONE},
    {"Sun, 06 Nov 1994 08:49:37 GMT ", NONE},
    {" Sun, 06 Nov 1994 08:49:37 GMT", NONE},
    {"Sun, 06 Nov 1994 08:49:37 +0000", NONE},
    {"Sun, 6 Nov 1994 08:49:37 GMT", NONE},
    {"Sun,06 Nov 1994 08:49:37 GMT", NONE},
    {"sun, 06 nov 1994 08:49:37 gmt", NONE},
    {"Sun, 06 Foo 1994 08:49:37 GMT", NONE},
    {"Foo, 06 Nov 1994 08:49:37 GMT", NONE},
    {"Sun, 31 Nov 1994 08:49:37 GMT", NONE},
    {"Sun, 00 Nov 1994 08:49:37 GMT", NONE},
    {"Wed, 29 Feb 2023 00:00:00 GMT", NONE},
    {"Thu, 29 Feb 1900 00:00:00 GMT", NONE},
    {"Sun, 06 Nov 1994 24:00:00 GMT", NONE},
    {"Sun, 06 Nov 1994 08:60:37 GMT", NONE},
    {"Sun, 06 Nov 1994 08:49:61 GMT", NONE},
    {"Sun, 06 Nov 94 08:49:37 GMT", NONE},
    {"Sunday, 06-Nov-1994 08:49:37 GMT", NONE},
    {"Sun, 06-Nov-94 08:49:37 GMT", NONE},
    {"Sun Nov 6 08:49:37 1994", NONE},
    {"Sun Nov  6 08:49:37 1994 GMT", NONE},
};

static void a_date_is_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t got = NONE;

        bool ok = date_parse((struct weir_str){rows[i].text, strlen(rows[i].text)}, NOW, &got);

        if (ok != (rows[i].want != NONE) || got != rows[i].want)
            fail_msg("%s: %lld", rows[i].text, (long long)got);
    }
}

static void what_the_clock_writes_is_read_back(void **state)
{
    (void)state;
    struct rng r = rng_new("date");
    for (int step = 0; step < 100000; step++) {
        char text[CLOCK_DATE_LEN + 1];
        int64_t want = (int64_t)(rng_next(&r) % 253402300800U);
        int64_t got = NONE;
        clock_format_date(want, text);

        assert_true(date_parse((struct weir_str){text, CLOCK_DATE_LEN}, NOW, &got));

        assert_int_equal(got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_date_is_read_or_refused),
        cmocka_unit_test(what_the_clock_writes_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
