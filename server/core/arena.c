/* See arena.h. */
#include "arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal/assert.h"
#include "internal/log.h"
#include "poison.h"

enum weir_err arena_init(struct arena *a, size_t cap)
{
    *a = (struct arena){0};
    size_t spans = cap / ARENA_SPAN_LEN;
    WEIR_ASSERT(spans > 0);

    /* Huge pages want 2 MiB alignment, more than a span's. */
    const size_t align = (size_t)2 * 1024 * 1024;
    size_t map_len = spans * ARENA_SPAN_LEN + ARENA_LEAD_LEN + align;
    void *map = mmap(NULL, map_len, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        log_errno(LV_ERROR, errno, "cannot reserve %zu MiB of address space (see ulimit -v)",
                  map_len >> 20);
        return WEIR_NOMEM;
    }
    uintptr_t base = ((uintptr_t)map + ARENA_LEAD_LEN + align - 1) & ~(uintptr_t)(align - 1);

    a->map = map;
    a->map_len = map_len;
    a->base = a->map + (base - (uintptr_t)map);
    a->spans = spans;
    /* Advice only: without huge pages everything works, with more TLB misses. */
    (void)madvise(a->base, spans * ARENA_SPAN_LEN, MADV_HUGEPAGE);
    (void)madvise(a->map, (size_t)(a->base - a->map), MADV_NOHUGEPAGE);
    return WEIR_OK;
}

void arena_deinit(struct arena *a)
{
    if (a->map != NULL) {
        /* The marks belong to the addresses and would outlive the mapping. */
        ASAN_UNPOISON_MEMORY_REGION(a->base, a->spans_used * ARENA_SPAN_LEN);
        munmap(a->map, a->map_len);
    }
    *a = (struct arena){0};
}

void *arena_span(struct arena *a)
{
    if (a->spans_used == a->spans)
        return NULL;
    return a->base + a->spans_used++ * ARENA_SPAN_LEN;
}
