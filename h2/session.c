/* One HTTP/2 connection: the protocol table of h2.h.  See session.h for its states. */
#include "session.h"

#include "internal/assert.h"
#include "internal/limits.h"
#include "clock.h"
#include "goaway.h"
#include "h2.h"
#include "mem.h"

/* What nghttp2 is told; see settings_announce_streams() in output.c. */
#define NGHTTP2_STREAMS 100000

struct h2_conn *h2_conn_from(void *opaque)
{
    struct h2_conn *h = opaque;
    WEIR_ASSERT(h->magic == H2_CONN_MAGIC);
    return h;
}

void h2_conn_fail(struct h2_conn *h, uint32_t error_code)
{
    if (h->error == 0)
        h->error = error_code;
}

void h2_conn_fail_with(struct h2_conn *h, enum weir_err err)
{
    switch (err) {
    case WEIR_OK: return;
    case WEIR_LIMIT: h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM); return;
    case WEIR_PROTO: h2_conn_fail(h, NGHTTP2_PROTOCOL_ERROR); return;
    default: h->fatal = err; return;
    }
}

bool h2_conn_is_spent(struct h2_conn *h)
{
    if (h->memory.is_spent)
        h->fatal = WEIR_NOMEM;
    return h->memory.is_spent;
}

void h2_conn_wake(struct h2_conn *h)
{
    if (!h->is_pumping)
        h->host->wake(h->host);
}

/* ---- the end ---- */

static void h2_drain(void *session)
{
    struct h2_conn *h = session;
    if (h->state != H2_OPEN)
        return;
    h->state = H2_NOTIFIED;
    h->notified_ms = h->env->clock->now_ms;
    if (nghttp2_submit_shutdown_notice(h->ng) != 0)
        h2_conn_fail_with(h, WEIR_NOMEM);
    h2_conn_wake(h);
}

static void h2_close(void *session)
{
    struct h2_conn *h = session;
    struct h2_stream *s;
    while ((s = h->live.first) != NULL) {
        h2_streams_remove(&h->live, s);
        h2_stream_release_response(s);
        if (s->is_handed && !s->is_answered)
            s->h = NULL; /* freed when the handler answers */
        else
            h2_stream_free(s);
    }
    while ((s = h->leaving.first) != NULL) {
        h2_streams_remove(&h->leaving, s);
        h2_stream_free(s);
    }
    nghttp2_session_del(h->ng);
    fields_encoder_deinit(&h->fields);
    section_deinit(&h->section);
    ids_deinit(&h->ids);
    departed_deinit(&h->departed);
    h2_memory_deinit(&h->memory);
    h->magic = 0;
    mem_give(h);
}

/* ---- the table ---- */

/* Our connection preface (RFC 9113 3.4). */
static int conn_submit_preface(struct h2_conn *h)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, NGHTTP2_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_FIELD_BYTES},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    int rv = nghttp2_submit_settings(h->ng, NGHTTP2_FLAG_NONE, settings,
                                     sizeof(settings) / sizeof(settings[0]));
    if (rv != 0)
        return rv;
    return nghttp2_session_set_local_window_size(h->ng, NGHTTP2_FLAG_NONE, 0,
                                                 LIMIT_CONNECTION_WINDOW);
}

static enum weir_err h2_open(const struct protocol_env *env, struct protocol_host *host,
                             void **session)
{
    *session = NULL;
    const struct h2_shared *shared;
    enum weir_err err = h2_shared_get(&shared);
    if (err != WEIR_OK)
        return err;
    struct h2_conn *h = mem_take_zeroed(env->mem, sizeof(*h));
    if (h == NULL)
        return WEIR_NOMEM;
    h->magic = H2_CONN_MAGIC;
    h->env = env;
    h->host = host;
    list_init(&h->ending);
    h->opened_ms = host->opened_ms;
    h->idle_ms = env->clock->now_ms;
    budget_init(&h->budget, h->idle_ms);
    input_init(&h->input);
    send_window_init(&h->window);
    section_init(&h->section, env->mem);

    if (h2_memory_init(&h->memory, env->mem) != WEIR_OK ||
        fields_encoder_init(&h->fields, &h->memory.ng) != WEIR_OK ||
        nghttp2_session_server_new3(&h->ng, shared->callbacks, h, shared->option, &h->memory.ng) !=
            0 ||
        conn_submit_preface(h) != 0) {
        h2_close(h);
        return WEIR_NOMEM;
    }
    h2_memory_opened(&h->memory);
    *session = h;
    return WEIR_OK;
}

