/*
 * A view of bytes that somebody else owns: not terminated, may hold any byte.
 * Life: whoever gives a view says how long the bytes stay.
 */
#ifndef WEIR_STR_H
#define WEIR_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct weir_str {
    const char *ptr; /* may be NULL when len is 0 */
    size_t len;
};

/* A view of a string literal. */
#define WEIR_STR(literal) ((struct weir_str){("" literal ""), sizeof(literal) - 1})
/* The same where C wants a constant expression: initialisers of static objects. */
#define WEIR_STR_INIT(literal)                                                                     \
    {                                                                                              \
        ("" literal ""), sizeof(literal) - 1                                                       \
    }

static inline bool weir_str_eq(struct weir_str a, struct weir_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

#endif
