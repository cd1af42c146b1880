/* See mem.h. */
#include "mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "internal/assert.h"
#include "internal/limits.h"

static_assert(sizeof(struct weir_buf) <= BLOCK_HEADER_LEN, "a block's bytes follow its header");
static_assert(MEM_CLASS_MAX <= POOL_ITEM_MAX, "the largest class fits into a span");

/* floor(log2(n)), n > 0 */
static unsigned log2_of(size_t n)
{
    return (unsigned)(sizeof(long long) * 8 - 1) - (unsigned)__builtin_clzll(n);
}

static size_t class_of(size_t len)
{
    if (len <= 128)
        return (len - 1) / 16;
    unsigned e = log2_of(len - 1);
    return 8 + (size_t)(e - 7) * 8 + (((len - 1) - ((size_t)1 << e)) >> (e - 3));
}

static size_t class_len(size_t class)
{
    if (class < 8)
        return (class + 1) * 16;
    size_t e = 7 + (class - 8) / 8;
    return ((size_t)1 << e) + ((class - 8) % 8 + 1) * ((size_t)1 << (e - 3));
}

enum weir_err mem_new(size_t cap, struct mem **out)
{
    *out = NULL;
    struct mem *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return WEIR_NOMEM;
    enum weir_err err = arena_init(&m->arena, cap);
    if (err != WEIR_OK) {
        free(m);
        return err;
    }
    for (size_t i = 0; i < MEM_CLASSES; i++)
        pool_init(&m->classes[i], &m->arena, class_len(i));
    pool_init(&m->blocks[BLOCK_SMALL], &m->arena, BLOCK_HEADER_LEN + BLOCK_SMALL_CAP);
    pool_init(&m->blocks[BLOCK_LARGE], &m->arena, BLOCK_HEADER_LEN + BLOCK_LARGE_CAP);
    *out = m;
    return WEIR_OK;
}

void mem_free(struct mem *m)
{
    if (m == NULL)
        return;
#ifdef WEIR_REF_TRACE
    ref_trace_forget(m->arena.base, m->arena.spans * ARENA_SPAN_LEN);
#endif
    arena_deinit(&m->arena);
    free(m);
}

void *mem_take(struct mem *m, size_t len)
{
    if (len == 0 || len > MEM_CLASS_MAX)
        return NULL;
    return pool_take(&m->classes[class_of(len)]);
}

void *mem_take_zeroed(struct mem *m, size_t len)
{
    void *ptr = mem_take(m, len);
    if (ptr != NULL)
        memset(ptr, 0, len);
    return ptr;
}

void *mem_resize(struct mem *m, void *ptr, size_t len)
{
    if (ptr == NULL)
        return mem_take(m, len);
    size_t had = pool_of(ptr)->item_len;
    if (len <= had)
        return ptr;
    void *grown = mem_take(m, len);
    if (grown == NULL)
        return NULL;
    memcpy(grown, ptr, had);
    pool_give(ptr);
    return grown;
}

void mem_give(void *ptr)
{
    pool_give(ptr);
}

void *mem_scratch_ref(struct mem *m)
{
    if (m->scratch == NULL)
        m->scratch = mem_take(m, MEM_SCRATCH_LEN);
    if (m->scratch != NULL)
        m->scratch_users++;
    return m->scratch;
}

void mem_scratch_unref(struct mem *m)
{
    WEIR_ASSERT(m->scratch_users > 0);
    if (--m->scratch_users > 0)
        return;
    mem_give(m->scratch);
    m->scratch = NULL;
}

static void block_release(struct weir_buf *b)
{
    pool_give(b);
}

#undef block_take /* here is the function itself */
struct weir_buf *block_take(struct mem *m, enum block_size size)
{
    static const size_t caps[BLOCK_SIZES] = {BLOCK_SMALL_CAP, BLOCK_LARGE_CAP};
    struct weir_buf *b = pool_take(&m->blocks[size]);
    if (b == NULL)
        return NULL;
    *b = (struct weir_buf){
        .refs = 1,
        .origin = WEIR_ORIGIN_POOLED,
        .base = (uint8_t *)b + BLOCK_HEADER_LEN,
        .cap = caps[size],
        .release = block_release,
    };
    return b;
}

bool mem_is_low(const struct mem *m)
{
    return pool_left(&m->blocks[BLOCK_LARGE]) < LIMIT_BLOCK_RESERVE;
}

size_t mem_live(const struct mem *m)
{
    size_t live = mem_blocks_live(m);
    for (size_t i = 0; i < MEM_CLASSES; i++)
        live += m->classes[i].live;
    return live;
}

static size_t pool_live_bytes(const struct pool *p)
{
    return p->live * p->item_len;
}

size_t mem_live_bytes(const struct mem *m)
{
    size_t bytes = 0;
    for (size_t i = 0; i < MEM_CLASSES; i++)
        bytes += pool_live_bytes(&m->classes[i]);
    for (size_t i = 0; i < BLOCK_SIZES; i++)
        bytes += pool_live_bytes(&m->blocks[i]);
    return bytes;
}

size_t mem_blocks_live(const struct mem *m)
{
    size_t live = 0;
    for (size_t i = 0; i < BLOCK_SIZES; i++)
        live += m->blocks[i].live;
    return live;
}

void mem_blocks_report(const struct mem *m)
{
#ifdef WEIR_REF_TRACE
    ref_trace_report(m->arena.base, m->arena.spans * ARENA_SPAN_LEN);
#else
    (void)m;
#endif
}
