/* IMF-fixdate (RFC 9110 5.6.7) against a table and against a calendar that counts days. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "clock.h"

#define DAY_S 86400
#define LEN_OF(array) (sizeof(array) / sizeof((array)[0]))

static void known_times_are_written_as_known(void **state)
{
    (void)state;
    static const struct {
        int64_t unix_s;
        const char *date;
    } rows[] = {
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"}, /* RFC 9110 5.6.7 */
        {951782399, "Mon, 28 Feb 2000 23:59:59 GMT"},
        {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"}, /* 400 divides 2000 */
        {951868800, "Wed, 01 Mar 2000 00:00:00 GMT"},
        {1709164800, "Thu, 29 Feb 2024 00:00:00 GMT"},
        {1735689599, "Tue, 31 Dec 2024 23:59:59 GMT"},
        {2147483647, "Tue, 19 Jan 2038 03:14:07 GMT"},
        {2147483648, "Tue, 19 Jan 2038 03:14:08 GMT"},
        {4107542399, "Sun, 28 Feb 2100 23:59:59 GMT"}, /* 100 divides 2100 */
        {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"},
        {-1, "Wed, 31 Dec 1969 23:59:59 GMT"},
        {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
    };
    for (size_t i = 0; i < LEN_OF(rows); i++) {
        char date[CLOCK_DATE_LEN + 1];
        clock_format_date(rows[i].unix_s, date);
        assert_string_equal(date, rows[i].date);
    }
}

static void a_time_without_a_four_digit_year_becomes_the_epoch(void **state)
{
    (void)state;
    static const int64_t times[] = {253402300800, INT64_MAX, INT64_MIN, -62167219201};
    for (size_t i = 0; i < LEN_OF(times); i++) {
        char date[CLOCK_DATE_LEN + 1];
        clock_format_date(times[i], date);
        assert_string_equal(date, "Thu, 01 Jan 1970 00:00:00 GMT");
    }
}

/* ---- a calendar that knows how long a month is, and counts ---- */

struct day {
    int year;
    int month; /* 0 is January */
    int mday;  /* 1 is the first */
    int wday;  /* 0 is Sunday */
};

static int month_len(int year, int month)
{
    static const int lens[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 1 && leap ? 29 : lens[month];
}

static void day_next(struct day *d)
{
    d->wday = (d->wday + 1) % 7;
    if (++d->mday <= month_len(d->year, d->month))
        return;
    d->mday = 1;
    if (++d->month < 12)
        return;
    d->month = 0;
    d->year++;
}

static void every_day_of_a_thousand_years_agrees_with_a_calendar(void **state)
{
    (void)state;
    static const char *const wdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct rng r = rng_new("clock");
    struct day d = {.year = 1970, .month = 0, .mday = 1, .wday = 4};
    int64_t midnight = 0;
    while (d.year < 2970) {
        int second = (int)rng_below(&r, DAY_S);
        char expected[64];
        snprintf(expected, sizeof(expected), "%s, %02d %s %04d %02d:%02d:%02d GMT", wdays[d.wday],
                 d.mday, months[d.month], d.year, second / 3600, second / 60 % 60, second % 60);

        char date[CLOCK_DATE_LEN + 1];
        clock_format_date(midnight + second, date);

        assert_string_equal(date, expected);
        midnight += DAY_S;
        day_next(&d);
    }
}

static void a_tick_agrees_with_itself_and_never_goes_back(void **state)
{
    (void)state;
    struct clock c = {0};
    uint64_t before_ns = 0;
    time_t began = time(NULL);
    for (int i = 0; i < 1000; i++) {
        clock_tick(&c);

        assert_true(c.now_ns >= before_ns && c.now_ns > 0);
        assert_int_equal(c.now_ms, c.now_ns / 1000000);
        char date[CLOCK_DATE_LEN + 1];
        clock_format_date(c.date_s, date);
        assert_string_equal(c.date, date);
        before_ns = c.now_ns;
    }
    assert_true(c.date_s >= began - 1 && c.date_s <= time(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_times_are_written_as_known),
        cmocka_unit_test(a_time_without_a_four_digit_year_becomes_the_epoch),
        cmocka_unit_test(every_day_of_a_thousand_years_agrees_with_a_calendar),
        cmocka_unit_test(a_tick_agrees_with_itself_and_never_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
