/* See conn.h: what comes in. */
#include "conn.h"

#include <string.h>

#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/probes.h"
#include "internal/stats.h"
#include "h2.h"
#include "http1.h"
#include "mem.h"
#include "sniff.h"
#include "tls_conn.h"
#include "worker.h"

void conn_update_input(struct conn *c)
{
    if (c->state != CONN_OPEN || c->session == NULL || c->protocol->wants_input == NULL)
        return;
    if (c->is_deaf || c->protocol->wants_input(c->session))
        io_recv_start(&c->sock);
    else
        io_recv_stop(&c->sock);
}

const struct protocol *conn_only_protocol(const struct conn *c)
{
    static const struct protocol *const only[] = {
        [LISTENER_ANY] = NULL,
        [LISTENER_H2] = &h2_protocol,
        [LISTENER_HTTP1] = &http1_protocol,
    };
    return only[c->speaks];
}

static void conn_open_session(struct conn *c, const struct protocol *protocol)
{
    c->protocol = protocol;
    enum weir_err err = protocol->open(&c->worker->env, &c->host, &c->session);
    if (err != WEIR_OK)
        conn_on_result(c, err);
    else if (c->worker->is_draining)
        protocol->drain(c->session);
}

static void conn_feed_session(struct conn *c, const struct weir_slice *data)
{
    if (c->state == CONN_OPEN && !c->is_deaf)
        conn_on_result(c, c->protocol->feed(c->session, data));
}

/* What was held back while the protocol was not known: a prefix of the preface, so its length is
 * enough to say it again. */
static void conn_replay_preface(struct conn *c)
{
    if (c->preface_len == 0)
        return;
    struct weir_buf *b = block_take(c->worker->mem, BLOCK_SMALL);
    if (b == NULL) {
        conn_on_result(c, WEIR_NOMEM);
        return;
    }
    memcpy(b->base, SNIFF_PREFACE, c->preface_len);
    const struct weir_slice held = {b, b->base, c->preface_len};
    conn_feed_session(c, &held);
    weir_buf_unref(&b);
}

/* Cleartext: the first bytes tell the protocol, however they are cut. */
static void conn_sniff(struct conn *c, const struct weir_slice *data)
{
    const struct protocol *only = conn_only_protocol(c);
    if (only != NULL) {
        conn_open_session(c, only); /* which says what it thinks of another's bytes */
        conn_feed_session(c, data);
        return;
    }
    uint8_t begin[SNIFF_PREFACE_LEN];
    memcpy(begin, SNIFF_PREFACE, c->preface_len);
    size_t room = sizeof(begin) - c->preface_len;
    size_t n = data->len < room ? data->len : room;
    memcpy(begin + c->preface_len, data->ptr, n);

    switch (sniff(begin, c->preface_len + n)) {
    case SNIFF_MORE: c->preface_len = (uint8_t)(c->preface_len + n); return;
    case SNIFF_H2: conn_open_session(c, &h2_protocol); break;
    case SNIFF_HTTP1: conn_open_session(c, &http1_protocol); break;
    }
    conn_replay_preface(c);
    conn_feed_session(c, data);
}

static void conn_on_end(struct conn *c)
{
    c->peer_ended = true;
    switch (c->state) {
    case CONN_OPEN:
        if (c->session == NULL)
            conn_enter(c, CONN_CLOSING);
        else if (!c->is_deaf)
            c->protocol->feed_end(c->session);
        break;
    case CONN_LINGERING: conn_enter(c, CONN_CLOSING); break;
    case CONN_FLUSHING:
    case CONN_CLOSING: break;
    }
}

/* ALPN has told the protocol (RFC 7301 3.2). */
static void conn_on_handshake(struct conn *c)
{
    c->host.opened_ms = conn_now_ms(c);
    bool is_h2 = strcmp(tls_conn_alpn(c->tls), h2_protocol.name) == 0;
    const struct protocol *chosen = is_h2 ? &h2_protocol : &http1_protocol;
    const struct protocol *only = conn_only_protocol(c);
    if (only == NULL || only == chosen)
        conn_open_session(c, chosen);
    else { /* no ALPN at all: HTTP/2 needs it (RFC 9113 3.3) */
        c->worker->stats.protocol_errors++;
        conn_enter(c, CONN_FLUSHING);
    }
}

