/* See allocations.h.  The names behind are glibc's entry points below its public functions. */
#include "allocations.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define ALLOCATIONS_COUNTED 0
#else
#define ALLOCATIONS_COUNTED 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef ALLOCATIONS_COUNTED
#define ALLOCATIONS_COUNTED 0
#endif
#endif

#if ALLOCATIONS_COUNTED

#define OVERRIDE __attribute__((visibility("default"), used))

static __thread uint64_t count;

/* NOLINTBEGIN(readability-identifier-naming): the names are those of the C library */
extern void *__libc_malloc(size_t len);
extern void *__libc_calloc(size_t n, size_t len);
extern void *__libc_realloc(void *ptr, size_t len);
extern void *__libc_memalign(size_t align, size_t len);
/* NOLINTEND(readability-identifier-naming) */

OVERRIDE void *malloc(size_t len)
{
    count++;
    return __libc_malloc(len);
}

OVERRIDE void *calloc(size_t n, size_t len)
{
    count++;
    return __libc_calloc(n, len);
}

OVERRIDE void *realloc(void *ptr, size_t len)
{
    count++;
    return __libc_realloc(ptr, len);
}

OVERRIDE void *aligned_alloc(size_t align, size_t len)
{
    count++;
    return __libc_memalign(align, len);
}

OVERRIDE int posix_memalign(void **out, size_t align, size_t len)
{
    count++;
    *out = __libc_memalign(align, len);
    return *out != NULL ? 0 : ENOMEM;
}

bool allocations_are_counted(void)
{
    return true;
}

uint64_t allocations_of_thread(void)
{
    return count;
}

#else

bool allocations_are_counted(void)
{
    return false;
}

uint64_t allocations_of_thread(void)
{
    return 0;
}

#endif
