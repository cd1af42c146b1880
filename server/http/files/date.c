/*
 * See date.h.
 *
 *     Sun, 06 Nov 1994 08:49:37 GMT    IMF-fixdate
 *     Sunday, 06-Nov-94 08:49:37 GMT   RFC 850
 *     Sun Nov  6 08:49:37 1994         asctime()
 *
 * A format is a pattern; each of its letters reads one part.  The day of the week is read and not
 * held against the date.
 */
#include "date.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

struct date_parts {
    int year; /* as written */
    int month;
    int day;
    int hour;
    int minute;
    int second;
};

/* Step over one of the `count` names of three letters, or its index; -1 if it is none. */
static int name_read(struct weir_str *text, const char *names, int count)
{
    if (text->len < 3)
        return -1;
    for (int i = 0; i < count; i++) {
        if (memcmp(text->ptr, names + (ptrdiff_t)i * 3, 3) == 0) {
            text->ptr += 3;
            text->len -= 3;
            return i;
        }
    }
    return -1;
}

static bool digits_read(struct weir_str *text, size_t count, int *out)
{
    if (text->len < count)
        return false;
    int value = 0;
    for (size_t i = 0; i < count; i++) {
        char c = text->ptr[i];
        if (i == 0 && count == 2 && c == ' ')
            c = '0'; /* asctime() pads the day with a blank */
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    text->ptr += count;
    text->len -= count;
    *out = value;
    return true;
}

/* The rest of a long name of a day: "day" to "nesday". */
static bool letters_skip(struct weir_str *text)
{
    size_t n = 0;
    while (n < text->len && text->ptr[n] >= 'a' && text->ptr[n] <= 'z')
        n++;
    text->ptr += n;
    text->len -= n;
    return n >= 3 && n <= 6;
}

static bool part_read(struct weir_str *text, char what, struct date_parts *p)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    switch (what) {
    case 'W': return name_read(text, days, 7) >= 0;
    case 'L': return name_read(text, days, 7) >= 0 && letters_skip(text);
    case 'B': return (p->month = name_read(text, months, 12)) >= 0;
    case 'd': return digits_read(text, 2, &p->day);
    case 'Y': return digits_read(text, 4, &p->year);
    case 'y': return digits_read(text, 2, &p->year);
    case 'H': return digits_read(text, 2, &p->hour);
    case 'm': return digits_read(text, 2, &p->minute);
    case 's': return digits_read(text, 2, &p->second);
    default: break;
    }
    /* itself; "GMT" has letters of its own, none of which is a part */
    if (text->len == 0 || text->ptr[0] != what)
        return false;
    text->ptr++;
    text->len--;
    return true;
}

static bool pattern_read(struct weir_str text, const char *pattern, struct date_parts *p)
{
    for (; *pattern != '\0'; pattern++) {
        if (!part_read(&text, *pattern, p))
            return false;
    }
    return text.len == 0;
}

static bool parts_are_sane(const struct date_parts *p)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = p->year % 4 == 0 && (p->year % 100 != 0 || p->year % 400 == 0);
    int last = days[p->month] + (p->month == 1 && is_leap ? 1 : 0);
    return p->day >= 1 && p->day <= last && p->hour <= 23 && p->minute <= 59 && p->second <= 60;
}

/* The year of the two digits that is at most 50 years ahead (RFC 9110 5.6.7). */
static int year_complete(int two, int64_t now_s)
{
    time_t t = (time_t)now_s;
    struct tm now;
    if (gmtime_r(&t, &now) == NULL)
        return 1900 + two;
    int this_year = now.tm_year + 1900;
    int year = this_year - this_year % 100 + two;
    if (year > this_year + 50)
        return year - 100;
    return year + 100 <= this_year + 50 ? year + 100 : year;
}

/*
 * Days from 1970-01-01 to that of the Gregorian calendar.
 * Years are counted from March on, so that the day that a leap year has more is its last, and 153
 * days make five months; a cycle of 400 years is added, so that nothing is below zero.
 * Why not timegm(): it asks for the rules of time zones, and costs as much as half a response.
 */
static int64_t days_from_epoch(int year, int month, int day)
{
    const int cycle_days = 146097;
    const int epoch_days = 719468; /* from 0000-03-01 to 1970-01-01 */
    int y = (month < 2 ? year - 1 : year) + 400;
    int months = (month + 10) % 12;
    int leap_days = y / 4 - y / 100 + y / 400;
    return y * 365 + leap_days + (153 * months + 2) / 5 + day - 1 - epoch_days - cycle_days;
}

bool date_parse(struct weir_str text, int64_t now_s, int64_t *out)
{
    struct date_parts p = {0};
    if (pattern_read(text, "L, d-B-y H:m:s GMT", &p))
        p.year = year_complete(p.year, now_s);
    else if (!pattern_read(text, "W, d B Y H:m:s GMT", &p) &&
             !pattern_read(text, "W B d H:m:s Y", &p))
        return false;
    if (!parts_are_sane(&p))
        return false;
    *out =
        ((days_from_epoch(p.year, p.month, p.day) * 24 + p.hour) * 60 + p.minute) * 60 + p.second;
    return true;
}
