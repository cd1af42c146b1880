/*
 * All callbacks of nghttp2.  Each finds its object, calls one function and maps the result; none
 * sends or receives.
 */
#include <pthread.h>
#include <string.h>

#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/stats.h"
#include "clock.h"
#include "goaway.h"
#include "session.h"

#define WINDOW_MAX 0x7fffffffU /* RFC 9113 6.9.1 */

/* Make nghttp2_session_mem_recv() stop at once if the connection has to end. */
static int go_on(const struct h2_conn *h)
{
    return h->error == 0 && h->fatal == WEIR_OK ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static ssize_t on_send(nghttp2_session *ng, const uint8_t *bytes, size_t len, int flags,
                       void *opaque)
{
    (void)ng;
    (void)flags;
    return h2_output_send(h2_conn_from(opaque), bytes, len);
}

static int on_send_data(nghttp2_session *ng, nghttp2_frame *frame, const uint8_t *head, size_t len,
                        nghttp2_data_source *source, void *opaque)
{
    (void)ng;
    bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    return h2_output_send_data(h2_conn_from(opaque), source->ptr, head, len, is_last);
}

/* A new stream: take it, or refuse it while too many are in flight. */
static int open_stream(struct h2_conn *h, int32_t id)
{
    bool is_ranked = ids_has_signal(&h->ids, (uint32_t)id);
    ids_open(&h->ids, (uint32_t)id);
    if (h->state >= H2_LEAVING)
        return 0; /* the GOAWAY that is queued does not name it, and closes it when it is sent */
    h2_conn_reap_streams(h);
    if (h->stream_count >= LIMIT_STREAMS) {
        h->env->stats->streams_refused++;
        if (!budget_on_refused(&h->budget, h->env->clock->now_ms))
            h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM);
        else if (nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM) !=
                 0)
            h2_conn_fail_with(h, WEIR_NOMEM);
        int rv = go_on(h);
        return rv != 0 ? rv : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    struct h2_stream *s;
    enum weir_err err = h2_stream_new(h, id, &s);
    if (err != WEIR_OK || nghttp2_session_set_stream_user_data(h->ng, id, s) != 0) {
        if (s != NULL)
            h2_stream_free(s);
        h2_conn_fail_with(h, WEIR_NOMEM);
        return go_on(h);
    }
    s->is_ranked = is_ranked;
    h2_conn_add_stream(h, s);
    h->section.stream = s;
    return 0;
}

/* Of the HEADERS that input.c has passed on: the fields that follow are this stream's. */
static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *opaque)
{
    struct h2_conn *h = h2_conn_from(opaque);
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        return open_stream(h, frame->hd.stream_id);
    struct h2_stream *s = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
    if (s != NULL)
        h2_stream_begin_trailers(s);
    h->section.stream = s;
    return 0;
}

/*
 * A setting that takes a stream's window beyond its maximum is an error of the connection (RFC 9113
 * 6.9.2).  nghttp2 resets the streams, and does not tell why.
 */
static void check_windows(struct h2_conn *h, uint32_t initial)
{
    for (struct h2_stream *s = h->live.first; s != NULL; s = s->next) {
        h2_stream_check_joined(s, initial);
        if (!s->is_closed && initial + s->window_granted > s->body_sent + WINDOW_MAX)
            h2_conn_fail(h, NGHTTP2_FLOW_CONTROL_ERROR);
    }
}

static void on_settings(struct h2_conn *h, const nghttp2_settings *settings)
{
    for (size_t i = 0; i < settings->niv; i++) {
        const nghttp2_settings_entry *entry = &settings->iv[i];
        if (entry->settings_id == NGHTTP2_SETTINGS_HEADER_TABLE_SIZE)
            fields_encoder_note_size(&h->fields, entry->value);
        if (entry->settings_id == NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE) {
            check_windows(h, entry->value);
            h->window.initial = entry->value;
        }
    }
}

static void on_window_update(struct h2_conn *h, const nghttp2_window_update *update)
{
    struct h2_stream *s = nghttp2_session_get_stream_user_data(h->ng, update->hd.stream_id);
    if (s != NULL)
        s->window_granted += (uint32_t)update->window_size_increment;
}

/* RFC 9218 7.1 */
static void on_priority_update(struct h2_conn *h, const nghttp2_extension *frame)
{
    const nghttp2_ext_priority_update *update = frame->payload;
    if (update->stream_id == 0) {
        h2_conn_fail(h, NGHTTP2_PROTOCOL_ERROR);
        return;
    }
    struct h2_stream *s = nghttp2_session_get_stream_user_data(h->ng, update->stream_id);
    if (s != NULL)
        s->is_ranked = true;
    else
        ids_signal(&h->ids, (uint32_t)update->stream_id);
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *frame, void *opaque)
{
    struct h2_conn *h = h2_conn_from(opaque);
    switch (frame->hd.type) {
    case NGHTTP2_DATA:
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
            h2_stream_end_body(nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id));
        break;
    case NGHTTP2_SETTINGS:
        h->settings_received = true;
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0)
            h->settings_acked = true;
        else
            on_settings(h, &frame->settings);
        break;
    case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 &&
            memcmp(frame->ping.opaque_data, h2_goaway_ping, sizeof(h2_goaway_ping)) == 0)
            h2_conn_leave(h);
        break;
    case NGHTTP2_WINDOW_UPDATE: on_window_update(h, &frame->window_update); break;
    case NGHTTP2_PRIORITY_UPDATE: on_priority_update(h, &frame->ext); break;
    default: break;
    }
    return go_on(h);
}

