/* See window.h. */
#include "window.h"

#include "internal/assert.h"
#include "session.h"

void window_init(struct window *w)
{
    *w = (struct window){0};
    list_init(&w->starved);
}

int64_t window_left(const struct h2_conn *h)
{
    const struct window *w = &h->window;
    return (int64_t)nghttp2_session_get_remote_window_size(h->ng) - w->hidden - w->promised;
}

bool window_fits(const struct h2_stream *s, uint64_t len)
{
    int32_t own = nghttp2_session_get_stream_remote_window_size(s->h->ng, s->id);
    return (int64_t)len <= window_left(s->h) && (int64_t)len <= own;
}

void window_promise(struct h2_conn *h, uint32_t len)
{
    h->window.promised += len;
}

void window_keep_promise(struct h2_conn *h, uint32_t len)
{
    WEIR_ASSERT(h->window.promised >= len);
    h->window.promised -= len;
    h->window.hidden += len;
}

void window_break_promise(struct h2_conn *h, uint32_t len)
{
    WEIR_ASSERT(h->window.promised >= len);
    h->window.promised -= len;
}

void window_starve(struct h2_stream *s)
{
    if (!list_is_linked(&s->ending))
        list_append(&s->h->window.starved, &s->ending);
}

uint32_t window_grant(struct h2_conn *h, uint32_t len)
{
    struct window *w = &h->window;
    uint32_t filled = len < w->hidden ? len : w->hidden;
    w->hidden -= filled;
    return len - filled;
}

bool window_is_waited_for(const struct h2_conn *h)
{
    return list_first(&h->window.starved) != NULL && window_left(h) > 0;
}

void window_resume(struct h2_conn *h)
{
    struct list *link;
    while ((link = list_first(&h->window.starved)) != NULL) {
        struct h2_stream *s = container_of(link, struct h2_stream, ending);
        list_remove(link);
        if (nghttp2_session_resume_data(h->ng, s->id) == NGHTTP2_ERR_NOMEM)
            h2_conn_fail_with(h, WEIR_NOMEM);
    }
}
