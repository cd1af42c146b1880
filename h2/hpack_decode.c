/*
 * See hpack_decode.h.
 *
 *     1xxxxxxx            indexed field                   6.1
 *     01xxxxxx [N] [V]    literal, added to the table     6.2.1
 *     001xxxxx            size update                     6.3
 *     0000xxxx [N] [V]    literal, not added              6.2.2
 *     0001xxxx [N] [V]    literal, never to be added      6.2.3; the same to a decoder
 *
 *     N, V: strings; N only where the index is 0
 */
#include "hpack_decode.h"

#include <assert.h>
#include <string.h>

#include "hpack_huffman.h"
#include "mem.h"

static_assert(sizeof(struct hpack_entry) + LIMIT_HPACK_TABLE +
                      HPACK_STRINGS_MAX * 8 / HUFFMAN_BITS_MIN <=
                  MEM_CLASS_MAX,
              "an entry of the longest strings, or name of the table, is one item");
static_assert(LIMIT_HPACK_TABLE < HPACK_STRINGS_MAX, "what the table holds can be decoded");

void hpack_decoder_init(struct hpack_decoder *d, struct mem *mem)
{
    *d = (struct hpack_decoder){.mem = mem};
    hpack_table_init(&d->table);
}

void hpack_decoder_deinit(struct hpack_decoder *d)
{
    hpack_table_deinit(&d->table);
    for (size_t i = 0; i < HPACK_RECENT; i++) {
        if (d->recent[i] != NULL)
            hpack_entry_unref(d->recent[i]->entry);
        mem_give(d->recent[i]);
        d->recent[i] = NULL;
    }
}

void hpack_decoder_begin(struct hpack_decoder *d)
{
    d->may_resize = true;
}

/* ---- integers and strings (RFC 7541 5) ---- */

/* Continuation bytes of an integer that fits into 32 bits. */
#define INTEGER_BYTES 5

/* An integer with a prefix of `bits` bits.  Err: AGAIN, PROTO. */
static enum weir_err read_integer(const uint8_t **at, const uint8_t *end, unsigned bits,
                                  uint32_t *out)
{
    const uint8_t *p = *at;
    if (p == end)
        return WEIR_AGAIN;
    uint64_t mask = (1U << bits) - 1;
    uint64_t value = *p++ & mask;
    if (value == mask) {
        for (unsigned shift = 0;; shift += 7) {
            if (shift == 7 * INTEGER_BYTES)
                return WEIR_PROTO;
            if (p == end)
                return WEIR_AGAIN;
            value += (uint64_t)(*p & 0x7f) << shift;
            if ((*p++ & 0x80) == 0)
                break;
        }
    }
    if (value > UINT32_MAX)
        return WEIR_PROTO;
    *at = p;
    *out = (uint32_t)value;
    return WEIR_OK;
}

/* A string as it is coded. */
struct coded {
    const uint8_t *ptr;
    size_t len;
    bool is_huffman;
};

/* Err: AGAIN, PROTO; LIMIT: longer than `max`. */
static enum weir_err read_string(const uint8_t **at, const uint8_t *end, size_t max,
                                 struct coded *out)
{
    if (*at == end)
        return WEIR_AGAIN;
    out->is_huffman = (**at & 0x80) != 0;
    uint32_t len;
    enum weir_err err = read_integer(at, end, 7, &len);
    if (err != WEIR_OK)
        return err;
    if (len > max)
        return WEIR_LIMIT;
    if (len > (size_t)(end - *at))
        return WEIR_AGAIN;
    out->ptr = *at;
    out->len = len;
    *at += len;
    return WEIR_OK;
}

/* Bytes that it can come to. */
static size_t coded_bound(const struct coded *s)
{
    return s->is_huffman ? huffman_bound(s->len) : s->len;
}

/* Decode to `to`.  Err: PROTO. */
static enum weir_err coded_write(const struct coded *s, uint8_t *to, struct weir_str *out)
{
    size_t len = s->len;
    if (s->is_huffman) {
        if (!huffman_decode(s->ptr, s->len, to, &len))
            return WEIR_PROTO;
    } else if (len > 0) {
        memcpy(to, s->ptr, len);
    }
    *out = (struct weir_str){(const char *)to, len};
    return WEIR_OK;
}

/* ---- fields (RFC 7541 6) ---- */

