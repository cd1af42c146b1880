/* See send_window.h. */
#include "send_window.h"

#include "internal/assert.h"
#include "session.h"

void send_window_init(struct send_window *w)
{
    *w = (struct send_window){.initial = NGHTTP2_INITIAL_WINDOW_SIZE};
    list_init(&w->starved);
}

int64_t send_window_left(const struct h2_conn *h)
{
    const struct send_window *w = &h->window;
    return (int64_t)nghttp2_session_get_remote_window_size(h->ng) - w->hidden - w->promised;
}

bool send_window_fits(const struct h2_stream *s, uint64_t len)
{
    int64_t own = (int64_t)s->h->window.initial + (int64_t)s->window_granted;
    return (int64_t)len <= send_window_left(s->h) && (int64_t)(s->body_sent + len) <= own;
}

void send_window_promise(struct h2_conn *h, uint32_t len)
{
    h->window.promised += len;
}

void send_window_keep_promise(struct h2_conn *h, uint32_t len)
{
    WEIR_ASSERT(h->window.promised >= len);
    h->window.promised -= len;
    h->window.hidden += len;
}

void send_window_break_promise(struct h2_conn *h, uint32_t len)
{
    WEIR_ASSERT(h->window.promised >= len);
    h->window.promised -= len;
}

void send_window_starve(struct h2_stream *s)
{
    if (!list_is_linked(&s->ending))
        list_append(&s->h->window.starved, &s->ending);
}

uint32_t send_window_grant(struct h2_conn *h, uint32_t len)
{
    struct send_window *w = &h->window;
    uint32_t filled = len < w->hidden ? len : w->hidden;
    w->hidden -= filled;
    return len - filled;
}

bool send_window_is_waited_for(const struct h2_conn *h)
{
    return list_first(&h->window.starved) != NULL && send_window_left(h) > 0;
}

void send_window_resume(struct h2_conn *h)
{
    struct list *link;
    while ((link = list_first(&h->window.starved)) != NULL) {
        struct h2_stream *s = container_of(link, struct h2_stream, ending);
        list_remove(link);
        if (nghttp2_session_resume_data(h->ng, s->id) == NGHTTP2_ERR_NOMEM)
            h2_conn_fail_with(h, WEIR_NOMEM);
    }
}
