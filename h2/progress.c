/* See progress.h. */
#include "progress.h"

#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "clock.h"
#include "session.h"

static void progress_mark(struct h2_conn *h, struct h2_stream *s)
{
    s->progress = (struct progress_mark){
        .since_ms = h->env->clock->now_ms,
        .sent = s->body_sent,
        .sent_all = h->progress.sent,
    };
}

void progress_begin(struct h2_conn *h, struct h2_stream *s)
{
    progress_mark(h, s);
    if (h->progress.check_ms == 0)
        h->progress.check_ms = s->progress.since_ms + LIMIT_PROGRESS_MS;
}

uint64_t progress_deadline(const struct h2_conn *h)
{
    bool is_due = h->progress.check_ms != 0 && h->live.first != NULL;
    return is_due ? h->progress.check_ms : PROTOCOL_NO_DEADLINE;
}

/* Whether it is up to the client that the stream goes on. */
static bool stream_has_bytes(const struct h2_stream *s)
{
    return s->is_answered && !s->is_closed && !s->is_complete && !s->is_lost && !s->is_waiting &&
           s->body_sent < s->response.body_len;
}

/* Bytes that were sent, and those that a window still allows. */
static uint64_t allowed(uint64_t sent, int32_t window)
{
    return sent + (window > 0 ? (uint64_t)window : 0);
}

static bool stream_is_held(const struct h2_conn *h, const struct h2_stream *s)
{
    uint64_t due = s->response.body_len - s->progress.sent;
    if (due > LIMIT_PROGRESS_BYTES)
        due = LIMIT_PROGRESS_BYTES;
    uint64_t own = s->body_sent - s->progress.sent;
    uint64_t all = h->progress.sent - s->progress.sent_all;
    return allowed(own, nghttp2_session_get_stream_remote_window_size(h->ng, s->id)) < due ||
           allowed(all, nghttp2_session_get_remote_window_size(h->ng)) < due;
}

/* The stream's time is up. */
static bool stream_is_due(const struct h2_conn *h, const struct h2_stream *s)
{
    return stream_has_bytes(s) && h->env->clock->now_ms >= s->progress.since_ms + LIMIT_PROGRESS_MS;
}

/* Start the time of those anew that went on.  Gives how many did not. */
static size_t progress_judge(struct h2_conn *h)
{
    size_t held = 0;
    uint64_t next_ms = 0;
    for (struct h2_stream *s = h->live.first; s != NULL; s = s->next) {
        if (!stream_has_bytes(s))
            continue;
        if (stream_is_due(h, s)) {
            if (stream_is_held(h, s)) {
                held++;
                continue;
            }
            progress_mark(h, s);
        }
        uint64_t at = s->progress.since_ms + LIMIT_PROGRESS_MS;
        if (next_ms == 0 || at < next_ms)
            next_ms = at;
    }
    h->progress.check_ms = next_ms;
    return held;
}

void progress_check(struct h2_conn *h)
{
    size_t held = progress_judge(h);
    if (held == 0)
        return;
    log_line(LV_INFO, "client holds back responses c=%llu streams=%zu",
             (unsigned long long)h->host->id, held);
    if (held == h->stream_count) {
        h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM);
        return;
    }
    for (struct h2_stream *s = h->live.first; s != NULL; s = s->next) {
        if (!stream_is_due(h, s))
            continue;
        s->is_lost = true;
        if (nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL) != 0)
            h2_conn_fail_with(h, WEIR_NOMEM);
    }
}