/* A literal as it is coded. */
struct literal {
    const struct hpack_entry *named; /* whose name it has; NULL: it has one of its own */
    struct coded name;
    struct coded value;
};

/* Err: AGAIN, PROTO, LIMIT. */
static enum weir_err read_literal(const struct hpack_table *t, const uint8_t **at,
                                  const uint8_t *end, unsigned bits, struct literal *out)
{
    uint32_t index;
    enum weir_err err = read_integer(at, end, bits, &index);
    if (err != WEIR_OK)
        return err;
    out->named = NULL;
    out->name = (struct coded){0};
    if (index == 0) {
        err = read_string(at, end, HPACK_STRINGS_MAX, &out->name);
    } else {
        out->named = hpack_table_get(t, index);
        err = out->named != NULL ? WEIR_OK : WEIR_PROTO;
    }
    if (err != WEIR_OK)
        return err;
    return read_string(at, end, HPACK_STRINGS_MAX - out->name.len, &out->value);
}

/* The name of an entry: that of another, whose bytes stay only if they are constant. */
static uint8_t *entry_copy_name(struct hpack_entry *e, const struct hpack_entry *named, uint8_t *to)
{
    e->name_kind = named->name_kind;
    e->field.name = named->field.name;
    if (named->refs == 0)
        return to;
    memcpy(to, named->field.name.ptr, named->field.name.len);
    e->field.name.ptr = (const char *)to;
    return to + named->field.name.len;
}

/* Err: PROTO. */
static enum weir_err entry_fill(struct hpack_entry *e, const struct literal *l)
{
    uint8_t *to = (uint8_t *)(e + 1);
    if (l->named != NULL) {
        to = entry_copy_name(e, l->named, to);
    } else {
        enum weir_err err = coded_write(&l->name, to, &e->field.name);
        if (err != WEIR_OK)
            return err;
        e->name_kind = field_kind_of_name(e->field.name);
        to += e->field.name.len;
    }
    enum weir_err err = coded_write(&l->value, to, &e->field.value);
    if (err != WEIR_OK)
        return err;
    e->kind = field_kind_of(e->name_kind, e->field.value);
    e->len = (uint32_t)(e->field.name.len + e->field.value.len) + HPACK_OVERHEAD;
    return WEIR_OK;
}

/* Err: NOMEM, PROTO. */
static enum weir_err entry_new(struct mem *mem, const struct literal *l, struct hpack_entry **out)
{
    size_t len = coded_bound(&l->value);
    if (l->named == NULL)
        len += coded_bound(&l->name);
    else if (l->named->refs != 0)
        len += l->named->field.name.len;
    struct hpack_entry *e = mem_take(mem, sizeof(*e) + len);
    *out = e;
    if (e == NULL)
        return WEIR_NOMEM;
    e->refs = 1;
    e->memo = (struct weir_memo){0};
    enum weir_err err = entry_fill(e, l);
    if (err != WEIR_OK) {
        mem_give(e);
        *out = NULL;
    }
    return err;
}

static enum weir_err decode_literal(struct hpack_decoder *d, const uint8_t **at, const uint8_t *end,
                                    bool is_added, const struct hpack_entry **out)
{
    const uint8_t *p = *at;
    struct literal l;
    enum weir_err err = read_literal(&d->table, &p, end, is_added ? 6 : 4, &l);
    if (err != WEIR_OK)
        return err;
    struct hpack_entry *e;
    err = entry_new(d->mem, &l, &e);
    if (err == WEIR_OK && is_added)
        err = hpack_table_add(&d->table, d->mem, e);
    if (err != WEIR_OK) {
        if (e != NULL)
            hpack_entry_unref(e);
        return err;
    }
    *at = p;
    *out = e;
    return WEIR_OK;
}

/* ---- literals that come again ---- */

/* Names of the static table whose index fits into the first byte, behind four bits of zeros. */
#define SHORT_INDEX_MAX 14
/* Bytes of the shortest literal that is worth remembering. */
#define RECENT_LEN_MIN 4

/*
 * Where a literal is remembered, if it is one that may be: its name is of the static table.  Paths
 * differ near their beginning, dates and tags, whose index takes two bytes, in the middle.
 */
