/* See stream.h. */
#include "stream.h"

#include <string.h>

#include "internal/assert.h"
#include "internal/bench.h"
#include "internal/exchange.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/probes.h"
#include "internal/stats.h"
#include "clock.h"
#include "copy.h"
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
    s->is_ranked = false;
    s->is_handed = false;
    s->is_answered = false;
    s->is_waiting = false;
    s->is_closed = false;
    s->is_complete = false;
    s->is_joined = false;
    s->is_lost = false;
    s->request = (struct weir_request){.ops = &stream_ops};
    message_init(&s->message);
    s->priority = (struct priority){.urgency = PRIORITY_URGENCY_DEFAULT};
    s->field_cap = H2_FIELDS_INLINE;
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
    if (s->is_joined && s->h != NULL && s->ready.buf != NULL)
        send_window_break_promise(s->h, (uint32_t)s->ready.len);
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
        hpack_entry_unref(s->held[i]);
    if (s->fields != s->inline_fields) {
        mem_give(s->fields);
        mem_give((void *)s->held);
    }
    mem_give(s);
}

/* The inline arrays are full: move to ones that hold all that is allowed. */
static enum weir_err stream_grow(struct h2_stream *s)
{
    struct mem *mem = s->h->env->mem;
    struct weir_field *fields = mem_take(mem, LIMIT_FIELDS * sizeof(*fields));
    const struct hpack_entry **held = mem_take(mem, (LIMIT_FIELDS + 4) * sizeof(void *));
    if (fields == NULL || held == NULL) {
        mem_give(fields);
        mem_give((void *)held);
        return WEIR_NOMEM;
    }
    memcpy(fields, s->fields, s->request.field_count * sizeof(*fields));
    memcpy((void *)held, (const void *)s->held, s->held_count * sizeof(void *));
    s->fields = fields;
    s->held = held;
    s->field_cap = LIMIT_FIELDS;
    return WEIR_OK;
}

/* Put a field where the handler looks for it.  Err: WEIR_NOMEM. */
static enum weir_err stream_put(struct h2_stream *s, const struct hpack_entry *e)
{
    struct weir_request *r = &s->request;
    switch (e->kind) {
    case FIELD_METHOD: r->method = e->field.value; return WEIR_OK;
    case FIELD_SCHEME: r->scheme = e->field.value; return WEIR_OK;
    case FIELD_AUTHORITY: r->authority = e->field.value; return WEIR_OK;
    case FIELD_PATH:
        r->path = e->field.value;
        r->path_memo = hpack_entry_memo(e);
        return WEIR_OK;
    case FIELD_HOST: s->message.host = e->field.value; break;
    case FIELD_LENGTH: message_set_length(&s->message, e->field.value); break;
    case FIELD_PRIORITY: priority_parse(&s->priority, e->field.value); break;
    case FIELD_ORDINARY:
    case FIELD_TE:
    case FIELD_MALFORMED:
    case FIELD_KINDS: break;
    }
    if (r->field_count == s->field_cap) {
        enum weir_err err = stream_grow(s);
        if (err != WEIR_OK)
            return err;
    }
    s->fields[r->field_count++] = e->field;
    return WEIR_OK;
}

enum weir_err h2_stream_add_field(struct h2_stream *s, const struct hpack_entry *e)
{
    enum weir_err err = WEIR_OK;
    if (s->is_request && (!s->is_oversize || field_kind_is_pseudo(e->kind))) {
        err = stream_put(s, e);
        if (err == WEIR_OK) {
            s->held[s->held_count++] = e;
            return WEIR_OK;
        }
    }
    hpack_entry_unref(e);
    return err;
}

void h2_stream_begin_trailers(struct h2_stream *s)
{
    s->is_request = false;
    message_begin_trailers(&s->message);
}

void h2_stream_reset(struct h2_stream *s, uint32_t error_code)
{
    if (nghttp2_submit_rst_stream(s->h->ng, NGHTTP2_FLAG_NONE, s->id, error_code) != 0)
        h2_conn_fail_with(s->h, WEIR_NOMEM);
}

void h2_stream_check_joined(struct h2_stream *s, uint32_t initial)
{
    bool waits = s->is_joined && s->ready.buf != NULL && !s->is_closed;
    if (!waits || s->is_lost || initial + s->window_granted >= s->ready.len)
        return;
    s->is_lost = true;
    h2_stream_reset(s, NGHTTP2_INTERNAL_ERROR);
}

void h2_stream_take_body(struct h2_stream *s, size_t len)
{
    if (s != NULL && !message_take_body(&s->message, len))
        h2_stream_reset(s, NGHTTP2_PROTOCOL_ERROR);
}

void h2_stream_end_body(struct h2_stream *s)
{
    if (s == NULL)
        return;
    if (message_end(&s->message))
        s->is_received = true;
    else
        h2_stream_reset(s, NGHTTP2_PROTOCOL_ERROR);
}

