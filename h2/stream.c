/* See stream.h. */
#include "stream.h"

#include <string.h>

#include "internal/assert.h"
#include "internal/exchange.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/probes.h"
#include "internal/stats.h"
#include "clock.h"
#include "mem.h"
#include "response_body.h"
#include "session.h"

static enum weir_err on_respond(struct weir_request *r, const struct weir_response *resp);
static void on_resume(struct weir_request *r);

static const struct exchange_ops stream_ops = {.respond = on_respond, .resume = on_resume};

/*
 * Field by field: the arrays at the end are written before they are read, and clearing a block of
 * this size costs more than the rest of a stream's life here.
 */
static void stream_init(struct h2_stream *s, struct h2_conn *h, int32_t id)
{
    s->h = h;
    s->id = id;
    s->is_request = true;
    s->has_trailers = false;
    s->is_received = false;
    s->is_oversize = false;
    s->is_handed = false;
    s->is_answered = false;
    s->is_waiting = false;
    s->is_closed = false;
    s->is_complete = false;
    s->is_lost = false;
    s->request = (struct weir_request){.ops = &stream_ops};
    s->field_cap = H2_FIELDS_INLINE;
    s->field_seen = 0;
    s->field_bytes = 0;
    s->fields = s->inline_fields;
    s->held = s->inline_held;
    s->held_count = 0;
    s->response.source = NULL;
    s->body_sent = 0;
    s->window_granted = 0;
    s->ready = (struct weir_slice){0};
    s->body = NULL;
    s->ending = (struct list){0};
    s->body_end = 0;
    s->framed_end = 0;
}

enum weir_err h2_stream_new(struct h2_conn *h, int32_t id, struct h2_stream **out)
{
    struct h2_stream *s = mem_take(h->env->mem, sizeof(*s));
    *out = s;
    if (s == NULL)
        return WEIR_NOMEM;
    stream_init(s, h, id);
    return WEIR_OK;
}

static void stream_set_waiting(struct h2_stream *s, bool is_waiting)
{
    if (s->is_waiting == is_waiting)
        return;
    WEIR_ASSERT(s->h != NULL); /* a stream that was answered goes with its connection */
    s->is_waiting = is_waiting;
    if (is_waiting)
        s->h->waiting++;
    else
        s->h->waiting--;
}

void h2_stream_release_response(struct h2_stream *s)
{
    list_remove(&s->ending);
    stream_set_waiting(s, false);
    weir_slice_drop(&s->ready);
    const struct weir_source *source = s->response.source;
    s->response.source = NULL;
    if (source != NULL)
        source->release(s->response.ctx);
}

void h2_stream_free(struct h2_stream *s)
{
    h2_stream_release_response(s);
    for (size_t i = 0; i < s->held_count; i++)
        nghttp2_rcbuf_decref(s->held[i]);
    if (s->fields != s->inline_fields) {
        mem_give(s->fields);
        mem_give(s->held);
    }
    mem_give(s);
}

/* Keep a reference for as long as the stream lives, and view its bytes. */
static struct weir_str stream_hold(struct h2_stream *s, nghttp2_rcbuf *rcbuf)
{
    nghttp2_rcbuf_incref(rcbuf);
    s->held[s->held_count++] = rcbuf;
    nghttp2_vec v = nghttp2_rcbuf_get_buf(rcbuf);
    return (struct weir_str){(const char *)v.base, v.len};
}

/* The inline arrays are full: move to ones that hold all that is allowed. */
static enum weir_err stream_grow(struct h2_stream *s)
{
    struct mem *mem = s->h->env->mem;
    struct weir_field *fields = mem_take(mem, LIMIT_FIELDS * sizeof(*fields));
    nghttp2_rcbuf **held = mem_take(mem, (2 * LIMIT_FIELDS + 4) * sizeof(void *));
    if (fields == NULL || held == NULL) {
        mem_give(fields);
        mem_give(held);
        return WEIR_NOMEM;
    }
    memcpy(fields, s->fields, s->request.field_count * sizeof(*fields));
    memcpy(held, s->held, s->held_count * sizeof(void *));
    s->fields = fields;
    s->held = held;
    s->field_cap = LIMIT_FIELDS;
    return WEIR_OK;
}

