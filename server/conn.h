/*
 * A connection: pumps bytes between a socket and a protocol's session, and knows neither.
 *
 *     on_recv ──▶ session.feed          session.pull ──▶ out ──▶ io_send ──▶ on_sent ──▶ consume
 *
 *     OPEN ──▶ FLUSHING ──▶ LINGERING ──▶ CLOSING ──▶ freed
 *       └──────────┴─────────────────────────▲
 * OPEN:      the session works.
 * FLUSHING:  it has said its last word, which is being sent.
 * LINGERING: FIN is sent; what the peer still sends is thrown away, so that no reset overtakes the
 *            last bytes on their way to it.
 * CLOSING:   the socket is given up; its last completion frees the connection.
 *
 * Invariant: one send is in flight at most, and `out` is not touched meanwhile.
 * Thread:    its worker.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/protocol.h"
#include "io.h"
#include "wheel.h"

struct worker;

enum conn_state { CONN_OPEN, CONN_FLUSHING, CONN_LINGERING, CONN_CLOSING };

struct conn {
    struct io_sock sock;
    struct protocol_host host;
    struct worker *worker;
    const struct protocol *protocol; /* NULL until the first bytes have come */
    void *session;                   /* of protocol */
    struct weir_gather out;          /* bytes for the socket */
    enum conn_state state;
    bool is_dirty;      /* in the worker's list of connections to flush */
    bool is_sending;    /* a send is in flight */
    bool must_pull;     /* pull again when that has ended */
    bool is_deaf;       /* the session takes no more input */
    bool peer_ended;    /* the peer has sent FIN */
    struct timer timer; /* one for all deadlines, which it compares when it fires */
    uint64_t opened_ms;
    uint64_t progress_ms; /* when the send in flight began, or last moved */
    uint64_t linger_ms;   /* when LINGERING began */
    size_t linger_bytes;  /* thrown away since */
    struct conn *next;    /* in the worker's list of all */
    struct conn *prev;
    struct conn *dirty_next; /* in its list of dirty ones */
    struct conn *dirty_prev;
};

/* The socket's completions; the worker puts them into its io_events. */
void conn_on_recv(struct io_sock *s, int res, struct weir_slice data);
void conn_on_sent(struct io_sock *s, int res);
void conn_on_closed(struct io_sock *s);

/* Take in an accepted handle.  Err: NOMEM, IO: it has been refused. */
WEIR_MUST_USE
enum weir_err conn_new(struct worker *w, const struct listener *l, int handle);

/* Pull from the session and send; called by the worker once per turn for a dirty connection. */
void conn_flush(struct conn *c);

/* Begin an orderly end. */
void conn_drain(struct conn *c);

/* Give the connection up without a word; fine in every state. */
void conn_abort(struct conn *c);

#endif
