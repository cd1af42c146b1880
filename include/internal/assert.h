/*
 * Assertions about our own bugs.  They stay on in release builds and have no side effects.
 * What a peer can cause is an error code, never an assertion.
 */
#ifndef INTERNAL_ASSERT_H
#define INTERNAL_ASSERT_H

#include <stddef.h>

__attribute__((noreturn, cold)) void assert_failed(const char *what, const char *file, int line);

#define WEIR_ASSERT(condition)                                                                     \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            assert_failed(#condition, __FILE__, __LINE__);                                         \
    } while (0)

/* The object that `member` of type `type` at `ptr` is embedded in. */
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
