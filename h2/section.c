/* See section.h. */
#include "section.h"

#include <assert.h>
#include <string.h>

#include "internal/limits.h"
#include "mem.h"
#include "session.h"

static_assert(HPACK_OVERHEAD == LIMIT_FIELD_OVERHEAD, "fields are counted as entries are");

#define REST_CAP_MIN 256 /* bytes: what is first taken for a field that is cut */

void section_init(struct section *s, struct mem *mem)
{
    *s = (struct section){0};
    hpack_decoder_init(&s->hpack, mem);
}

void section_deinit(struct section *s)
{
    hpack_decoder_deinit(&s->hpack);
    mem_give(s->rest);
    *s = (struct section){0};
}

void h2_section_begin(struct h2_conn *h)
{
    struct section *s = &h->section;
    hpack_decoder_begin(&s->hpack);
    s->stream = NULL;
    s->count = 0;
    s->len = 0;
}

/* ---- fields ---- */

/* The message is malformed; the rest of the section is nobody's. */
static void section_refuse(struct h2_conn *h)
{
    h2_stream_reset(h->section.stream, NGHTTP2_PROTOCOL_ERROR);
    h->section.stream = NULL;
}

/* Own: takes over the reference. */
static void section_on_field(struct h2_conn *h, const struct hpack_entry *e)
{
    struct section *s = &h->section;
    s->count++;
    s->len += e->len;
    if (s->count > LIMIT_FIELDS_HARD || s->len > LIMIT_FIELD_BYTES_HARD)
        h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM);
    else if (s->stream != NULL && !message_take(&s->stream->message, e->kind))
        section_refuse(h);
    else if (s->stream != NULL) {
        if (s->count > LIMIT_FIELDS || s->len > LIMIT_FIELD_BYTES)
            s->stream->is_oversize = true;
        h2_conn_fail_with(h, h2_stream_add_field(s->stream, e));
        return;
    }
    hpack_entry_unref(e);
}

static void section_on_error(struct h2_conn *h, enum weir_err err)
{
    if (err == WEIR_PROTO)
        h2_conn_fail(h, NGHTTP2_COMPRESSION_ERROR);
    else if (err != WEIR_AGAIN)
        h2_conn_fail_with(h, err);
}

/* Decode what is complete; gives where that ends. */
static const uint8_t *section_decode(struct h2_conn *h, const uint8_t *at, const uint8_t *end)
{
    const struct hpack_entry *e;
    enum weir_err err;
    while ((err = hpack_decode(&h->section.hpack, &at, end, &e)) == WEIR_OK) {
        section_on_field(h, e);
        if (h2_conn_has_failed(h))
            return at;
    }
    section_on_error(h, err);
    return at;
}

/* ---- pieces ---- */

/* Keep bytes behind those that are kept already. */
static void section_keep(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    struct section *s = &h->section;
    if (s->rest_len + len > s->rest_cap) {
        size_t cap = s->rest_cap == 0 ? REST_CAP_MIN : s->rest_cap;
        while (cap < s->rest_len + len)
            cap *= 2;
        uint8_t *rest = mem_resize(h->env->mem, s->rest, cap);
        if (rest == NULL) {
            h2_conn_fail_with(h, WEIR_NOMEM);
            return;
        }
        s->rest = rest;
        s->rest_cap = cap;
    }
    memcpy(s->rest + s->rest_len, bytes, len);
    s->rest_len += len;
}

static void section_drop_rest(struct section *s)
{
    mem_give(s->rest);
    s->rest = NULL;
    s->rest_len = 0;
    s->rest_cap = 0;
}

void h2_section_take(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    struct section *s = &h->section;
    if (s->rest == NULL) {
        const uint8_t *at = section_decode(h, bytes, bytes + len);
        if (at < bytes + len && !h2_conn_has_failed(h))
            section_keep(h, at, (size_t)(bytes + len - at));
        return;
    }
    section_keep(h, bytes, len);
    if (h2_conn_has_failed(h))
        return;
    const uint8_t *at = section_decode(h, s->rest, s->rest + s->rest_len);
    s->rest_len -= (size_t)(at - s->rest);
    if (s->rest_len == 0)
        section_drop_rest(s);
    else
        memmove(s->rest, at, s->rest_len);
}

/* ---- the end ---- */

static bool section_is_whole(const struct section *s, bool ends_stream)
{
    struct h2_stream *stream = s->stream;
    if (stream->is_request ? !message_end_fields(&stream->message, &stream->request) : !ends_stream)
        return false;
    return !ends_stream || message_end(&stream->message);
}

void h2_section_end(struct h2_conn *h, bool ends_stream)
{
    struct section *s = &h->section;
    struct h2_stream *stream = s->stream;
    if (s->rest != NULL) {
        h2_conn_fail(h, NGHTTP2_COMPRESSION_ERROR); /* it ends within a field */
        return;
    }
    if (stream == NULL)
        return;
    if (!section_is_whole(s, ends_stream)) {
        section_refuse(h);
        return;
    }
    s->stream = NULL;
    stream->is_received = ends_stream;
    if (stream->is_request)
        h2_stream_dispatch(stream);
}
