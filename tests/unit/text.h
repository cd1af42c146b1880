/* Texts that tests put together. */
#ifndef TESTS_TEXT_H
#define TESTS_TEXT_H

#include "cm.h"

#include <string.h>

/* Write behind the text in buf, which holds cap bytes; what does not fit is a failure. */
__attribute__((format(printf, 3, 4))) static inline void text_add(char *buf, size_t cap,
                                                                  const char *format, ...)
{
    size_t len = strlen(buf);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(buf + len, cap - len, format, args);
    va_end(args);
    assert_in_range(n, 0, cap - len - 1);
}

/* Put another text into buf. */
static inline void text_set(char *buf, size_t cap, const char *text)
{
    buf[0] = '\0';
    text_add(buf, cap, "%s", text);
}

#endif
