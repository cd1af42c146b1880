/* See conn.h: what goes out. */
#include "conn.h"

#include "internal/assert.h"
#include "internal/limits.h"
#include "tls_conn.h"
#include "worker.h"

/* Records that may be staged, with their overhead. */
#define WIRE_BUDGET (LIMIT_STAGED_OUTPUT + LIMIT_STAGED_OUTPUT / 64)

/* What is given to the socket. */
static struct weir_gather *conn_out(struct conn *c)
{
    return c->tls != NULL ? &c->wire : &c->plain;
}

static void conn_pull(struct conn *c)
{
    enum weir_err err = c->protocol->pull(c->session, &c->plain, LIMIT_STAGED_OUTPUT);
    if (err == WEIR_AGAIN)
        c->must_pull = true;
    conn_on_result(c, err);
}

/* plain ──▶ wire */
static void conn_seal(struct conn *c)
{
    size_t before = c->plain.len;
    enum weir_err err = tls_conn_seal(c->tls, &c->plain, &c->wire, WIRE_BUDGET);
    c->host.sent += before - c->plain.len;
    if (err == WEIR_CLOSED) {
        weir_gather_consume(&c->plain, c->plain.len); /* nothing follows an alert */
        if (c->state == CONN_OPEN)
            conn_enter(c, CONN_FLUSHING);
        return;
    }
    if (err == WEIR_AGAIN)
        c->must_pull = true;
    conn_on_result(c, err);
}

/* Fill the list for the socket. */
static void conn_fill(struct conn *c)
{
    c->must_pull = false;
    if (c->state == CONN_OPEN && c->session != NULL && c->plain.len == 0)
        conn_pull(c);
    if (c->tls != NULL && c->state != CONN_CLOSING)
        conn_seal(c);
}

void conn_flush(struct conn *c)
{
    if (c->is_sending) {
        c->must_pull = true;
        return;
    }
    struct weir_gather *out = conn_out(c);
    if (c->state < CONN_LINGERING && out->len == 0)
        conn_fill(c);
    if (c->state >= CONN_LINGERING)
        return;
    conn_update_input(c);
    if (out->len > 0) {
        c->is_sending = true;
        c->progress_ms = conn_now_ms(c);
        io_send(&c->sock, out);
    } else if (c->state == CONN_FLUSHING) {
        conn_enter(c, c->peer_ended ? CONN_CLOSING : CONN_LINGERING);
    }
    if (c->state != CONN_CLOSING)
        conn_arm(c);
}

void conn_on_sent(struct io_sock *s, int res)
{
    struct conn *c = container_of(s, struct conn, sock);
    c->is_sending = false;
    if (c->state == CONN_CLOSING)
        return;
    if (res < 0) {
        conn_abort(c);
        return;
    }
    struct weir_gather *out = conn_out(c);
    weir_gather_consume(out, (size_t)res);
    if (c->tls == NULL)
        c->host.sent += (uint64_t)res;
    if (out->len > 0 || c->must_pull || c->state == CONN_FLUSHING)
        worker_mark_dirty(c->worker, c);
}
