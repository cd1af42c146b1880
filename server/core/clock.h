/*
 * A worker's clock: read once per turn of its loop, so that everything in a turn agrees on the
 * time and a request costs no call for it.
 * Thread: the worker that owns it.
 */
#ifndef CORE_CLOCK_H
#define CORE_CLOCK_H

#include <stdint.h>

#define CLOCK_DATE_LEN 29 /* "Mon, 30 Nov 2026 16:21:57 GMT" */

struct clock {
    uint64_t now_ns;               /* monotonic */
    uint64_t now_ms;               /* monotonic, of the same instant */
    int64_t date_s;                /* wall clock second that date shows */
    char date[CLOCK_DATE_LEN + 1]; /* IMF-fixdate (RFC 9110 5.6.7); rewritten in place */
};

/* Read the time.  The date is formatted anew when its second has passed. */
void clock_tick(struct clock *c);

/* Write a time as IMF-fixdate, CLOCK_DATE_LEN bytes and a NUL. */
void clock_format_date(int64_t unix_s, char out[CLOCK_DATE_LEN + 1]);

#endif
