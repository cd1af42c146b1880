/* See internal/log.h.  A line is built on the stack and written by one call, so lines of several
 * threads never mix.  What does not fit is cut. */
#include "internal/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal/assert.h"

#define LOG_LINE_MAX 1024

static enum log_level log_level = LV_INFO;

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
    /* Nothing sensible is left to do when standard error is gone. */
    ssize_t written = write(STDERR_FILENO, line, len);
    (void)written;
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