static struct hpack_recent **recent_slot(struct hpack_decoder *d, const uint8_t *at,
                                         const uint8_t *end)
{
    if (end - at < RECENT_LEN_MIN)
        return NULL;
    if (*at >= 1 && *at <= SHORT_INDEX_MAX)
        return &d->recent[((unsigned)at[1] + at[2] + at[3]) % HPACK_RECENT];
    size_t len = at[2] & 0x7f;
    if (*at != SHORT_INDEX_MAX + 1 || at[1] > HPACK_STATIC_COUNT - (SHORT_INDEX_MAX + 1) ||
        len < RECENT_LEN_MIN || len > (size_t)(end - at) - 3)
        return NULL;
    const uint8_t *middle = at + 3 + len / 2;
    return &d->recent[((unsigned)at[1] + middle[-1] + middle[0] + middle[1]) % HPACK_RECENT];
}

static bool recent_matches(const struct hpack_recent *slot, const uint8_t *at, const uint8_t *end)
{
    return slot != NULL && slot->len <= (size_t)(end - at) &&
           memcmp(slot->bytes, at, slot->len) == 0;
}

/* Remember a literal in place of another one; without memory it is not remembered. */
static void recent_set(struct hpack_decoder *d, struct hpack_recent **place, const uint8_t *at,
                       size_t len, const struct hpack_entry *e)
{
    if (len > HPACK_RECENT_LEN)
        return;
    struct hpack_recent *slot = *place;
    if (slot != NULL)
        hpack_entry_unref(slot->entry);
    else
        slot = *place = mem_take(d->mem, sizeof(*slot));
    if (slot == NULL)
        return;
    hpack_entry_ref(e);
    slot->entry = e;
    slot->len = (uint8_t)len;
    memcpy(slot->bytes, at, len);
}

/* The same as decode_literal(), for one that is not added to the table. */
static enum weir_err decode_passing(struct hpack_decoder *d, const uint8_t **at, const uint8_t *end,
                                    const struct hpack_entry **out)
{
    struct hpack_recent **place = recent_slot(d, *at, end);
    if (place != NULL && recent_matches(*place, *at, end)) {
        *at += (*place)->len;
        *out = (*place)->entry;
        hpack_entry_ref(*out);
        return WEIR_OK;
    }
    const uint8_t *begin = *at;
    enum weir_err err = decode_literal(d, at, end, false, out);
    if (err == WEIR_OK && place != NULL)
        recent_set(d, place, begin, (size_t)(*at - begin), *out);
    return err;
}

static enum weir_err decode_indexed(struct hpack_decoder *d, const uint8_t **at, const uint8_t *end,
                                    const struct hpack_entry **out)
{
    uint32_t index = **at & 0x7f;
    if (index < 0x7f) {
        (*at)++;
    } else {
        enum weir_err err = read_integer(at, end, 7, &index);
        if (err != WEIR_OK)
            return err;
    }
    const struct hpack_entry *e = hpack_table_get(&d->table, index);
    if (e == NULL)
        return WEIR_PROTO;
    hpack_entry_ref(e);
    *out = e;
    return WEIR_OK;
}

/* Err: AGAIN, PROTO. */
static enum weir_err decode_resize(struct hpack_decoder *d, const uint8_t **at, const uint8_t *end)
{
    uint32_t max;
    if (!d->may_resize)
        return WEIR_PROTO;
    enum weir_err err = read_integer(at, end, 5, &max);
    if (err != WEIR_OK)
        return err;
    if (max > LIMIT_HPACK_TABLE) /* SETTINGS_HEADER_TABLE_SIZE, which we leave as it is */
        return WEIR_PROTO;
    hpack_table_resize(&d->table, max);
    return WEIR_OK;
}

enum weir_err hpack_decode(struct hpack_decoder *d, const uint8_t **at, const uint8_t *end,
                           const struct hpack_entry **out)
{
    while (*at < end) {
        uint8_t first = **at;
        if (first >> 5 == 1) {
            enum weir_err err = decode_resize(d, at, end);
            if (err != WEIR_OK)
                return err;
            continue;
        }
        d->may_resize = false;
        if ((first & 0x80) != 0)
            return decode_indexed(d, at, end, out);
        if ((first & 0x40) != 0)
            return decode_literal(d, at, end, true, out);
        return decode_passing(d, at, end, out);
    }
    return WEIR_AGAIN;
}
