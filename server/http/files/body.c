/* See body.h. */
#include "body.h"

#include <string.h>

#include "mem.h"

void body_init(struct body *b, struct mem *mem)
{
    b->mem = mem;
    b->len = 0;
    b->is_cut = false;
    memset((void *)b->blocks, 0, sizeof(b->blocks));
}

void body_deinit(struct body *b)
{
    for (size_t i = 0; i < BODY_BLOCKS_MAX && b->blocks[i] != NULL; i++)
        weir_buf_unref(&b->blocks[i]);
}

/* The block that the next byte goes to, or NULL. */
static struct weir_buf *body_block(struct body *b)
{
    size_t i = b->len / BLOCK_LARGE_CAP;
    if (i == BODY_BLOCKS_MAX)
        return NULL;
    if (b->blocks[i] == NULL && !mem_is_low(b->mem))
        b->blocks[i] = block_take(b->mem, BLOCK_LARGE);
    return b->blocks[i];
}

void body_put(struct body *b, struct weir_str text)
{
    while (text.len > 0 && !b->is_cut) {
        struct weir_buf *block = body_block(b);
        if (block == NULL) {
            b->is_cut = true;
            return;
        }
        size_t at = b->len % BLOCK_LARGE_CAP;
        size_t n = text.len < BLOCK_LARGE_CAP - at ? text.len : BLOCK_LARGE_CAP - at;
        memcpy(block->base + at, text.ptr, n);
        b->len += n;
        text.ptr += n;
        text.len -= n;
    }
}

struct weir_slice body_slice(const struct body *b, uint64_t offset, size_t max)
{
    struct weir_buf *block = b->blocks[offset / BLOCK_LARGE_CAP];
    size_t at = (size_t)(offset % BLOCK_LARGE_CAP);
    size_t n = BLOCK_LARGE_CAP - at;
    if (n > b->len - offset)
        n = (size_t)(b->len - offset);
    return weir_slice_of(block, block->base + at, n < max ? n : max);
}
