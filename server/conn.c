/* See conn.h: states, deadlines, life. */
#include "conn.h"

#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/probes.h"
#include "internal/stats.h"
#include "clock.h"
#include "mem.h"
#include "tls_conn.h"
#include "worker.h"

uint64_t conn_now_ms(const struct conn *c)
{
    return c->worker->clock.now_ms;
}

/* ---- deadlines ---- */

static uint64_t conn_deadline(const struct conn *c)
{
    /* until the protocol is known: by the preface, or after the handshake */
    static const uint64_t opening_ms[] = {
        [false] = LIMIT_PREFACE_MS,
        [true] = LIMIT_HANDSHAKE_MS,
    };
    uint64_t at = PROTOCOL_NO_DEADLINE;
    switch (c->state) {
    case CONN_OPEN:
        if (c->session != NULL)
            at = c->protocol->deadline(c->session);
        else
            at = c->host.opened_ms + opening_ms[c->tls != NULL];
        break;
    case CONN_LINGERING: at = c->linger_ms + LIMIT_LINGER_MS; break;
    case CONN_FLUSHING:
    case CONN_CLOSING: break;
    }
    return at;
}

static uint64_t conn_next_deadline(const struct conn *c)
{
    uint64_t at = conn_deadline(c);
    uint64_t pace = c->is_asking ? PACE_NEVER : pace_deadline(&c->pace);
    return pace < at ? pace : at;
}

/*
 * The timer fires early rather than late: moving a deadline back costs nothing.
 * Invariant: what closes has no timer: it may be gone before that would fire.
 */
void conn_arm(struct conn *c)
{
    if (c->state == CONN_CLOSING)
        return;
    uint64_t at = conn_next_deadline(c);
    if (at != PROTOCOL_NO_DEADLINE && (!timer_is_armed(&c->timer) || at < c->timer.due_ms))
        wheel_arm(&c->worker->wheel, &c->timer, at);
}

/* A limit is reached.  If the session has come to its end by an error, that one was counted. */
static void conn_cut(struct conn *c)
{
    if (!c->is_deaf)
        c->worker->stats.limit_breaches++;
    conn_abort(c);
}

static void on_timer(struct timer *t)
{
    struct conn *c = container_of(t, struct conn, timer);
    uint64_t now_ms = conn_now_ms(c);
    if (!c->is_asking && now_ms >= pace_deadline(&c->pace)) {
        c->is_asking = true;
        io_ask(&c->sock);
    }
    if (now_ms >= conn_deadline(c)) {
        if (c->state == CONN_LINGERING) {
            conn_abort(c);
            return;
        }
        if (c->state != CONN_OPEN || c->session == NULL) {
            conn_cut(c);
            return;
        }
        conn_on_result(c, c->protocol->timeout(c->session));
        worker_mark_dirty(c->worker, c);
    }
    conn_arm(c);
}

void conn_on_told(struct io_sock *s, size_t unacknowledged)
{
    struct conn *c = container_of(s, struct conn, sock);
    c->is_asking = false;
    if (c->state == CONN_CLOSING)
        return;
    uint64_t acknowledged = c->taken > unacknowledged ? c->taken - unacknowledged : 0;
    if (pace_look(&c->pace, conn_now_ms(c), acknowledged)) {
        conn_arm(c);
        return;
    }
    conn_cut(c);
}

/* ---- states ---- */

void conn_enter(struct conn *c, enum conn_state next)
{
    WEIR_ASSERT(next > c->state);
    c->state = next;
    switch (next) {
    case CONN_OPEN: break;
    case CONN_FLUSHING:
        if (c->tls != NULL)
            tls_conn_close(c->tls); /* close_notify follows the last bytes */
        break;
    case CONN_LINGERING:
        c->linger_ms = conn_now_ms(c);
        io_recv_start(&c->sock); /* it may have been stopped for a session that is done now */
        io_end_sending(&c->sock);
        break;
    case CONN_CLOSING:
        wheel_disarm(&c->worker->wheel, &c->timer);
        if (c->is_aborted)
            io_reset(&c->sock);
        else
            io_close(&c->sock);
        break;
    }
}

