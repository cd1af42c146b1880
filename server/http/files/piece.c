/* See piece.h. */
#include "piece.h"

#include <sys/uio.h>

#include "describe.h"
#include "internal/assert.h"
#include "internal/stats.h"
#include "mem.h"
#include "root.h"

struct piece {
    struct weir_buf buf;
    uint8_t bytes[];
};

static void piece_free(struct weir_buf *b)
{
    mem_give(container_of(b, struct piece, buf));
}

void pieces_init(struct pieces *p, struct mem *mem)
{
    *p = (struct pieces){.mem = mem};
}

void pieces_deinit(struct pieces *p)
{
    for (size_t i = 0; i < LIMIT_PIECES; i++)
        weir_buf_unref(&p->places[i].bytes);
}

/* Where a piece is, or would be. */
static size_t place_of(const struct file *f, const struct range *range)
{
    uint64_t x = (file_partial_id(f) ^ range->len << 40) * 0x9e3779b97f4a7c15U + range->first;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93U;
    return (size_t)(x >> 32) % LIMIT_PIECES;
}

static bool place_is_of(const struct piece_place *place, const struct file *f,
                        const struct range *range)
{
    return place->file_id == file_partial_id(f) && place->range.first == range->first &&
           place->range.len == range->len;
}

bool pieces_have(const struct pieces *p, const struct file *f, const struct range *range)
{
    const struct piece_place *place = &p->places[place_of(f, range)];
    return place_is_of(place, f, range) && place->bytes != NULL;
}

/* Copy bytes of a file that can be had at once.  NULL: they cannot, or there is no memory. */
static struct weir_buf *piece_read(struct mem *mem, const struct file *f, const struct range *range)
{
    size_t len = (size_t)range->len;
    struct piece *piece = mem_is_low(mem) ? NULL : mem_take(mem, sizeof(*piece) + len);
    if (piece == NULL)
        return NULL;
    const struct iovec iov = {piece->bytes, len};
    f->env->root->stats->calls.preadv2++;
    if (preadv2(f->map->fd, &iov, 1, (off_t)range->first, RWF_NOWAIT) != (ssize_t)len) {
        mem_give(piece);
        return NULL;
    }
    piece->buf = (struct weir_buf){
        .refs = 1,
        .origin = WEIR_ORIGIN_POOLED,
        .base = piece->bytes,
        .cap = len,
        .release = piece_free,
    };
    return &piece->buf;
}

enum weir_err pieces_get(struct pieces *p, struct file *f, const struct range *range,
                         struct weir_slice *out)
{
    if (!file_is_map(f) || range->len > LIMIT_PIECE_LEN)
        return WEIR_NOMEM;
    struct piece_place *place = &p->places[place_of(f, range)];
    if (!place_is_of(place, f, range)) {
        weir_buf_unref(&place->bytes);
        *place = (struct piece_place){.file_id = file_partial_id(f), .range = *range};
        return WEIR_NOMEM;
    }
    if (place->bytes == NULL) {
        struct weir_buf *bytes = piece_read(p->mem, f, range);
        if (bytes == NULL)
            return WEIR_NOMEM;
        if (!file_source.is_intact(f)) {
            weir_buf_unref(&bytes);
            return WEIR_STREAM;
        }
        place->bytes = bytes;
    }
    *out = weir_slice_of(place->bytes, place->bytes->base, (size_t)range->len);
    return WEIR_OK;
}
