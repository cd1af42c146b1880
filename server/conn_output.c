/* See conn.h: what goes out. */
#include "conn.h"

#include <errno.h>

#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/probes.h"
#include "internal/stats.h"
#include "map_guard.h"
#include "tls_conn.h"
#include "worker.h"

/* Bytes on the wire that may be staged: records, and what they add. */
static size_t conn_wire_max(const struct conn *c)
{
    return c->staged_max + c->staged_max / 64;
}

/* What is given to the socket. */
static struct weir_gather *conn_out(struct conn *c)
{
    return c->tls != NULL ? &c->wire : &c->plain;
}

static void conn_pull(struct conn *c)
{
    enum weir_err err = c->protocol->pull(c->session, &c->plain, c->staged_max);
    if (err == WEIR_AGAIN)
        c->must_pull = true;
    conn_on_result(c, err);
}

/*
 * Bytes of a buf that wait to be sent cannot be read: their file shrank.  The frames that they are
 * in have been begun, so zeros stand in, and the session sees to it that nobody takes them for the
 * body.  A protocol that cannot do that ends the connection before them.
 */
static void conn_lose(struct conn *c, struct weir_buf *lost)
{
    struct weir_buf *held = weir_buf_ref(lost); /* the list may drop the last reference */
    enum weir_err err = WEIR_IO;
    if (c->session != NULL)
        err = c->protocol->lose(c->session, lost);
    if (err == WEIR_OK) {
        weir_gather_replace(&c->plain, lost, &c->worker->zeros);
        c->must_pull = true;
        c->worker->stats.bodies_lost++;
    } else if (err == WEIR_CLOSED) {
        weir_gather_cut(&c->plain, lost);
        c->worker->stats.bodies_lost++;
    }
    weir_buf_unref(&held);
    conn_on_result(c, err);
}

/* Put zeros in the place of all that was lost in `plain`. */
static void conn_lose_poisoned(struct conn *c)
{
    for (;;) {
        struct weir_buf *lost = weir_gather_find_poisoned(&c->plain);
        if (lost == NULL || c->state >= CONN_LINGERING)
            return;
        conn_lose(c, lost);
    }
}

/*
 * The kernel stopped at a page that is not there.  It does not say in which slice: it copies in
 * chunks that span several.  So every page of a map is touched here, where the guard of file maps
 * marks those that are gone.
 */
static void conn_on_fault(struct conn *c)
{
    weir_gather_touch(&c->plain);
    conn_lose_poisoned(c);
}