void conn_abort(struct conn *c)
{
    if (c->state == CONN_CLOSING)
        return;
    c->is_aborted = true;
    conn_enter(c, CONN_CLOSING);
}

void conn_on_result(struct conn *c, enum weir_err err)
{
    switch (err) {
    case WEIR_OK:
    case WEIR_AGAIN:
    case WEIR_STREAM: break;
    case WEIR_PROTO:
    case WEIR_LIMIT: c->is_deaf = true; break; /* the last words are still to be pulled */
    case WEIR_CLOSED:
        if (c->state == CONN_OPEN)
            conn_enter(c, CONN_FLUSHING);
        break;
    case WEIR_IO:
    case WEIR_NOMEM:
    case WEIR_CONFIG:
        log_line(LV_INFO, "connection dropped c=%llu reason=%s", (unsigned long long)c->host.id,
                 weir_err_name(err));
        conn_abort(c);
        break;
    }
}

void conn_drain(struct conn *c)
{
    if (c->state != CONN_OPEN)
        return;
    if (c->session != NULL)
        c->protocol->drain(c->session);
    else if (c->tls == NULL || (c->held.len == 0 && tls_conn_is_untouched(c->tls)))
        conn_enter(c, CONN_CLOSING); /* it has not said a word yet */
    if (c->state == CONN_OPEN)
        worker_mark_dirty(c->worker, c);
}

/* ---- life ---- */

static void on_wake(struct protocol_host *host)
{
    struct conn *c = container_of(host, struct conn, host);
    worker_mark_dirty(c->worker, c);
}

enum weir_err conn_new(struct worker *w, const struct listener *l, int handle)
{
    struct tls_conn *tls = NULL;
    struct conn *c = mem_take_zeroed(w->mem, sizeof(*c));
    if (c == NULL || (l->is_tls && tls_conn_new(w->config.tls, &w->tls_env, &tls) != WEIR_OK)) {
        mem_give(c);
        io_refuse(w->io, handle);
        return WEIR_NOMEM;
    }
    enum weir_err err = io_adopt(w->io, &c->sock, handle);
    if (err != WEIR_OK) {
        tls_conn_free(tls);
        mem_give(c);
        return err;
    }
    c->worker = w;
    c->tls = tls;
    c->speaks = l->speaks;
    if (tls != NULL && l->speaks != LISTENER_ANY)
        tls_conn_require_alpn(tls, conn_only_protocol(c)->name);
    c->host = (struct protocol_host){
        .wake = on_wake,
        .id = w->next_id++,
        .opened_ms = conn_now_ms(c),
        .is_tls = l->is_tls,
    };
    c->timer.fn = on_timer;
    c->staged_max = LIMIT_STAGED_OUTPUT;
    weir_gather_init(&c->held, w->mem);
    weir_gather_init(&c->plain, w->mem);
    weir_gather_init(&c->wire, w->mem);
    worker_add(w, c);
    conn_arm(c);
    WEIR_PROBE2(conn_open, c->host.id, l->is_tls);
    io_recv_start(&c->sock);
    return WEIR_OK;
}

void conn_on_closed(struct io_sock *s)
{
    struct conn *c = container_of(s, struct conn, sock);
    WEIR_ASSERT(c->state == CONN_CLOSING && !timer_is_armed(&c->timer));
    WEIR_PROBE1(conn_close, c->host.id);
    worker_remove(c->worker, c);
    if (c->session != NULL)
        c->protocol->close(c->session);
    tls_conn_free(c->tls);
    weir_gather_deinit(&c->held);
    weir_gather_deinit(&c->plain);
    weir_gather_deinit(&c->wire);
    mem_give(c);
}
