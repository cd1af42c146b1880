/*
 * What a connection needs of a protocol: a table of functions that turn bytes into requests and
 * responses into bytes.  h2 fills it, http1 does, and a third one needs no change in the
 * connection.
 *
 * A session does no I/O: it knows no descriptor, no thread, and no clock but env->clock.  Output
 * is pulled: the connection calls pull() when nothing of it is in flight, so a slow peer costs one
 * budget of memory and the order of streams is decided as late as possible.
 *
 *     feed(bytes) ──▶ env->handler(request) ──▶ weir_respond() ──▶ pull(out)
 *
 * Thread: the worker that owns the connection.
 */
#ifndef INTERNAL_PROTOCOL_H
#define INTERNAL_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/buf.h"
#include "weir/err.h"
#include "weir/gather.h"
#include "weir/handler.h"

struct clock;
struct mem;
struct ready_heads;
struct stats;

/*
 * Answer, at once, a request that the protocol itself refuses: with that status and a body that
 * suits its fields, as far as these are known.  Of the rest of the request nothing may be.
 */
typedef void refusal_fn(void *ctx, struct weir_request *r, unsigned status);

/* What all sessions of a worker share.  Outlives them. */
struct protocol_env {
    struct mem *mem;
    const struct clock *clock;
    struct stats *stats;
    weir_handler_fn *handler;
    refusal_fn *refuse;        /* NULL: the protocol's own few words do */
    void *handler_ctx;         /* of both */
    struct ready_heads *heads; /* of HTTP/1; NULL: none are kept */
};

/* The connection as its session sees it. */
struct protocol_host {
    /* There is output, or a deadline has changed, outside of a call of the table: pull soon. */
    void (*wake)(struct protocol_host *host);
    uint64_t id;        /* of the connection, for logs */
    uint64_t sent;      /* bytes of output that have left the gather list of pull(), ever */
    uint64_t opened_ms; /* when it was accepted, or its TLS handshake was done */
    bool is_tls;        /* requests came over TLS */
};

#define PROTOCOL_NO_DEADLINE UINT64_MAX

struct protocol {
    const char *name; /* as in ALPN: "h2", "http/1.1" */

    /*
     * Start a session.
     * Borrowed: env and host, for as long as the session lives.
     * Own: *session goes to close().  Err: WEIR_NOMEM.
     */
    enum weir_err (*open)(const struct protocol_env *env, struct protocol_host *host,
                          void **session);

    /*
     * Take in bytes from the peer.
     * Borrowed: in; the session takes a reference if it keeps a view of it.
     * Err: PROTO, LIMIT: the session has prepared its last words (GOAWAY): pull until CLOSED.
     *      NOMEM, IO: there is nothing more to say.  After any error feed is not called again.
     */
    enum weir_err (*feed)(void *session, const struct weir_slice *in);

    /*
     * False: the session has as much to do as it takes on; read no more until it is true again.
     * Asked after every call of the table.  NULL: always true.
     */
    bool (*wants_input)(const void *session);

    /* The peer sends nothing more (FIN, close_notify).  Responses under way may go on. */
    void (*feed_end)(void *session);

    /*
     * Append output to `out` until it holds about `budget` bytes.
     * OK: that is all for now.  AGAIN: the budget is spent, there is more.  CLOSED: these are the
     * last bytes, close when they are sent.  Else: as feed().
     */
    enum weir_err (*pull)(void *session, struct weir_gather *out, size_t budget);

    /*
     * All output has left the connection, and nothing need ever follow: let go of what was kept
     * for it.  NULL: nothing is.
     */
    void (*rest)(void *session);

    /*
     * Bytes of `lost`, the buf of a slice that pull() gave, cannot be read any more: a file shrank.
     * What is left of them will be sent as zeros.  See that no response with bytes of its whole
     * ends as if it were complete.
     * Err: WEIR_CLOSED: only the end of the connection does that: what lies before those bytes is
     *      the last that is sent.  WEIR_IO: not even that, but a reset.
     */
    enum weir_err (*lose)(void *session, const struct weir_buf *lost);

    /* Begin an orderly end: take no new requests, finish those that are open. */
    void (*drain)(void *session);

    /* When timeout() wants to be called: monotonic ms, or PROTOCOL_NO_DEADLINE. */
    uint64_t (*deadline)(const void *session);

    /* A deadline may have passed: act on those that have.  Err: as feed(). */
    enum weir_err (*timeout)(void *session);

    /* The connection is gone: release everything. */
    void (*close)(void *session);
};

#endif
