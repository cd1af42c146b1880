/* See memory.h. */
#include "memory.h"

#include <assert.h>
#include <string.h>

#include "internal/assert.h"
#include "internal/limits.h"
#include "input.h"
#include "mem.h"

/* The queue of streams with a body to send: it doubles, and holds a pointer for each. */
#define RESERVE_LEN ((size_t)1024)
static_assert(RESERVE_LEN >= 128 * sizeof(void *) && LIMIT_STREAMS <= 128,
              "a queue of all streams fits into the reserve");

/* What nghttp2 takes for its frame buffer. */
static bool is_frame(const struct h2_memory *m, size_t len)
{
    return m->is_opening && m->frame == NULL && len >= FRAME_MAX_LEN && len <= MEM_SCRATCH_LEN;
}

static void *memory_take(struct h2_memory *m, size_t len)
{
    if (!is_frame(m, len))
        return mem_take(m->mem, len);
    m->frame = mem_scratch_ref(m->mem);
    return m->frame;
}

static void memory_give(struct h2_memory *m, void *ptr)
{
    if (ptr == NULL || ptr != m->frame) {
        mem_give(ptr);
        return;
    }
    m->frame = NULL;
    mem_scratch_unref(m->mem);
}

static void *on_malloc(size_t len, void *opaque)
{
    return memory_take(opaque, len);
}

static void on_free(void *ptr, void *opaque)
{
    memory_give(opaque, ptr);
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
    if (ptr == NULL && is_frame(m, len))
        return memory_take(m, len);
    if (ptr != NULL && ptr == m->frame)
        return len <= MEM_SCRATCH_LEN ? ptr : NULL;
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
        .is_opening = true,
        .reserve = mem_take(mem, RESERVE_LEN),
    };
    return m->reserve != NULL ? WEIR_OK : WEIR_NOMEM;
}

void h2_memory_opened(struct h2_memory *m)
{
    m->is_opening = false;
}

void h2_memory_deinit(struct h2_memory *m)
{
    mem_give(m->reserve);
    mem_give(m->held);
    *m = (struct h2_memory){0};
}

enum weir_err h2_memory_hold(struct h2_memory *m, const uint8_t *bytes, size_t len)
{
    WEIR_ASSERT(m->held == NULL);
    if (m->frame == NULL)
        return WEIR_OK;
    WEIR_ASSERT(bytes >= (uint8_t *)m->frame &&
                bytes + len <= (uint8_t *)m->frame + MEM_SCRATCH_LEN);
    m->held = mem_take(m->mem, len);
    if (m->held == NULL)
        return WEIR_NOMEM;
    memcpy(m->held, bytes, len);
    m->held_at = (uint8_t *)m->frame + (bytes - (uint8_t *)m->frame);
    m->held_len = len;
    return WEIR_OK;
}

void h2_memory_restore(struct h2_memory *m)
{
    if (m->held == NULL)
        return;
    memcpy(m->held_at, m->held, m->held_len);
    mem_give(m->held);
    m->held = NULL;
}