static void conn_recv_tls(struct conn *c, const struct weir_slice *data)
{
    struct weir_gather text;
    weir_gather_init(&text, c->worker->mem);
    enum weir_err err = tls_conn_feed(c->tls, data, &text);
    if (c->session == NULL && c->state == CONN_OPEN && tls_conn_is_open(c->tls))
        conn_on_handshake(c);
    for (const struct weir_slice *s;
         c->session != NULL && (s = weir_gather_front(&text)) != NULL;) {
        conn_feed_session(c, s);
        weir_gather_consume(&text, s->len);
    }
    weir_gather_deinit(&text);
    if (c->state == CONN_CLOSING)
        return;
    if (err == WEIR_CLOSED) {
        conn_on_end(c);
    } else if (err == WEIR_PROTO || err == WEIR_LIMIT) {
        /* The alert is the last word: whatever the session has to say cannot be read any more. */
        c->worker->stats.protocol_errors++;
        c->is_deaf = true;
        if (c->state == CONN_OPEN)
            conn_enter(c, CONN_FLUSHING);
    } else {
        conn_on_result(c, err);
    }
}

/* During the handshake a connection takes its turn. */
static void conn_recv_handshake(struct conn *c, struct weir_slice *data)
{
    if (c->held.len == 0 && worker_may_handshake(c->worker, c)) {
        conn_recv_tls(c, data);
        return;
    }
    io_recv_stop(&c->sock);
    struct weir_slice held = *data;
    *data = (struct weir_slice){0};
    conn_on_result(c, weir_gather_append(&c->held, held));
}

void conn_resume_handshake(struct conn *c)
{
    const struct weir_slice *front;
    while (c->state != CONN_CLOSING && (front = weir_gather_front(&c->held)) != NULL) {
        struct weir_slice data = weir_slice_of(front->buf, front->ptr, front->len);
        weir_gather_consume(&c->held, data.len); /* so that the bytes are ours alone again */
        conn_recv_tls(c, &data);
        weir_slice_drop(&data);
    }
    if (c->state == CONN_CLOSING)
        return;
    io_recv_start(&c->sock);
    worker_mark_dirty(c->worker, c);
}

static void conn_throw_away(struct conn *c, size_t len)
{
    c->linger_bytes += len;
    if (c->state == CONN_LINGERING && c->linger_bytes > LIMIT_LINGER_BYTES)
        conn_enter(c, CONN_CLOSING);
}

/* FIN.  With TLS it only counts after close_notify: else the stream was cut (RFC 8446 6.1). */
static void conn_recv_end(struct conn *c)
{
    bool is_cut = c->tls != NULL && c->state == CONN_OPEN && !c->peer_ended &&
                  tls_conn_feed_end(c->tls) != WEIR_OK;
    if (is_cut)
        conn_abort(c);
    else
        conn_on_end(c);
}

void conn_on_recv(struct io_sock *s, int res, struct weir_slice data)
{
    struct conn *c = container_of(s, struct conn, sock);
    WEIR_PROBE2(input, c->host.id, res);
    if (c->state == CONN_CLOSING) {
        weir_slice_drop(&data);
        return;
    }
    if (res < 0)
        conn_abort(c);
    else if (res == 0)
        conn_recv_end(c);
    else if (c->state != CONN_OPEN || c->is_deaf)
        conn_throw_away(c, data.len);
    else if (c->tls != NULL && c->session == NULL)
        conn_recv_handshake(c, &data);
    else if (c->tls != NULL)
        conn_recv_tls(c, &data);
    else if (c->session == NULL)
        conn_sniff(c, &data);
    else
        conn_feed_session(c, &data);
    weir_slice_drop(&data);
    if (c->state == CONN_CLOSING)
        return;
    conn_update_input(c);
    conn_flush(c); /* at once: what the answers are made of is still in the processor's cache */
}