/* Nobody reads request bodies yet: make room for those of other streams at once. */
static int on_data_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *bytes,
                         size_t len, void *opaque)
{
    (void)flags;
    (void)bytes;
    struct h2_conn *h = h2_conn_from(opaque);
    if (nghttp2_session_consume_connection(ng, len) != 0)
        h2_conn_fail_with(h, WEIR_NOMEM);
    h2_stream_take_body(nghttp2_session_get_stream_user_data(ng, id), len);
    return go_on(h);
}

/* Whether we reset a stream for something that the peer did.  INTERNAL_ERROR is a fault of ours. */
static bool is_provoked(uint32_t error_code)
{
    return error_code != NGHTTP2_NO_ERROR && error_code != NGHTTP2_REFUSED_STREAM &&
           error_code != NGHTTP2_INTERNAL_ERROR;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *frame, void *opaque)
{
    (void)ng;
    struct h2_conn *h = h2_conn_from(opaque);
    switch (frame->hd.type) {
    case NGHTTP2_RST_STREAM:
        h2_conn_fail_with(h, ids_reset(&h->ids, h->env->mem, (uint32_t)frame->hd.stream_id));
        if (is_provoked(frame->rst_stream.error_code) &&
            !budget_on_own_reset(&h->budget, h->env->clock->now_ms))
            h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM);
        break;
    case NGHTTP2_SETTINGS:
        /* Further acknowledgements that are due follow at once, before any field section. */
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0)
            h2_conn_fail_with(h, fields_encoder_apply_sizes(&h->fields));
        else
            h->settings_ms = h->env->clock->now_ms;
        break;
    case NGHTTP2_GOAWAY:
        if (frame->goaway.error_code != NGHTTP2_NO_ERROR)
            h2_conn_on_goaway_sent(h, frame->goaway.error_code);
        else
            h2_conn_on_notice_sent(h);
        break;
    default: break;
    }
    /* Errors are acted on at the end of pull, but for one that must not happen twice. */
    return h2_conn_is_spent(h) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t error_code, void *opaque)
{
    (void)error_code;
    struct h2_conn *h = h2_conn_from(opaque);
    struct h2_stream *s = nghttp2_session_get_stream_user_data(ng, id);
    if (s == NULL)
        return 0; /* it was refused */
    if (h->section.stream == s)
        h->section.stream = NULL;
    if (!s->is_complete)
        h->env->stats->streams_reset++;
    s->is_closed = true;
    h2_stream_release_response(s);
    h2_conn_settle_stream(h, s);
    return 0;
}

static struct h2_shared shared;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;

/* A failure leaves NULL behind, which h2_shared_get() reports. */
static void shared_make(void)
{
    nghttp2_session_callbacks *c = NULL;
    nghttp2_option *o = NULL;
    if (nghttp2_session_callbacks_new(&c) != 0)
        return;
    if (nghttp2_option_new(&o) != 0) {
        nghttp2_session_callbacks_del(c);
        return;
    }
    nghttp2_session_callbacks_set_send_callback(c, on_send);
    nghttp2_session_callbacks_set_send_data_callback(c, on_send_data);
    nghttp2_session_callbacks_set_on_begin_headers_callback(c, on_begin_headers);
    nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_send_callback(c, on_frame_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(c, on_stream_close);

    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);
    nghttp2_option_set_no_http_messaging(o, 1); /* it sees no fields */
    nghttp2_option_set_builtin_recv_extension_type(o, NGHTTP2_PRIORITY_UPDATE);
    nghttp2_option_set_max_deflate_dynamic_table_size(o, LIMIT_HPACK_TABLE);
    /* These are counted by budget.h: nghttp2 does so by a clock of its own, and CONTINUATION frames
     * once more for every piece that a head comes in. */
    nghttp2_option_set_stream_reset_rate_limit(o, UINT64_MAX, UINT64_MAX);
    nghttp2_option_set_max_continuations(o, SIZE_MAX);
    shared = (struct h2_shared){c, o};
}

enum weir_err h2_shared_get(const struct h2_shared **out)
{
    pthread_once(&shared_once, shared_make);
    *out = &shared;
    return shared.callbacks != NULL ? WEIR_OK : WEIR_NOMEM;
}