/* The request's place for a pseudo-header field; NULL for one that is of no use here. */
static struct weir_str *stream_pseudo(struct h2_stream *s, const nghttp2_vec *name)
{
    struct weir_request *r = &s->request;
    if (name->len < 2)
        return NULL;
    switch (name->base[1]) {
    case 'm': return &r->method;
    case 's': return &r->scheme;
    case 'a': return &r->authority;
    case 'p': return name->len == sizeof(":path") - 1 ? &r->path : NULL; /* or :protocol */
    default: return NULL;
    }
}

/* Count a field.  Err: WEIR_LIMIT: beyond what is worth decoding. */
static enum weir_err stream_count_field(struct h2_stream *s, size_t name_len, size_t value_len)
{
    s->field_seen++;
    s->field_bytes += name_len + value_len + LIMIT_FIELD_OVERHEAD;
    if (s->field_seen > LIMIT_FIELDS_HARD || s->field_bytes > LIMIT_FIELD_BYTES_HARD)
        return WEIR_LIMIT;
    if (s->field_seen > LIMIT_FIELDS || s->field_bytes > LIMIT_FIELD_BYTES)
        s->is_oversize = true;
    return WEIR_OK;
}

enum weir_err h2_stream_add_field(struct h2_stream *s, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    nghttp2_vec n = nghttp2_rcbuf_get_buf(name);
    nghttp2_vec v = nghttp2_rcbuf_get_buf(value);
    enum weir_err err = stream_count_field(s, n.len, v.len);
    /* Too much or trailers: decoded, so that HPACK stays in step, and handed to nobody. */
    if (err != WEIR_OK || s->is_oversize || !s->is_request)
        return err;

    if (n.len > 0 && n.base[0] == ':') {
        struct weir_str *place = stream_pseudo(s, &n);
        if (place != NULL && place->ptr == NULL) /* nghttp2 refuses a second one */
            *place = stream_hold(s, value);
        return WEIR_OK;
    }
    struct weir_request *r = &s->request;
    if (r->field_count == s->field_cap && (err = stream_grow(s)) != WEIR_OK)
        return err;
    s->fields[r->field_count].name = stream_hold(s, name);
    s->fields[r->field_count].value = stream_hold(s, value);
    r->field_count++;
    return WEIR_OK;
}

static void stream_answer(struct h2_stream *s, uint16_t status)
{
    static const struct weir_field fields[] = {
        {WEIR_STR_INIT("content-length"), WEIR_STR_INIT("0")},
    };
    const struct weir_response resp = {.status = status, .fields = fields, .field_count = 1};
    weir_ignore(weir_respond(&s->request, &resp)); /* on failure the stream is reset */
}

void h2_stream_dispatch(struct h2_stream *s)
{
    struct h2_conn *h = s->h;
    s->request.fields = s->fields;
    s->is_handed = true;
    h->unanswered++;
    h->env->stats->requests++;
    WEIR_PROBE2(request_start, h->host->id, s);
    if (s->is_oversize)
        stream_answer(s, 431);
    else if (s->request.path.len > LIMIT_PATH_LEN)
        stream_answer(s, 414);
    else
        h->env->handler(h->env->handler_ctx, &s->request);
}

/* The next DATA frame leaves no window for one behind it, not even for an empty one. */
static bool stream_fills_window(const struct h2_stream *s)
{
    int32_t own = nghttp2_session_get_stream_remote_window_size(s->h->ng, s->id);
    int32_t shared = nghttp2_session_get_remote_window_size(s->h->ng);
    return s->ready.len >= (size_t)(own < shared ? own : shared);
}

bool h2_stream_is_last(const struct h2_stream *s)
{
    return s->body_sent + s->ready.len == s->response.body_len &&
           (s->body == NULL || stream_fills_window(s));
}