/* What a fatal result of nghttp2 means for the connection. */
static void conn_on_fatal(struct h2_conn *h, int rv)
{
    switch (rv) {
    case NGHTTP2_ERR_CALLBACK_FAILURE: break; /* one of ours: error or fatal is set */
    case NGHTTP2_ERR_NOMEM: h->fatal = WEIR_NOMEM; break;
    case NGHTTP2_ERR_FLOODED:
    case NGHTTP2_ERR_TOO_MANY_SETTINGS: h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM); break;
    case NGHTTP2_ERR_BAD_CLIENT_MAGIC: h2_conn_fail(h, NGHTTP2_PROTOCOL_ERROR); break;
    default: h2_conn_fail(h, NGHTTP2_INTERNAL_ERROR); break;
    }
}

void h2_conn_pass(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    ssize_t rv = nghttp2_session_mem_recv(h->ng, bytes, len);
    if (rv < 0)
        conn_on_fatal(h, (int)rv);
}

static enum weir_err conn_verdict(const struct h2_conn *h)
{
    if (h->fatal != WEIR_OK)
        return h->fatal;
    if (h->error == NGHTTP2_ENHANCE_YOUR_CALM)
        return WEIR_LIMIT;
    return h->error != 0 ? WEIR_PROTO : WEIR_OK;
}

static enum weir_err h2_feed(void *session, const struct weir_slice *in)
{
    struct h2_conn *h = session;
    if (h2_conn_has_failed(h))
        return conn_verdict(h); /* found by pull(), or outside of both */
    if (h->state == H2_ENDING)
        return WEIR_PROTO; /* nghttp2 has ended the connection itself, and its GOAWAY is out */
    h->is_pumping = true;
    h2_input_take(h, in->ptr, in->len);
    h->is_pumping = false;
    h2_conn_terminate(h);
    return conn_verdict(h);
}

static void h2_feed_end(void *session)
{
    struct h2_conn *h = session;
    h->peer_ended = true;
}

/* Nothing will be framed any more. */
static bool conn_is_over(const struct h2_conn *h)
{
    if (h->is_blocked || nghttp2_session_want_write(h->ng) != 0)
        return false;
    if (h->state == H2_ENDING)
        return true;
    /* A client that sends nothing more cannot open a window either. */
    if (h->peer_ended)
        return h->unanswered == 0 && h->waiting == 0 && list_first(&h->ending) == NULL;
    return nghttp2_session_want_read(h->ng) == 0;
}

/* Streams whose bodies have left may end now. */
static void conn_resume_ending(struct h2_conn *h)
{
    struct list ready;
    list_move(&h->ending, &ready);
    struct list *link;
    while ((link = list_first(&ready)) != NULL) {
        struct h2_stream *s = container_of(link, struct h2_stream, ending);
        list_remove(link);
        if (s->body_end > h->host->sent)
            list_append(&h->ending, link);
        else if (nghttp2_session_resume_data(h->ng, s->id) == NGHTTP2_ERR_NOMEM)
            h2_conn_fail_with(h, WEIR_NOMEM);
    }
}

/* Its end is in the list already, together with bytes that are lost. */
static bool stream_looks_whole(const struct h2_stream *s, const struct weir_buf *lost)
{
    return s->body == lost && s->is_complete && s->body_end > s->h->host->sent;
}

static enum weir_err h2_lose(void *session, const struct weir_buf *lost)
{
    struct h2_conn *h = session;
    lost = weir_buf_whole(lost);
    for (const struct h2_stream *s = h->leaving.first; s != NULL; s = s->next) {
        if (stream_looks_whole(s, lost))
            return WEIR_IO;
    }
    for (struct h2_stream *s = h->live.first; s != NULL; s = s->next) {
        if (stream_looks_whole(s, lost))
            return WEIR_IO;
        if (s->body != lost || s->is_closed || s->is_complete || s->is_lost)
            continue;
        s->is_lost = true;
        if (nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR) != 0)
            return WEIR_IO;
    }
    return WEIR_OK;
}

/* Go on with the frame that found no room the last time, then with others. */
static int conn_send(struct h2_conn *h)
{
    h2_memory_restore(&h->memory);
    return nghttp2_session_send(h->ng);
}

