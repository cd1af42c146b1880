/* See streams.h. */
#include "streams.h"

#include "internal/probes.h"
#include "clock.h"
#include "session.h"

void h2_streams_append(struct h2_streams *list, struct h2_stream *s)
{
    s->next = NULL;
    s->prev = list->last;
    if (list->last == NULL)
        list->first = s;
    else
        list->last->next = s;
    list->last = s;
}

void h2_streams_remove(struct h2_streams *list, struct h2_stream *s)
{
    if (s->prev == NULL)
        list->first = s->next;
    else
        s->prev->next = s->next;
    if (s->next == NULL)
        list->last = s->prev;
    else
        s->next->prev = s->prev;
    s->next = NULL;
    s->prev = NULL;
}

void h2_conn_add_stream(struct h2_conn *h, struct h2_stream *s)
{
    h2_streams_append(&h->live, s);
    h->stream_count++;
}

static void conn_free_stream(struct h2_conn *h, struct h2_stream *s)
{
    h2_stream_free(s);
    h->stream_count--;
}

void h2_conn_complete_stream(struct h2_conn *h, struct h2_stream *s)
{
    if (s == NULL)
        return;
    s->is_complete = true;
    WEIR_PROBE2(request_end, h->host->id, s);
    s->framed_end = h->framed;
    budget_on_complete(&h->budget);
    /* The answer is out before the request is in: ask for no more of it (RFC 9113 8.1). */
    if (!s->is_received &&
        nghttp2_submit_rst_stream(h->ng, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR) != 0)
        h2_conn_fail_with(h, WEIR_NOMEM);
}

void h2_conn_settle_stream(struct h2_conn *h, struct h2_stream *s)
{
    if (!s->is_closed || (s->is_handed && !s->is_answered))
        return;
    h2_streams_remove(&h->live, s);
    h->idle_ms = h->env->clock->now_ms;
    if (s->framed_end <= h->host->sent) {
        conn_free_stream(h, s);
    } else if (s->body != NULL || !departed_try_add(&h->departed, h->env->mem, s->framed_end)) {
        h2_streams_append(&h->leaving, s);
    } else {
        h2_stream_free(s);
    }
}

void h2_conn_reap_streams(struct h2_conn *h)
{
    h->stream_count -= departed_reap(&h->departed, h->host->sent);
    /* Nearly in the order of framed_end: one that waits behind another is freed a little late. */
    struct h2_stream *s;
    while ((s = h->leaving.first) != NULL && s->framed_end <= h->host->sent) {
        h2_streams_remove(&h->leaving, s);
        conn_free_stream(h, s);
    }
}
