/*
 * A text that is written in one piece of memory.
 */
#ifndef FILES_SHEET_H
#define FILES_SHEET_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/str.h"

struct sheet {
    char *base; /* Borrowed */
    size_t cap;
    size_t len;  /* bytes written */
    bool is_cut; /* something did not fit: it is of no use */
};

void sheet_put(struct sheet *s, struct weir_str text);
__attribute__((format(printf, 2, 3))) void sheet_printf(struct sheet *s, const char *format, ...);

static inline struct weir_str sheet_text(const struct sheet *s)
{
    return (struct weir_str){s->base, s->len};
}

#endif
