/* See clock.h. */
#include "clock.h"

#include <string.h>
#include <time.h>

void clock_tick(struct clock *c)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    c->now_ns = (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
    c->now_ms = c->now_ns / 1000000U;

    /* The coarse clock lags by a tick at most, which a field of whole seconds does not show. */
    clock_gettime(CLOCK_REALTIME_COARSE, &ts);
    if (ts.tv_sec != c->date_s || c->date[0] == '\0') {
        c->date_s = ts.tv_sec;
        clock_format_date(c->date_s, c->date);
    }
}

/* Two digits, no terminator. */
static char *put2(char *p, unsigned v)
{
    p[0] = (char)('0' + v / 10 % 10);
    p[1] = (char)('0' + v % 10);
    return p + 2;
}

static char *put_text(char *p, const char *text, size_t len)
{
    memcpy(p, text, len);
    return p + len;
}

void clock_format_date(int64_t unix_s, char out[CLOCK_DATE_LEN + 1])
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm;
    time_t t = (time_t)unix_s;
    if (gmtime_r(&t, &tm) == NULL || tm.tm_year < -1900 || tm.tm_year > 9999 - 1900) {
        t = 0; /* the format has four digits for the year */
        gmtime_r(&t, &tm);
    }
    unsigned year = (unsigned)(tm.tm_year + 1900);
    char *p = put_text(out, days + (size_t)tm.tm_wday * 3, 3);
    p = put_text(p, ", ", 2);
    p = put2(p, (unsigned)tm.tm_mday);
    p = put_text(p, " ", 1);
    p = put_text(p, months + (size_t)tm.tm_mon * 3, 3);
    p = put_text(p, " ", 1);
    p = put2(p, year / 100);
    p = put2(p, year % 100);
    p = put_text(p, " ", 1);
    p = put2(p, (unsigned)tm.tm_hour);
    p = put_text(p, ":", 1);
    p = put2(p, (unsigned)tm.tm_min);
    p = put_text(p, ":", 1);
    p = put2(p, (unsigned)tm.tm_sec);
    p = put_text(p, " GMT", 4);
    *p = '\0';
}
