/* See conn.h. */
#include "conn.h"

#include <string.h>

#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "clock.h"
#include "h2.h"
#include "mem.h"
#include "worker.h"

static uint64_t now_ms(const struct conn *c)
{
    return c->worker->clock.now_ms;
}

static struct conn *conn_of(struct io_sock *s)
{
    return container_of(s, struct conn, sock);
}

/* ---- deadlines ---- */

static uint64_t conn_deadline(const struct conn *c)
{
    uint64_t at = PROTOCOL_NO_DEADLINE;
    switch (c->state) {
    case CONN_OPEN:
        at = c->session == NULL ? c->opened_ms + LIMIT_PREFACE_MS
                                : c->protocol->deadline(c->session);
        break;
    case CONN_LINGERING: at = c->linger_ms + LIMIT_LINGER_MS; break;
    case CONN_FLUSHING:
    case CONN_CLOSING: break;
    }
    uint64_t stall = c->progress_ms + LIMIT_WRITE_STALL_MS;
    return c->is_sending && stall < at ? stall : at;
}

/* The timer fires early rather than late: moving a deadline back costs nothing. */
static void conn_arm(struct conn *c)
{
    uint64_t at = conn_deadline(c);
    if (at != PROTOCOL_NO_DEADLINE && (!timer_is_armed(&c->timer) || at < c->timer.due_ms))
        wheel_arm(&c->worker->wheel, &c->timer, at);
}

/* ---- states ---- */

/* The only writer of c->state after conn_new(); entry actions live here. */
static void conn_enter(struct conn *c, enum conn_state next)
{
    WEIR_ASSERT(next > c->state);
    c->state = next;
    switch (next) {
    case CONN_OPEN:
    case CONN_FLUSHING: break;
    case CONN_LINGERING:
        c->linger_ms = now_ms(c);
        io_end_sending(&c->sock);
        break;
    case CONN_CLOSING:
        wheel_disarm(&c->worker->wheel, &c->timer);
        io_close(&c->sock);
        break;
    }
}

void conn_abort(struct conn *c)
{
    if (c->state != CONN_CLOSING)
        conn_enter(c, CONN_CLOSING);
}

/* Everything is sent. */
static void conn_finish(struct conn *c)
{
    conn_enter(c, c->peer_ended ? CONN_CLOSING : CONN_LINGERING);
}

/* What a result of the session means for the connection. */
static void conn_on_result(struct conn *c, enum weir_err err)
{
    switch (err) {
    case WEIR_OK:
    case WEIR_AGAIN:
    case WEIR_STREAM: break;
    case WEIR_PROTO:
    case WEIR_LIMIT: c->is_deaf = true; break; /* its last words are still to be pulled */
    case WEIR_CLOSED: conn_enter(c, CONN_FLUSHING); break;
    case WEIR_IO:
    case WEIR_NOMEM:
    case WEIR_CONFIG:
        log_line(LV_WARN, "connection dropped c=%llu reason=%s", (unsigned long long)c->host.id,
                 weir_err_name(err));
        conn_abort(c);
        break;
    }
}

static void on_timer(struct timer *t)
{
    struct conn *c = container_of(t, struct conn, timer);
    if (now_ms(c) >= conn_deadline(c)) {
        bool is_stalled = c->is_sending && now_ms(c) >= c->progress_ms + LIMIT_WRITE_STALL_MS;
        if (is_stalled || c->state != CONN_OPEN || c->session == NULL) {
            if (c->state != CONN_LINGERING)
                c->worker->stats.limit_breaches++;
            conn_abort(c);
            return;
        }
        conn_on_result(c, c->protocol->timeout(c->session));
        worker_mark_dirty(c->worker, c);
    }
    if (c->state != CONN_CLOSING)
        conn_arm(c);
}

/* ---- input ---- */

/* The first bytes tell the protocol. */
static void conn_open_session(struct conn *c)
{
    c->protocol = &h2_protocol;
    enum weir_err err = c->protocol->open(&c->worker->env, &c->host, &c->session);
    if (err != WEIR_OK)
        conn_on_result(c, err);
    else if (c->worker->is_draining)
        c->protocol->drain(c->session);
}

