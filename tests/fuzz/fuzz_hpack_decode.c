/*
 * HPACK blocks: whatever they are, and in whatever pieces they come, our decoder and nghttp2's give
 * the same fields, find an error in the same block, and are left with the same table.
 *
 *     input: [bytes of a piece][length of a block][block] [length][block] ...
 *
 * What is compared ends with the first error, as a connection does.  Which error it is may differ:
 * a string that is announced with more bytes than a field may have is over a limit to us.
 *
 * Covers: h2/hpack_decode.c, h2/hpack_huffman.c
 */
#include "fuzz.h"

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <string.h>

#include "hpack_decode.h"
#include "internal/assert.h"
#include "mem.h"

static struct mem *mem; /* of all runs: to make it is most of the work */

struct pair {
    struct hpack_decoder ours;
    nghttp2_hd_inflater *theirs;
};

/* The next field of theirs.  False: there is none; *used is below 0 if for an error. */
static bool next_of_theirs(struct pair *p, const uint8_t **in, const uint8_t *end, nghttp2_nv *nv,
                           ssize_t *used)
{
    for (;;) {
        int flags = 0;
        *used = nghttp2_hd_inflate_hd2(p->theirs, nv, &flags, *in, (size_t)(end - *in), 1);
        if (*used < 0)
            return false;
        *in += *used;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
            return true;
        if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0)
            return false;
    }
}

static void assert_equal(struct weir_str ours, const uint8_t *theirs, size_t len)
{
    WEIR_ASSERT(ours.len == len);
    WEIR_ASSERT(len == 0 || memcmp(ours.ptr, theirs, len) == 0);
}

static void assert_same(const struct hpack_entry *e, const nghttp2_nv *nv)
{
    assert_equal(e->field.name, nv->name, nv->namelen);
    assert_equal(e->field.value, nv->value, nv->valuelen);
    WEIR_ASSERT(e->name_kind == field_kind_of_name(e->field.name));
    WEIR_ASSERT(e->kind == field_kind_of(e->name_kind, e->field.value));
}

/* Both take in a block, ours in pieces.  False: it ends the connection. */
static bool decode_both(struct pair *p, const uint8_t *block, size_t len, size_t step)
{
    const uint8_t *end = block + len;
    const uint8_t *at = block; /* ours */
    const uint8_t *in = block; /* theirs */
    size_t shown = 0;
    enum weir_err err = WEIR_AGAIN;
    nghttp2_nv nv;
    ssize_t used = 0;
    hpack_decoder_begin(&p->ours);
    while (err == WEIR_AGAIN && shown < len) {
        shown = len - shown < step ? len : shown + step;
        const struct hpack_entry *e;
        while ((err = hpack_decode(&p->ours, &at, block + shown, &e)) == WEIR_OK) {
            WEIR_ASSERT(next_of_theirs(p, &in, end, &nv, &used));
            assert_same(e, &nv);
            hpack_entry_unref(e);
        }
        WEIR_ASSERT(err != WEIR_NOMEM && at <= block + shown);
    }
    WEIR_ASSERT(!next_of_theirs(p, &in, end, &nv, &used));
    bool is_right = err == WEIR_AGAIN && at == end;
    WEIR_ASSERT(is_right == (used >= 0));
    if (is_right)
        nghttp2_hd_inflate_end_headers(p->theirs);
    return is_right;
}

static void assert_same_table(const struct pair *p)
{
    const struct hpack_table *t = &p->ours.table;
    WEIR_ASSERT(t->len == nghttp2_hd_inflate_get_dynamic_table_size(p->theirs));
    WEIR_ASSERT(t->max == nghttp2_hd_inflate_get_max_dynamic_table_size(p->theirs));
    size_t count = nghttp2_hd_inflate_get_num_table_entries(p->theirs);
    WEIR_ASSERT(HPACK_STATIC_COUNT + t->count == count);
    for (uint32_t i = 1; i <= count; i++)
        assert_equal(hpack_table_get(t, i)->field.value,
                     nghttp2_hd_inflate_get_table_entry(p->theirs, i)->value,
                     nghttp2_hd_inflate_get_table_entry(p->theirs, i)->valuelen);
    WEIR_ASSERT(hpack_table_get(t, (uint32_t)count + 1) == NULL && hpack_table_get(t, 0) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (mem == NULL)
        WEIR_ASSERT(mem_new((size_t)16 * 1024 * 1024, &mem) == WEIR_OK);
    if (len == 0)
        return 0;
    struct pair p;
    size_t step = data[0] == 0 ? SIZE_MAX : data[0];
    hpack_decoder_init(&p.ours, mem);
    WEIR_ASSERT(nghttp2_hd_inflate_new(&p.theirs) == 0);
    const uint8_t *end = data + len;
    for (const uint8_t *at = data + 1; at < end;) {
        size_t n = *at++;
        if (n > (size_t)(end - at))
            n = (size_t)(end - at);
        if (!decode_both(&p, at, n, step))
            break;
        assert_same_table(&p);
        at += n;
    }
    nghttp2_hd_inflate_del(p.theirs);
    hpack_decoder_deinit(&p.ours);
    WEIR_ASSERT(mem_live(mem) == 0);
    return 0;
}
