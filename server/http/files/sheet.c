/* See sheet.h. */
#include "sheet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void sheet_put(struct sheet *s, struct weir_str text)
{
    s->is_cut |= s->cap - s->len < text.len;
    if (s->is_cut)
        return;
    memcpy(s->base + s->len, text.ptr, text.len);
    s->len += text.len;
}

void sheet_printf(struct sheet *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(s->base + s->len, s->cap - s->len, format, args); /* with a NUL */
    va_end(args);
    s->is_cut |= n < 0 || (size_t)n >= s->cap - s->len;
    if (!s->is_cut)
        s->len += (size_t)n;
}
