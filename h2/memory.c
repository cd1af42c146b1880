/* See memory.h. */
#include "memory.h"

#include <assert.h>
#include <string.h>

#include "internal/limits.h"
#include "mem.h"

/* The queue of streams with a body to send: it doubles, and holds a pointer for each. */
#define RESERVE_LEN ((size_t)1024)
static_assert(RESERVE_LEN >= 128 * sizeof(void *) && LIMIT_STREAMS <= 128,
              "a queue of all streams fits into the reserve");

static void *on_malloc(size_t len, void *opaque)
{
    const struct h2_memory *m = opaque;
    return mem_take(m->mem, len);
}

/* Strings outlive their session: m may be gone. */
static void on_free(void *ptr, void *opaque)
{
    (void)opaque;
    mem_give(ptr);
}

static void *on_calloc(size_t count, size_t len, void *opaque)
{
    const struct h2_memory *m = opaque;
    size_t total = 0;
    if (__builtin_mul_overflow(count, len, &total))
        return NULL;
    return mem_take_zeroed(m->mem, total);
}

static void *on_realloc(void *ptr, size_t len, void *opaque)
{
    struct h2_memory *m = opaque;
    void *grown = mem_resize(m->mem, ptr, len);
    if (grown != NULL || m->reserve == NULL || len > RESERVE_LEN)
        return grown;
    grown = m->reserve;
    m->reserve = NULL;
    m->is_spent = true;
    if (ptr != NULL) {
        size_t had = pool_of(ptr)->item_len;
        memcpy(grown, ptr, had < len ? had : len);
        mem_give(ptr);
    }
    return grown;
}

enum weir_err h2_memory_init(struct h2_memory *m, struct mem *mem)
{
    *m = (struct h2_memory){
        .ng = {m, on_malloc, on_free, on_calloc, on_realloc},
        .mem = mem,
        .reserve = mem_take(mem, RESERVE_LEN),
    };
    return m->reserve != NULL ? WEIR_OK : WEIR_NOMEM;
}

void h2_memory_deinit(struct h2_memory *m)
{
    mem_give(m->reserve);
    *m = (struct h2_memory){0};
}
