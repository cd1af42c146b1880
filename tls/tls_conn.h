/*
 * The TLS side of one connection: bytes from the peer in, plaintext out, and the other way round.
 * It does no I/O.  OpenSSL does the handshake; then its object is freed, and records are ours.
 *
 *     receive block ──▶ tls_conn_feed ──▶ plain list ──▶ protocol session
 *     wire list     ◀── tls_conn_seal ◀── plain list ◀── protocol session
 *
 * Reading:  HANDSHAKE ──▶ OPEN ──▶ ENDED (close_notify)      FAILED from any of the first two
 * Writing:  OPEN ──▶ CLOSING (close_notify or an alert is due) ──▶ CLOSED
 *
 * Once the handshake is done an idle connection holds 352 bytes of its own and two keys made ready:
 * 1280 bytes by vaes, 2048 by ipsec-mb, 32 and 2288 of OpenSSL's by openssl.  A test holds the sum
 * below 3 KiB.
 *
 * Thread: the worker that owns the connection.
 */
#ifndef TLS_TLS_CONN_H
#define TLS_TLS_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/buf.h"
#include "weir/err.h"
#include "weir/gather.h"

struct clock;
struct mem;
struct tls_conn;
struct tls_ctx;

/* A worker's counters. */
struct tls_stats {
    uint64_t handshakes;       /* completed, resumed ones included */
    uint64_t resumed;          /* of those, by a ticket */
    uint64_t handshake_faults; /* handshakes that failed */
    uint64_t alerts_sent;      /* fatal ones of ours, after the handshake */
    uint64_t alerts_received;  /* fatal ones of the peer, after the handshake */
    uint64_t truncations;      /* connections that the peer cut without close_notify */
    uint64_t key_updates;      /* keys changed, either direction */
    uint64_t records_sealed;   /* after the handshake */
    uint64_t records_opened;
    uint64_t bytes_staged; /* plaintext copied before it was sealed: short pieces, ends of others */
    uint64_t bytes_joined; /* received bytes copied as their record came in several blocks */
};

/* What all connections of a worker share.  Outlives them. */
struct tls_env {
    struct mem *mem;
    const struct clock *clock;
    struct tls_stats *stats;
};

/*
 * A connection that waits for a ClientHello.  Costs little until the first byte comes.
 * Borrowed: ctx and env.  Own: tls_conn_free().  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err tls_conn_new(const struct tls_ctx *ctx, const struct tls_env *env,
                           struct tls_conn **out);

/*
 * Take no other protocol than this one, by its name in ALPN: "h2" or "http/1.1".  A client that
 * offers only others gets the alert no_application_protocol (RFC 7301 3.2); one that offers none at
 * all is let through.  Before the first byte.
 * Borrowed: name, as long as the connection lives.
 */
void tls_conn_require_alpn(struct tls_conn *c, const char *name);

/* Wipe and release everything; sends nothing.  NULL is fine. */
void tls_conn_free(struct tls_conn *c);

/*
 * Take in bytes from the peer and append what they hold to `plain`, as slices of the same block.
 * Call tls_conn_seal() afterwards: there may be something to send.
 *
 * Borrowed: in.  Its bytes are the caller's alone to give: they are decrypted where they lie.  The
 *           slices in `plain` hold references of their own.
 * Err: WEIR_CLOSED: the peer sends nothing more (close_notify); what came before is in `plain`.
 *      WEIR_PROTO, WEIR_LIMIT: seal once more, that gives the alert; send it, then close.
 *      WEIR_IO: the peer has given up by a fatal alert; close without a word.
 *      WEIR_NOMEM: close.
 *      After any of them feed gives the same again and takes in nothing.
 */
WEIR_MUST_USE
enum weir_err tls_conn_feed(struct tls_conn *c, const struct weir_slice *in,
                            struct weir_gather *plain);

/*
 * The transport says that the peer sends nothing more.
 * WEIR_OK: after close_notify, a clean end.  WEIR_IO: the stream was cut; do not take what came as
 * complete.
 */
WEIR_MUST_USE
enum weir_err tls_conn_feed_end(struct tls_conn *c);

/*
 * Append to `wire` whatever is to be sent: bytes of the handshake, replies, then `plain` as records
 * until `wire` holds about `budget` bytes, then, if the end is near, the last record.  What was
 * sealed is consumed from `plain`.
 *
 * WEIR_OK: that is all for now.  WEIR_AGAIN: budget or memory is spent, `plain` has more: go on
 * when some of `wire` has been sent.  WEIR_CLOSED: nothing follows what is in `wire`: an alert or
 * close_notify is the last of it, or the handshake ended there; `plain` may have a rest, drop it.
 * Err: WEIR_STREAM: a slice near the front of `plain` reads from a buf that is poisoned
 *      (weir_buf.poisoned): nothing read from it is in `wire`, and `plain` still has all that was
 *      not sealed.  Take it out of `plain` before the next call.
 *      WEIR_NOMEM: close.
 */
WEIR_MUST_USE
enum weir_err tls_conn_seal(struct tls_conn *c, struct weir_gather *plain, struct weir_gather *wire,
                            size_t budget);

/* Has tls_conn_seal() something to emit even when `plain` is empty? */
bool tls_conn_wants_seal(const struct tls_conn *c);

/* End our direction: close_notify follows what is in `plain` then.  Idempotent. */
void tls_conn_close(struct tls_conn *c);

/* Not a byte of the peer has come yet. */
bool tls_conn_is_untouched(const struct tls_conn *c);

/* The handshake is done. */
bool tls_conn_is_open(const struct tls_conn *c);

/* "h2" or "http/1.1"; NULL before the handshake is done.  Borrowed: a literal. */
const char *tls_conn_alpn(const struct tls_conn *c);

/* The cipher suite and its engine, for logs; NULL before the handshake is done. */
const char *tls_conn_cipher(const struct tls_conn *c);

/* A session was resumed by a ticket. */
bool tls_conn_is_resumed(const struct tls_conn *c);

/* Why it failed, for logs; NULL if it did not.  Borrowed: lives as long as the program. */
const char *tls_conn_fault(const struct tls_conn *c);

#endif
