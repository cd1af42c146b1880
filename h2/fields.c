/* See fields.h. */
#include "fields.h"

#include <string.h>

#include "clock.h"
#include "internal/limits.h"
#include "mem.h"

/* The longest encoding that is remembered: a warm 200 takes some 40 bytes. */
#define MEMO_LEN_MAX 104

struct fields_memo {
    uint64_t fields_id; /* of the response */
    uint64_t generation;
    int64_t date_s;
    uint16_t status;
    uint16_t len;
    uint8_t bytes[MEMO_LEN_MAX];
};

enum weir_err fields_encoder_init(struct fields_encoder *e, nghttp2_mem *memory)
{
    *e = (struct fields_encoder){0};
    int rv = nghttp2_hd_deflate_new2(&e->deflater, LIMIT_HPACK_TABLE, memory);
    return rv == 0 ? WEIR_OK : WEIR_NOMEM;
}

void fields_encoder_deinit(struct fields_encoder *e)
{
    if (e->deflater != NULL)
        nghttp2_hd_deflate_del(e->deflater);
    for (size_t i = 0; i < FIELDS_MEMOS; i++)
        mem_give(e->memos[i]);
    *e = (struct fields_encoder){0};
}

void fields_encoder_note_size(struct fields_encoder *e, uint32_t table_len)
{
    if (table_len > LIMIT_HPACK_TABLE)
        table_len = LIMIT_HPACK_TABLE;
    if (!e->has_noted || table_len < e->noted_min)
        e->noted_min = table_len;
    e->noted_last = table_len;
    e->has_noted = true;
}

enum weir_err fields_encoder_apply_sizes(struct fields_encoder *e)
{
    if (!e->has_noted)
        return WEIR_OK;
    e->has_noted = false;
    e->generation++; /* the next section begins with the new size */
    if (nghttp2_hd_deflate_change_table_size(e->deflater, e->noted_min) != 0 ||
        nghttp2_hd_deflate_change_table_size(e->deflater, e->noted_last) != 0)
        return WEIR_NOMEM;
    return WEIR_OK;
}

/* ---- reading an encoding, as far as needed to see what it does to the table ---- */

/* Step over an integer with a prefix of `bits` bits (RFC 7541 5.1); gives its value. */
static size_t skip_integer(const uint8_t *bytes, size_t len, size_t *at, unsigned bits)
{
    if (*at >= len)
        return 0;
    size_t mask = ((size_t)1 << bits) - 1;
    size_t value = bytes[(*at)++] & mask;
    if (value < mask)
        return value;
    for (unsigned shift = 0; *at < len && shift < 28; shift += 7) {
        uint8_t b = bytes[(*at)++];
        value += (size_t)(b & 0x7f) << shift;
        if ((b & 0x80) == 0)
            break;
    }
    return value;
}

static void skip_string(const uint8_t *bytes, size_t len, size_t *at)
{
    *at += skip_integer(bytes, len, at, 7);
}

bool fields_is_stable(const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        if ((bytes[at] & 0x80) != 0) { /* indexed */
            skip_integer(bytes, len, &at, 7);
        } else if ((bytes[at] & 0x60) != 0) { /* indexing, or a size update */
            return false;
        } else { /* literal that is not indexed, or never */
            if (skip_integer(bytes, len, &at, 4) == 0)
                skip_string(bytes, len, &at);
            skip_string(bytes, len, &at);
        }
    }
    return true;
}

/* ---- encoding ---- */

static void nv_set(nghttp2_nv *nv, struct weir_str name, struct weir_str value)
{
    *nv = (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name.ptr,
        .namelen = name.len,
        .value = (uint8_t *)(uintptr_t)value.ptr,
        .valuelen = value.len,
    };
}

static enum weir_err encode_anew(struct fields_encoder *e, const struct weir_response *resp,
                                 const struct clock *clock, uint8_t *scratch, size_t *len)
{
    const char status[3] = {(char)('0' + resp->status / 100), (char)('0' + resp->status / 10 % 10),
                            (char)('0' + resp->status % 10)};
    nghttp2_nv nva[FIELDS_MAX + 2];
    size_t n = 0;
    nv_set(&nva[n++], WEIR_STR(":status"), (struct weir_str){status, sizeof(status)});
    for (size_t i = 0; i < resp->field_count - resp->own_count; i++)
        nv_set(&nva[n++], resp->fields[i].name, resp->fields[i].value);
    nv_set(&nva[n++], WEIR_STR("date"), (struct weir_str){clock->date, CLOCK_DATE_LEN});

    ssize_t rv = nghttp2_hd_deflate_hd(e->deflater, scratch, FIELDS_ENCODED_MAX, nva, n);
    if (rv == NGHTTP2_ERR_NOMEM)
        return WEIR_NOMEM;
    if (rv < 0)
        return WEIR_STREAM;
    *len = (size_t)rv;
    return WEIR_OK;
}