static void conn_on_end(struct conn *c)
{
    c->peer_ended = true;
    switch (c->state) {
    case CONN_OPEN:
        if (c->session == NULL)
            conn_enter(c, CONN_CLOSING);
        else
            c->protocol->feed_end(c->session);
        break;
    case CONN_LINGERING: conn_enter(c, CONN_CLOSING); break;
    case CONN_FLUSHING:
    case CONN_CLOSING: break;
    }
}

static void conn_throw_away(struct conn *c, size_t len)
{
    c->linger_bytes += len;
    if (c->state == CONN_LINGERING && c->linger_bytes > LIMIT_LINGER_BYTES)
        conn_enter(c, CONN_CLOSING);
}

void conn_on_recv(struct io_sock *s, int res, struct weir_slice data)
{
    struct conn *c = conn_of(s);
    if (c->state == CONN_CLOSING) {
        weir_slice_drop(&data);
        return;
    }
    if (res < 0) {
        conn_abort(c);
    } else if (res == 0) {
        conn_on_end(c);
    } else if (c->state != CONN_OPEN || c->is_deaf) {
        conn_throw_away(c, data.len);
    } else {
        if (c->session == NULL)
            conn_open_session(c);
        if (c->state == CONN_OPEN)
            conn_on_result(c, c->protocol->feed(c->session, &data));
    }
    weir_slice_drop(&data);
    worker_mark_dirty(c->worker, c);
}

/* ---- output ---- */

static void conn_pull(struct conn *c)
{
    c->must_pull = false;
    enum weir_err err = c->protocol->pull(c->session, &c->out, LIMIT_STAGED_OUTPUT);
    c->must_pull = err == WEIR_AGAIN;
    conn_on_result(c, err);
}

void conn_flush(struct conn *c)
{
    c->is_dirty = false;
    if (c->is_sending) {
        c->must_pull = true;
        return;
    }
    if (c->state == CONN_OPEN && c->session != NULL && c->out.len == 0)
        conn_pull(c);
    if (c->state == CONN_CLOSING)
        return;
    if (c->out.len > 0 && c->state != CONN_LINGERING) {
        c->is_sending = true;
        c->progress_ms = now_ms(c);
        io_send(&c->sock, &c->out);
    } else if (c->state == CONN_FLUSHING) {
        conn_finish(c);
    }
    if (c->state != CONN_CLOSING)
        conn_arm(c);
}

void conn_on_sent(struct io_sock *s, int res)
{
    struct conn *c = conn_of(s);
    c->is_sending = false;
    if (c->state == CONN_CLOSING)
        return;
    if (res < 0) {
        conn_abort(c);
        return;
    }
    weir_gather_consume(&c->out, (size_t)res);
    c->host.sent += (uint64_t)res;
    if (c->out.len > 0 || c->must_pull || c->state == CONN_FLUSHING)
        worker_mark_dirty(c->worker, c);
}

static void on_wake(struct protocol_host *host)
{
    struct conn *c = container_of(host, struct conn, host);
    worker_mark_dirty(c->worker, c);
}

void conn_drain(struct conn *c)
{
    if (c->state != CONN_OPEN)
        return;
    if (c->session == NULL)
        conn_enter(c, CONN_CLOSING); /* it has not said a word yet */
    else
        c->protocol->drain(c->session);
    if (c->state == CONN_OPEN)
        worker_mark_dirty(c->worker, c);
}

/* ---- life ---- */

enum weir_err conn_new(struct worker *w, const struct listener *l, int handle)
{
    struct conn *c = mem_take_zeroed(w->mem, sizeof(*c));
    if (c == NULL) {
        io_refuse(w->io, handle);
        return WEIR_NOMEM;
    }
    enum weir_err err = io_adopt(w->io, &c->sock, handle);
    if (err != WEIR_OK) {
        mem_give(c);
        return err;
    }
    c->worker = w;
    c->host = (struct protocol_host){.wake = on_wake, .id = w->next_id++, .is_tls = l->is_tls};
    c->opened_ms = now_ms(c);
    c->timer.fn = on_timer;
    weir_gather_init(&c->out, w->mem);
    worker_add(w, c);
    conn_arm(c);
    io_recv_start(&c->sock);
    return WEIR_OK;
}

void conn_on_closed(struct io_sock *s)
{
    struct conn *c = conn_of(s);
    worker_remove(c->worker, c);
    if (c->session != NULL)
        c->protocol->close(c->session);
    weir_gather_deinit(&c->out);
    mem_give(c);
}