enum weir_err h2_stream_end(struct h2_stream *s)
{
    if (s->body != NULL && s->body_end > s->h->host->sent) {
        if (!list_is_linked(&s->ending))
            list_append(&s->h->ending, &s->ending);
        return WEIR_AGAIN;
    }
    const struct weir_source *source = s->response.source;
    bool is_intact = source->is_intact == NULL || source->is_intact(s->response.ctx);
    return is_intact ? WEIR_OK : WEIR_STREAM;
}

enum weir_err h2_stream_prepare(struct h2_stream *s, size_t max)
{
    WEIR_ASSERT(s->ready.buf == NULL);
    enum weir_err err = response_body_read(&s->response, s->body_sent, max, &s->ready);
    if (err == WEIR_OK && s->ready.buf->origin == WEIR_ORIGIN_MAPPED)
        s->body = weir_buf_whole(s->ready.buf);
    stream_set_waiting(s, err == WEIR_AGAIN);
    return err;
}

static ssize_t on_read(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                       nghttp2_data_source *source, void *opaque)
{
    (void)ng;
    (void)id;
    (void)buf;
    (void)opaque;
    return h2_output_read(source->ptr, max, flags);
}

/*
 * Queue HEADERS, and DATA if there is a body.  s->response is set.
 * nghttp2 is told of :status alone: output.c puts the field section in its place.
 */
static enum weir_err stream_submit(struct h2_stream *s)
{
    struct h2_conn *h = s->h;
    const struct weir_response *resp = &s->response;
    if (resp->field_count > FIELDS_MAX || resp->status < 200 || resp->status > 599) {
        log_line(LV_ERROR, "handler gave an unusable response status=%u fields=%zu c=%llu s=%d",
                 resp->status, resp->field_count, (unsigned long long)h->host->id, s->id);
        return WEIR_STREAM;
    }
    static uint8_t name[] = ":status";
    static uint8_t value[] = "200";
    const nghttp2_nv status = {
        .name = name,
        .namelen = sizeof(name) - 1,
        .value = value,
        .valuelen = sizeof(value) - 1,
        .flags = NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE,
    };
    nghttp2_data_provider body = {.source = {.ptr = s}, .read_callback = on_read};
    int rv = nghttp2_submit_response(h->ng, s->id, &status, 1, resp->body_len > 0 ? &body : NULL);
    if (rv == NGHTTP2_ERR_NOMEM)
        return WEIR_NOMEM;
    return rv == 0 ? WEIR_OK : WEIR_STREAM;
}

static enum weir_err on_respond(struct weir_request *r, const struct weir_response *resp)
{
    struct h2_stream *s = container_of(r, struct h2_stream, request);
    struct h2_conn *h = s->h;
    WEIR_ASSERT(s->is_handed && !s->is_answered);
    s->is_answered = true;
    s->response = *resp;
    if (weir_str_eq(r->method, WEIR_STR("HEAD")))
        s->response.body_len = 0;
    if (h == NULL) {
        h2_stream_free(s); /* the connection went away while the handler worked */
        return WEIR_CLOSED;
    }
    h->unanswered--;
    if (s->is_closed) {
        h2_stream_release_response(s);
        h2_conn_settle_stream(h, s);
        return WEIR_CLOSED;
    }
    enum weir_err err = stream_submit(s);
    if (err != WEIR_OK) {
        /* nghttp2 closes the stream when the reset has been sent, which releases the response. */
        if (nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR) != 0)
            h2_conn_fail(h, NGHTTP2_INTERNAL_ERROR);
    } else {
        h->env->stats->responses[resp->status / 100]++;
    }
    h2_conn_wake(h);
    return err;
}

static void on_resume(struct weir_request *r)
{
    struct h2_stream *s = container_of(r, struct h2_stream, request);
    if (s->h == NULL || s->is_closed)
        return;
    stream_set_waiting(s, false);
    /* That nothing was deferred is what we want. */
    if (nghttp2_session_resume_data(s->h->ng, s->id) == NGHTTP2_ERR_NOMEM)
        h2_conn_fail_with(s->h, WEIR_NOMEM);
    h2_conn_wake(s->h);
}
