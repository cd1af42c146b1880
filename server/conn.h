/*
 * A connection: pumps bytes between a socket and a protocol's session, and knows neither.
 *
 *     on_recv ──▶ [tls feed ──▶] session.feed
 *     session.pull ──▶ plain ──▶ [tls seal ──▶ wire] ──▶ io_send ──▶ on_sent ──▶ consume
 *
 *     OPEN ──▶ FLUSHING ──▶ LINGERING ──▶ CLOSING ──▶ freed
 *       └──────────┴─────────────────────────▲
 * OPEN:      the session works, or is not there yet: the protocol is told by the first bytes, or by
 *            ALPN once the handshake is done.
 * FLUSHING:  the last word is said, and is being sent.
 * LINGERING: FIN is sent; what the peer still sends is thrown away, so that no reset overtakes the
 *            last bytes on their way to it.
 * CLOSING:   the socket is given up; its last completion frees the connection.
 *
 * Invariant: one send is in flight at most, and the list it is from is not touched meanwhile.
 * Thread:    its worker.
 *
 * Files: conn.c has the states, deadlines and life; conn_input.c what comes in; conn_output.c what
 * goes out.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/protocol.h"
#include "io.h"
#include "listener.h"
#include "list.h"
#include "pace.h"
#include "wheel.h"

struct tls_conn;
struct worker;

enum conn_state { CONN_OPEN, CONN_FLUSHING, CONN_LINGERING, CONN_CLOSING };

struct conn {
    struct io_sock sock;
    struct protocol_host host;
    struct worker *worker;
    const struct protocol *protocol; /* NULL until it is known */
    void *session;                   /* of protocol; NULL until then */
    enum listener_speaks speaks;     /* which protocols may become it */
    struct tls_conn *tls;            /* Own; NULL for cleartext */
    struct weir_gather plain;        /* output of the session */
    struct weir_gather wire;         /* with TLS: the same in records */
    enum conn_state state;
    bool is_sending;         /* a send is in flight */
    bool must_pull;          /* pull again when that has ended */
    bool is_aborted;         /* closed by a reset: what is unsent is not worth sending */
    bool is_deaf;            /* the session takes no more input */
    bool peer_ended;         /* the peer sends nothing more */
    uint8_t preface_len;     /* bytes of the h2 preface seen while the protocol is not known */
    struct timer timer;      /* one for all deadlines, which it compares when it fires */
    bool is_asking;          /* how the peer takes it has been asked */
    struct pace pace;        /* whether the peer takes what is due */
    uint64_t taken;          /* bytes that the kernel took, ever */
    size_t staged_max;       /* bytes of output to stage: what the peer takes in LIMIT_STAGED_MS */
    uint64_t rate_ms;        /* when the measurement of that began */
    size_t rate_bytes;       /* taken since */
    uint64_t linger_ms;      /* when LINGERING began */
    size_t linger_bytes;     /* thrown away since */
    struct weir_gather held; /* bytes of a handshake that waits for its turn */
    struct list all;         /* in the worker's list of all connections */
    struct list dirty;       /* in its list of those to flush */
    struct list waiting;     /* in its list of those whose handshake waits */
};

/* The socket's completions; the worker puts them into its io_events. */
void conn_on_recv(struct io_sock *s, int res, struct weir_slice data);
void conn_on_sent(struct io_sock *s, int res);
void conn_on_told(struct io_sock *s, size_t unacknowledged);
void conn_on_closed(struct io_sock *s);

/* Take in an accepted handle.  Err: NOMEM, IO: it has been refused. */
WEIR_MUST_USE
enum weir_err conn_new(struct worker *w, const struct listener *l, int handle);

/* Pull from the session and send, if nothing is being sent. */
void conn_flush(struct conn *c);

/* Go on with the handshake of a connection that waited. */
void conn_resume_handshake(struct conn *c);

/* Begin an orderly end. */
void conn_drain(struct conn *c);

/* ---- between the files of the connection ---- */

/* The only writer of the state. */
void conn_enter(struct conn *c, enum conn_state next);

/* Act on what a call of the session, or of TLS, gave. */
void conn_on_result(struct conn *c, enum weir_err err);

/* Arm the timer for the nearest deadline. */
void conn_arm(struct conn *c);

/* The protocol that the listener insists on; NULL for none. */
const struct protocol *conn_only_protocol(const struct conn *c);

/* Let receiving follow what the session can take. */
void conn_update_input(struct conn *c);

uint64_t conn_now_ms(const struct conn *c);

/* Give the connection up without a word; fine in every state. */
void conn_abort(struct conn *c);

#endif
