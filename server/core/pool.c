/* See pool.h.  A span starts with its owner, which is how an item finds its pool. */
#include "pool.h"

#include <assert.h>
#include <stdbool.h>

#include "internal/assert.h"
#include "poison.h"

struct span {
    struct pool *owner;
};
static_assert(sizeof(struct span) <= POOL_SPAN_HEADER_LEN, "items start behind the header");

struct pool_item {
    struct pool_item *next;
};

static struct span *span_of(const void *item)
{
    return (struct span *)((uintptr_t)item & ~(uintptr_t)(ARENA_SPAN_LEN - 1));
}

struct pool *pool_of(const void *item)
{
    return span_of(item)->owner;
}

void pool_init(struct pool *p, struct arena *arena, size_t item_len)
{
    WEIR_ASSERT(item_len > 0 && item_len <= POOL_ITEM_MAX);
    item_len = (item_len + POOL_ALIGN - 1) & ~(size_t)(POOL_ALIGN - 1);
    *p = (struct pool){.arena = arena, .item_len = item_len};
}

static bool pool_grow(struct pool *p)
{
    uint8_t *base = arena_span(p->arena);
    if (base == NULL)
        return false;
    ((struct span *)(void *)base)->owner = p;
    p->cut = base + POOL_SPAN_HEADER_LEN;
    p->cut_left = POOL_ITEM_MAX / p->item_len;
    ASAN_POISON_MEMORY_REGION(p->cut, POOL_ITEM_MAX);
    return true;
}

void *pool_take(struct pool *p)
{
    struct pool_item *item = p->free;
    if (item != NULL) {
        ASAN_UNPOISON_MEMORY_REGION(item, p->item_len);
        p->free = item->next;
        __builtin_prefetch(p->free); /* its link is needed by the next call, soon */
        p->free_count--;
    } else {
        if (p->cut_left == 0 && !pool_grow(p))
            return NULL;
        item = (struct pool_item *)(void *)p->cut;
        p->cut += p->item_len;
        p->cut_left--;
        ASAN_UNPOISON_MEMORY_REGION(item, p->item_len);
    }
    p->live++;
    return item;
}

void pool_give(void *ptr)
{
    if (ptr == NULL)
        return;
    struct pool *p = pool_of(ptr);
    struct pool_item *item = ptr;
    WEIR_ASSERT(p->live > 0);
    item->next = p->free;
    p->free = item;
    p->free_count++;
    p->live--;
    ASAN_POISON_MEMORY_REGION(item, p->item_len);
}

size_t pool_left(const struct pool *p)
{
    size_t fresh = (p->arena->spans - p->arena->spans_used) * (POOL_ITEM_MAX / p->item_len);
    return p->free_count + p->cut_left + fresh;
}