/* plain ──▶ wire */
static void conn_seal(struct conn *c)
{
    size_t before = c->plain.len;
    WEIR_PROBE2(seal_begin, c->host.id, before);
    enum weir_err err;
    while ((err = tls_conn_seal(c->tls, &c->plain, &c->wire, conn_wire_max(c))) == WEIR_STREAM) {
        conn_lose_poisoned(c);
        if (c->state >= CONN_LINGERING)
            return;
    }
    WEIR_PROBE1(seal_end, c->host.id);
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

/*
 * Fill the list for the socket.
 * Invariant: must_pull is cleared where the session is pulled, or can be no more.  When `plain` has
 * a rest that did not fit on the wire, the session is asked only after that, and must not be
 * forgotten till then.
 */
static void conn_fill(struct conn *c)
{
    bool can_pull = c->state == CONN_OPEN && c->session != NULL;
    if (!can_pull || c->plain.len == 0)
        c->must_pull = false;
    if (can_pull && c->plain.len == 0)
        conn_pull(c);
    if (c->tls != NULL && c->state != CONN_CLOSING)
        conn_seal(c);
    /* What has been sealed has left the session's list, and may let it say more: ends of bodies. */
    if (c->tls != NULL && c->state == CONN_OPEN && c->session != NULL && c->must_pull &&
        c->plain.len == 0 && c->wire.len < c->staged_max) {
        c->must_pull = false;
        conn_pull(c);
        if (c->state != CONN_CLOSING)
            conn_seal(c);
    }
}

/*
 * Another connection of this worker may have read a page of the same map that is gone: the kernel
 * would then find zeros there, and no fault.
 */
static void conn_check_maps(struct conn *c)
{
    if (c->tls == NULL && map_guard_losses() > 0)
        conn_lose_poisoned(c);
}

void conn_flush(struct conn *c)
{
    if (c->state == CONN_CLOSING)
        return;
    if (c->is_sending) {
        c->must_pull = true;
        conn_arm(c); /* what came in may have set a deadline */
        return;
    }
    struct weir_gather *out = conn_out(c);
    if (out->len > 0)
        c->must_pull = true; /* a rest goes first; what the session has to say now comes after it */
    else if (c->state < CONN_LINGERING)
        conn_fill(c);
    if (c->state >= CONN_LINGERING)
        return;
    conn_check_maps(c);
    if (c->state >= CONN_LINGERING)
        return;
    conn_update_input(c);
    if (out->len > 0) {
        c->is_sending = true;
        pace_begin(&c->pace, conn_now_ms(c));
        WEIR_PROBE2(flush_begin, c->host.id, out->len);
        io_send(&c->sock, out);
    } else if (c->state == CONN_FLUSHING) {
        conn_enter(c, c->peer_ended ? CONN_CLOSING : CONN_LINGERING);
    }
    conn_arm(c);
}

/*
 * Output is staged in step with the peer: what it takes within some 20 ms.  So a slow one can still
 * be sent something more urgent, and a fast one costs fewer calls.  The blocks that records are
 * staged in are bounded with it: all peers together take no more in 20 ms than the network does.
 */
static void conn_note_rate(struct conn *c, size_t taken)
{
    c->rate_bytes += taken;
    uint64_t elapsed_ms = conn_now_ms(c) - c->rate_ms;
    if (elapsed_ms < LIMIT_STAGED_MS)
        return;
    size_t most = c->rate_bytes * LIMIT_STAGED_MS / elapsed_ms;
    c->rate_ms += elapsed_ms;
    c->rate_bytes = 0;
    if (most < 2 * LIMIT_STAGED_OUTPUT)
        most = LIMIT_STAGED_OUTPUT;
    else if (most > LIMIT_STAGED_OUTPUT_FAST)
        most = LIMIT_STAGED_OUTPUT_FAST;
    if (most / 2 >= c->staged_max || most <= c->staged_max / 2) {
        c->staged_max = most;
        io_limit_unsent(&c->sock, most);
    }
}

/*
 * Another connection may have found pages of the same map gone while these bytes were being sent.
 * Then zeros may have gone out in their place, and nobody can tell.
 */
static bool conn_may_have_lied(const struct conn *c)
{
    return c->tls == NULL && map_guard_losses() > 0 && weir_gather_find_poisoned(&c->plain) != NULL;
}

void conn_on_sent(struct io_sock *s, int res)
{
    struct conn *c = container_of(s, struct conn, sock);
    c->is_sending = false;
    WEIR_PROBE2(flush_end, c->host.id, res);
    if (c->state == CONN_CLOSING)
        return;
    struct weir_gather *out = conn_out(c);
    if (res == -EFAULT && c->tls == NULL) {
        conn_on_fault(c);
        res = 0;
    }
    if (c->state == CONN_CLOSING)
        return;
    if (res < 0 || (res > 0 && conn_may_have_lied(c))) {
        conn_abort(c);
        return;
    }
    weir_gather_consume(out, (size_t)res);
    c->taken += (uint64_t)res;
    if (out->len == 0)
        pace_rest(&c->pace);
    conn_note_rate(c, (size_t)res);
    if (c->tls == NULL)
        c->host.sent += (uint64_t)res;
    if (out->len > 0 || c->must_pull || c->state == CONN_FLUSHING)
        worker_mark_dirty(c->worker, c);
    else if (c->session != NULL && c->protocol->rest != NULL)
        c->protocol->rest(c->session);
}