static enum weir_err h2_pull(void *session, struct weir_gather *out, size_t budget)
{
    struct h2_conn *h = session;
    if (h2_conn_is_spent(h) || h->fatal != WEIR_OK)
        return h->fatal;
    h2_conn_reap_streams(h);
    if (list_first(&h->ending) != NULL)
        conn_resume_ending(h);
    if (send_window_is_waited_for(h))
        send_window_resume(h);
    h->is_pumping = true;
    h->is_blocked = false;
    h->out = out;
    h->out_budget = budget;
    int rv = conn_send(h);
    if (rv == 0 && h->error != 0 && h->state != H2_ENDING) {
        h2_conn_terminate(h); /* what was just sent went over a limit */
        rv = conn_send(h);
    }
    h->out = NULL;
    h->is_pumping = false;
    if (rv != 0 && h->fatal == WEIR_OK)
        h->fatal = rv == NGHTTP2_ERR_NOMEM ? WEIR_NOMEM : WEIR_IO;
    if (h2_conn_is_spent(h) || h->fatal != WEIR_OK)
        return h->fatal;
    if (send_window_is_waited_for(h))
        return WEIR_AGAIN; /* what was just reset has made room */
    if (conn_is_over(h))
        return WEIR_CLOSED;
    return h->is_blocked || list_first(&h->ending) != NULL ? WEIR_AGAIN : WEIR_OK;
}

/*
 * No stream is open, and the answers of all have left.  Streams that wait to be freed or forgotten
 * are not asked: nothing need ever happen again that would do it.
 */
static bool conn_is_idle(const struct h2_conn *h)
{
    return h->live.first == NULL && h->framed <= h->host->sent;
}

static void h2_rest(void *session)
{
    struct h2_conn *h = session;
    h2_conn_reap_streams(h);
    departed_rest(&h->departed);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t h2_deadline(const void *session)
{
    const struct h2_conn *h = session;
    uint64_t at = PROTOCOL_NO_DEADLINE;
    if (h->state == H2_ENDING)
        return at; /* the connection's own clocks bound the rest */
    if (!h->settings_received)
        at = earlier(at, h->opened_ms + LIMIT_PREFACE_MS);
    else if (!h->settings_acked && h->settings_ms != 0)
        at = earlier(at, h->settings_ms + LIMIT_SETTINGS_ACK_MS);
    if (input_in_section(&h->input))
        at = earlier(at, h->input.section_since_ms + LIMIT_HEADER_MS);
    at = earlier(at, progress_deadline(h));
    if (h->state == H2_OPEN && conn_is_idle(h))
        at = earlier(at, h->idle_ms + LIMIT_IDLE_MS);
    if (h->state == H2_NOTIFIED)
        at = earlier(at, h->notified_ms + LIMIT_GOAWAY_STEP_MS);
    return at;
}

static enum weir_err h2_timeout(void *session)
{
    struct h2_conn *h = session;
    uint64_t now_ms = h->env->clock->now_ms;
    h2_conn_reap_streams(h);
    if (h->state == H2_ENDING || now_ms < h2_deadline(h))
        return conn_verdict(h);

    if (!h->settings_received && now_ms >= h->opened_ms + LIMIT_PREFACE_MS)
        h->fatal = WEIR_CLOSED; /* whoever says nothing is told nothing */
    else if (h->settings_received && !h->settings_acked && h->settings_ms != 0 &&
             now_ms >= h->settings_ms + LIMIT_SETTINGS_ACK_MS)
        h2_conn_fail(h, NGHTTP2_SETTINGS_TIMEOUT);
    else if (input_in_section(&h->input) && now_ms >= h->input.section_since_ms + LIMIT_HEADER_MS)
        h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM);
    else if (now_ms >= progress_deadline(h))
        progress_check(h);
    else if (h->state == H2_NOTIFIED)
        h2_conn_leave(h);
    else
        h2_drain(h); /* idle */
    h2_conn_terminate(h);
    return conn_verdict(h);
}

const struct protocol h2_protocol = {
    .name = "h2",
    .open = h2_open,
    .feed = h2_feed,
    .feed_end = h2_feed_end,
    .pull = h2_pull,
    .rest = h2_rest,
    .lose = h2_lose,
    .drain = h2_drain,
    .deadline = h2_deadline,
    .timeout = h2_timeout,
    .close = h2_close,
};