static bool memo_is_of(const struct fields_memo *memo, const struct fields_encoder *e,
                       const struct weir_response *resp, const struct clock *clock)
{
    return memo != NULL && memo->fields_id == resp->fields_id &&
           memo->generation == e->generation && memo->date_s == clock->date_s &&
           memo->status == resp->status;
}

/* Remember an encoding in place of another, which may be NULL; without memory it is not. */
static struct fields_memo *memo_renew(struct fields_memo *memo, const struct fields_encoder *e,
                                      struct mem *mem, const struct weir_response *resp,
                                      const struct clock *clock, const uint8_t *bytes, size_t len)
{
    if (memo == NULL)
        memo = mem_take(mem, sizeof(*memo));
    if (memo == NULL)
        return NULL;
    memo->fields_id = resp->fields_id;
    memo->generation = e->generation;
    memo->date_s = clock->date_s;
    memo->status = resp->status;
    memo->len = (uint16_t)len;
    memcpy(memo->bytes, bytes, len);
    return memo;
}

/* Encode all but the response's own fields, or remember how it was done. */
static enum weir_err encode_common(struct fields_encoder *e, struct mem *mem,
                                   const struct weir_response *resp, const struct clock *clock,
                                   uint8_t *scratch, const uint8_t **bytes, size_t *len)
{
    struct fields_memo **place = &e->memos[resp->fields_id % FIELDS_MEMOS];
    if (resp->fields_id != 0 && memo_is_of(*place, e, resp, clock)) {
        *bytes = (*place)->bytes;
        *len = (*place)->len;
        return WEIR_OK;
    }
    enum weir_err err = encode_anew(e, resp, clock, scratch, len);
    if (err != WEIR_OK)
        return err;
    *bytes = scratch;
    if (!fields_is_stable(*bytes, *len))
        e->generation++;
    else if (resp->fields_id != 0 && *len <= MEMO_LEN_MAX)
        *place = memo_renew(*place, e, mem, resp, clock, *bytes, *len);
    return WEIR_OK;
}

/* ---- literals that nothing is remembered of (RFC 7541 6.2.2) ---- */

/* An integer whose prefix has that many bits (RFC 7541 5.1), the others being 0. */
static uint8_t *put_integer(uint8_t *p, size_t value, unsigned bits)
{
    size_t max = ((size_t)1 << bits) - 1;
    if (value < max) {
        *p++ = (uint8_t)value;
        return p;
    }
    *p++ = (uint8_t)max;
    for (value -= max; value > 127; value >>= 7)
        *p++ = (uint8_t)(value | 0x80);
    *p++ = (uint8_t)value;
    return p;
}

static uint8_t *put_string(uint8_t *p, struct weir_str s)
{
    p = put_integer(p, s.len, 7);
    if (s.len > 0)
        memcpy(p, s.ptr, s.len);
    return p + s.len;
}

/* Bytes of a literal at the most, beside its strings. */
#define LITERAL_OVERHEAD 24

/* The index of a name in the static table, for those that come here; 0: it is to be spelt. */
static size_t static_index(struct weir_str name)
{
    if (weir_str_eq(name, WEIR_STR("content-length")))
        return 28;
    return weir_str_eq(name, WEIR_STR("content-range")) ? 30 : 0;
}

/* Append to *len bytes in scratch.  Err: WEIR_STREAM: they do not fit. */
static enum weir_err put_own_fields(const struct weir_response *resp, uint8_t *scratch, size_t *len)
{
    for (size_t i = resp->field_count - resp->own_count; i < resp->field_count; i++) {
        const struct weir_field *f = &resp->fields[i];
        if (f->name.len + f->value.len + LITERAL_OVERHEAD > FIELDS_ENCODED_MAX - *len)
            return WEIR_STREAM;
        size_t index = static_index(f->name);
        uint8_t *p = put_integer(scratch + *len, index, 4);
        if (index == 0)
            p = put_string(p, f->name);
        p = put_string(p, f->value);
        *len = (size_t)(p - scratch);
    }
    return WEIR_OK;
}

enum weir_err fields_encode(struct fields_encoder *e, struct mem *mem,
                            const struct weir_response *resp, const struct clock *clock,
                            uint8_t *scratch, const uint8_t **bytes, size_t *len)
{
    enum weir_err err = encode_common(e, mem, resp, clock, scratch, bytes, len);
    if (err != WEIR_OK || resp->own_count == 0)
        return err;
    if (*bytes != scratch)
        memcpy(scratch, *bytes, *len);
    *bytes = scratch;
    return put_own_fields(resp, scratch, len);
}
