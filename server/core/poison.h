/*
 * Marks for AddressSanitizer on memory that is ours but that nobody may touch.  Nothing in other
 * builds.
 */
#ifndef CORE_POISON_H
#define CORE_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define POISON_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_ASAN 1
#endif
#endif

#ifdef POISON_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(ptr, len) ((void)(ptr), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(ptr, len) ((void)(ptr), (void)(len))
#endif

#endif
