/*
 * The handshake: OpenSSL between bytes in and bytes out (RFC 8446 4).
 *
 * OpenSSL reads a record by its head and then its body and no byte more, so what it has not read
 * when the handshake is done is application data.  What it wrote under the application key by then
 * (session tickets) is counted, since the records that follow go on with its numbers.
 *
 * Thread: one worker.
 */
#ifndef TLS_HANDSHAKE_H
#define TLS_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "context_state.h"
#include "kdf.h"
#include "keys.h"
#include "weir/err.h"
#include "weir/gather.h"

struct clock;
struct mem;

struct handshake {
    const struct tls_ctx *ctx; /* Borrowed */
    const struct clock *clock; /* Borrowed */
    SSL *ssl;                  /* Own */
    const char *alpn;          /* Borrowed: the one protocol to take; NULL: any of ours */
    const uint8_t *in;         /* received bytes that OpenSSL has not read */
    size_t in_len;
    size_t taken;            /* bytes that OpenSSL has read, ever */
    struct weir_gather *out; /* Borrowed: what OpenSSL writes goes here */
    bool is_over_limit;      /* LIMIT_HANDSHAKE_BYTES is reached */
    bool is_out_of_memory;   /* out did not take the bytes */
    struct kdf_secrets secrets;
    uint64_t app_records; /* records that OpenSSL has written since it had secrets.server */
    const char *fault;    /* why it failed.  Borrowed: a literal, or OpenSSL's */
};

/* What was negotiated. */
struct handshake_result {
    const struct keys_suite *suite; /* Borrowed: of the context */
    bool is_h2;                     /* ALPN h2; else http/1.1 */
    bool is_resumed;                /* by a ticket */
    uint16_t text_max;              /* most bytes of content in a record, either way (RFC 6066 4) */
};

/* Own: handshake_free().  Borrowed: out, for as long as it lives.  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err handshake_new(const struct tls_ctx *ctx, const struct clock *clock, struct mem *mem,
                            struct weir_gather *out, struct handshake **result);

/* Wipe and forget.  OpenSSL writes nothing here.  NULL is fine. */
void handshake_free(struct handshake *hs);

/*
 * Take in bytes; *used says how many.  WEIR_OK: the handshake is done, and handshake_result()
 * may be called.  WEIR_AGAIN: it wants more.
 * Err: WEIR_PROTO: failed, and the alert, if there is one to send, is in the output.
 *      WEIR_LIMIT: too many bytes.  WEIR_IO: the peer gave up.  WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err handshake_feed(struct handshake *hs, const uint8_t *bytes, size_t len, size_t *used);

/* False if it is nothing we know. */
bool handshake_result(const struct handshake *hs, struct handshake_result *out);

/* The handshake that a callback of OpenSSL is about. */
struct handshake *handshake_from(const SSL *ssl);

/* Set up a context for handshakes.  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err handshake_ctx_init(struct tls_ctx *ctx);

#endif
