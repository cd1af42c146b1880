/* See internal/log.h.  A line is built on the stack and written by one call, so lines of several
 * threads never mix.  What does not fit is cut. */
#include "internal/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal/assert.h"

#define LOG_LINE_MAX 1024

static enum log_level log_level = LV_INFO;
static atomic_uint lines_lost; /* since the last line that was written */

void log_set_level(enum log_level level)
{
    log_level = level;
}

/*
 * Control characters become question marks: a peer's bytes in a line can neither begin a line of
 * their own nor move the cursor of who reads it.
 */
static void log_clean(char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line[i];
        if (c < 0x20 || c == 0x7f)
            line[i] = '?';
    }
}

/* A worker must not stop because somebody has stopped reading. */
static bool can_write(void)
{
    struct pollfd fd = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT) != 0;
}

/* Nothing sensible is left to do when standard error is gone. */
static void log_put(const char *line, size_t len)
{
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written;
}

static void log_tell_lost(void)
{
    char line[64];
    unsigned lost = atomic_exchange(&lines_lost, 0);
    if (lost > 0)
        log_put(line, (size_t)snprintf(line, sizeof(line), "weir: warn: lines lost=%u\n", lost));
}

__attribute__((format(printf, 3, 0))) static void log_write(enum log_level level, int err,
                                                            const char *format, va_list args)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    char line[LOG_LINE_MAX];
    char text[128];
    int n = snprintf(line, sizeof(line), "weir: %s: ", names[level]);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    if (err != 0 && (size_t)n < sizeof(line))
        n += snprintf(line + n, sizeof(line) - (size_t)n, ": %s",
                      strerror_r(err, text, sizeof(text)));
    size_t len = (size_t)n < sizeof(line) - 1 ? (size_t)n : sizeof(line) - 2;
    log_clean(line, len);
    line[len++] = '\n';
    if (!can_write()) {
        atomic_fetch_add(&lines_lost, 1);
        return;
    }
    log_tell_lost();
    log_put(line, len);
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level > log_level)
        return;
    va_list args;
    va_start(args, format);
    log_write(level, 0, format, args);
    va_end(args);
}

void log_errno(enum log_level level, int err, const char *format, ...)
{
    if (level > log_level)
        return;
    va_list args;
    va_start(args, format);
    log_write(level, err, format, args);
    va_end(args);
}

void assert_failed(const char *what, const char *file, int line)
{
    log_line(LV_ERROR, "assertion failed: %s (%s:%d)", what, file, line);
    __builtin_trap();
}
