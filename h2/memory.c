/* See memory.h. */
#include "memory.h"

#include "mem.h"

static void *on_malloc(size_t len, void *mem)
{
    return mem_take(mem, len);
}

static void on_free(void *ptr, void *mem)
{
    (void)mem;
    mem_give(ptr);
}

static void *on_calloc(size_t count, size_t len, void *mem)
{
    size_t total = 0;
    if (__builtin_mul_overflow(count, len, &total))
        return NULL;
    return mem_take_zeroed(mem, total);
}

static void *on_realloc(void *ptr, size_t len, void *mem)
{
    return mem_resize(mem, ptr, len);
}

nghttp2_mem h2_memory(struct mem *mem)
{
    return (nghttp2_mem){
        .mem_user_data = mem,
        .malloc = on_malloc,
        .free = on_free,
        .calloc = on_calloc,
        .realloc = on_realloc,
    };
}