/* Refuse a request that is complete. */
static void stream_refuse(struct h2_stream *s, uint16_t status)
{
    if (s->h->env->refuse != NULL) {
        s->h->env->refuse(s->h->env->handler_ctx, &s->request, status);
        return;
    }
    static const struct weir_field fields[] = {
        {WEIR_STR_INIT("content-length"), WEIR_STR_INIT("0")},
    };
    const struct weir_response resp = {.status = status, .fields = fields, .field_count = 1};
    weir_ignore(weir_respond(&s->request, &resp)); /* on failure the stream is reset */
}

/* What the request says of its urgency (RFC 9218 5), unless a PRIORITY_UPDATE has said more. */
static void stream_apply_priority(struct h2_stream *s)
{
    const nghttp2_extpri priority = {s->priority.urgency, s->priority.is_incremental};
    if (s->priority.is_given && !s->is_ranked &&
        nghttp2_session_change_extpri_stream_priority(s->h->ng, s->id, &priority, 0) != 0)
        h2_conn_fail_with(s->h, WEIR_NOMEM);
}

void h2_stream_dispatch(struct h2_stream *s)
{
    struct h2_conn *h = s->h;
    stream_apply_priority(s);
    s->request.fields = s->fields;
    s->is_handed = true;
    h->unanswered++;
    h->env->stats->requests++;
    WEIR_PROBE2(request_start, h->host->id, s);
    if (s->is_oversize)
        stream_refuse(s, 431);
    else if (s->request.path.len > LIMIT_PATH_LEN)
        stream_refuse(s, 414);
    else
        h->env->handler(h->env->handler_ctx, &s->request);
}

/* The next DATA frame leaves no window for one behind it, not even for an empty one. */
static bool stream_fills_window(const struct h2_stream *s)
{
    return !send_window_fits(s, s->ready.len + 1);
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
    if (s->is_waiting)
        return WEIR_AGAIN;
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
    (void)opaque;
    if (BENCH_COPIES)
        return h2_copy_read(source->ptr, buf, max, flags);
    return h2_output_read(source->ptr, max, flags);
}

/*
 * Place a response among others as its handler finds it urgent, where the client has no wish.
 * Err: WEIR_NOMEM.
 */
static enum weir_err stream_rank(struct h2_stream *s)
{
    const struct weir_response *resp = &s->response;
    if (resp->urgency == 0 || s->is_ranked || s->priority.is_given)
        return WEIR_OK;
    const nghttp2_extpri place = {
        .urgency = (uint32_t)(NGHTTP2_EXTPRI_DEFAULT_URGENCY - resp->urgency),
    };
    /* A PRIORITY_UPDATE that is still to come goes before it. */
    int rv = nghttp2_session_change_extpri_stream_priority(s->h->ng, s->id, &place, 0);
    return rv == NGHTTP2_ERR_NOMEM ? WEIR_NOMEM : WEIR_OK;
}

/*
 * Let a small body leave with the HEADERS, if all of it is at hand in memory and the window is open
 * for it.  False: it takes its turn.
 */
static bool stream_join(struct h2_stream *s)
{
    struct h2_conn *h = s->h;
    uint64_t len = s->response.body_len;
    if (BENCH_COPIES || len > LIMIT_DATA_FRAME || h->window.promised + len > LIMIT_JOINED_BODIES ||
        !send_window_fits(s, len))
        return false;
    enum weir_err err = response_body_read(&s->response, 0, (size_t)len, &s->ready);
    stream_set_waiting(s, err == WEIR_AGAIN);
    if (err != WEIR_OK)
        return false;
    if (s->ready.len < len || s->ready.buf->origin == WEIR_ORIGIN_MAPPED) {
        weir_slice_drop(&s->ready);
        return false;
    }
    s->is_joined = true;
    send_window_promise(h, (uint32_t)len);
    return true;
}

/*
 * Queue HEADERS, and DATA if there is a body.  s->response is set.
 * nghttp2 is told of no field: output.c puts in the field section, and a body that has joined.
 */
static enum weir_err stream_submit(struct h2_stream *s)
{
    struct h2_conn *h = s->h;
    const struct weir_response *resp = &s->response;
    if (resp->field_count > FIELDS_MAX || resp->own_count > resp->field_count ||
        resp->status < 200 || resp->status > 599) {
        log_line(LV_ERROR, "handler gave an unusable response status=%u fields=%zu c=%llu s=%d",
                 resp->status, resp->field_count, (unsigned long long)h->host->id, s->id);
        return WEIR_STREAM;
    }
    nghttp2_data_provider body = {.source = {.ptr = s}, .read_callback = on_read};
    bool has_data = resp->body_len > 0 && !stream_join(s);
    if (has_data && stream_rank(s) != WEIR_OK)
        return WEIR_NOMEM;
    int rv = nghttp2_submit_response(h->ng, s->id, NULL, 0, has_data ? &body : NULL);
    if (resp->body_len > 0)
        progress_begin(h, s);
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
    progress_begin(s->h, s);
    /* That nothing was deferred is what we want. */
    if (nghttp2_session_resume_data(s->h->ng, s->id) == NGHTTP2_ERR_NOMEM)
        h2_conn_fail_with(s->h, WEIR_NOMEM);
    h2_conn_wake(s->h);
}
