/* See piece.h. */
#include "piece.h"

#include <string.h>

#include "internal/assert.h"
#include "list.h"
#include "mem.h"

struct piece {
    struct weir_buf buf;
    uint64_t file_id; /* partial_id of the file, which no other file ever has */
    struct range range;
    uint8_t bytes[];
};

static void piece_free(struct weir_buf *b)
{
    mem_give(container_of(b, struct piece, buf));
}

static void piece_unref(struct piece **place)
{
    struct piece *piece = *place;
    *place = NULL;
    if (piece == NULL)
        return;
    struct weir_buf *b = &piece->buf;
    weir_buf_unref(&b);
}

void pieces_init(struct pieces *p, struct mem *mem)
{
    *p = (struct pieces){.mem = mem};
}

void pieces_deinit(struct pieces *p)
{
    for (size_t i = 0; i < LIMIT_PIECES; i++)
        piece_unref(&p->places[i]);
}

/* Where a piece is, or would be. */
static size_t place_of(const struct file *f, const struct range *range)
{
    uint64_t x = (f->partial_id ^ range->len << 40) * 0x9e3779b97f4a7c15U + range->first;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93U;
    return (size_t)(x >> 32) % LIMIT_PIECES;
}

bool pieces_have(const struct pieces *p, const struct file *f, const struct range *range)
{
    const struct piece *piece = p->places[place_of(f, range)];
    return piece != NULL && piece->file_id == f->partial_id && piece->range.first == range->first &&
           piece->range.len == range->len;
}

bool pieces_find(const struct pieces *p, const struct file *f, const struct range *range,
                 struct weir_slice *out)
{
    if (!pieces_have(p, f, range))
        return false;
    struct piece *piece = p->places[place_of(f, range)];
    *out = weir_slice_of(&piece->buf, piece->bytes, (size_t)piece->range.len);
    return true;
}

enum weir_err pieces_make(struct pieces *p, struct file *f, const struct range *range,
                          const struct weir_slice *bytes, struct weir_slice *out)
{
    WEIR_ASSERT(bytes->len == range->len && piece_suits(f, range));
    struct piece *piece = mem_is_low(p->mem) ? NULL : mem_take(p->mem, sizeof(*piece) + bytes->len);
    if (piece == NULL)
        return WEIR_NOMEM;
    piece->buf = (struct weir_buf){
        .refs = 1,
        .origin = WEIR_ORIGIN_POOLED,
        .base = piece->bytes,
        .cap = bytes->len,
        .release = piece_free,
    };
    piece->file_id = f->partial_id;
    piece->range = *range;
    memcpy(piece->bytes, bytes->ptr, bytes->len);
    if (!file_source.is_intact(f)) {
        piece_unref(&piece);
        return WEIR_STREAM;
    }
    struct piece **place = &p->places[place_of(f, range)];
    piece_unref(place);
    *place = piece;
    *out = weir_slice_of(&piece->buf, piece->bytes, bytes->len);
    return WEIR_OK;
}
