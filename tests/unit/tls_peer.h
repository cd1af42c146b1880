/*
 * A TLS connection of weir's and a client of OpenSSL's, joined without a socket, for the tests of
 * tls/.  After the handshake the client may be set aside, and a test seals and opens records
 * itself, with the client's secrets, to send what no library would.
 */
#ifndef TESTS_TLS_PEER_H
#define TESTS_TLS_PEER_H

#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/ssl.h>

#include "clock.h"
#include "tls_conn.h"
#include "tls_conn_state.h"
#include "tls_context.h"
#include "context_state.h"
#include "mem.h"
#include "record.h"
#include "weir/gather.h"

/* ALPN in wire form */
#define ALPN_H2 "\x02h2"
#define ALPN_HTTP1 "\x08http/1.1"
#define ALPN_BOTH ALPN_H2 ALPN_HTTP1

/* How the client is set up and how its bytes reach us. */
struct peer_config {
    const char *alpn;     /* NULL: none */
    const char *suites;   /* NULL: OpenSSL's order */
    const char *groups;   /* NULL: OpenSSL's */
    const char *sni;      /* NULL: none */
    int max_version;      /* 0: TLS 1.3 */
    uint8_t max_fragment; /* TLSEXT_max_fragment_length_*; 0: none */
    size_t chunk;         /* bytes per receive block; 0: as many as fit */
    SSL_SESSION *session; /* to resume; NULL: none */
    struct mem *mem;      /* Borrowed: of the server; NULL: its own */
    SSL_CTX *client;      /* of a client before, which costs most of one; NULL: a new one */
};

struct peer {
    /* ours */
    struct mem *mem;
    bool is_mem_borrowed;
    struct clock clock;
    struct tls_stats stats;
    struct tls_env env;
    struct tls_conn *conn;
    struct weir_gather received; /* plaintext that came */
    struct weir_gather plain;    /* plaintext to send */
    struct weir_gather wire;     /* sealed, to be taken by the client */
    enum weir_err fed;           /* what the last feed said */
    enum weir_err sealed;        /* what the last seal said */
    size_t chunk;
    uint8_t *log; /* all bytes that left weir for the client; Own */
    size_t log_len;

    /* the client */
    SSL_CTX *ctx;
    SSL *ssl;
    SSL_SESSION *session; /* newest ticket; Own */
    uint8_t client_secret[KEYS_HASH_MAX];
    uint8_t server_secret[KEYS_HASH_MAX];

    /* the test's own records, once it has taken over from the client */
    struct keys_suite suite; /* by OpenSSL's engine, whatever weir uses */
    struct record_keys tx;
    struct record_keys rx;
};

/* Contexts of a group of tests, by each engine of this machine; the one that it prefers first. */
#define PEER_CONTEXTS 3
extern struct tls_ctx *peer_contexts[PEER_CONTEXTS];
extern size_t peer_context_count;
int peer_make_contexts(void **state);
int peer_free_contexts(void **state);

/* A context with a self-signed certificate. */
struct tls_ctx *peer_tls_ctx(enum tls_aead_choice aead);

/* Start both ends; nothing is sent yet. */
void peer_init(struct peer *p, const struct tls_ctx *ctx, const struct peer_config *config);

/* Free both ends, and check that no memory of the worker's is left. */
void peer_deinit(struct peer *p);

/* Carry bytes both ways until nothing moves. */
void peer_pump(struct peer *p);

/* The handshake, to its end on both sides. */
void peer_shake_hands(struct peer *p);

/* Give bytes to weir, in blocks of p->chunk bytes. */
void peer_feed(struct peer *p, const uint8_t *bytes, size_t len);

/* Seal what p->plain holds into p->wire. */
void peer_seal(struct peer *p);

/* Move p->wire to out, at most cap bytes; gives their number. */
size_t peer_take_wire(struct peer *p, uint8_t *out, size_t cap);

/* Copy out and consume what was received. */
size_t peer_take_received(struct peer *p, uint8_t *out, size_t cap);

/* The client sends len bytes, weir receives the same. */
void peer_check_up(struct peer *p, size_t len);

/* Weir sends len bytes, the client receives the same. */
void peer_check_down(struct peer *p, size_t len);

/* Set the client aside: from now on the test seals and opens.  The numbers go on. */
void peer_take_over(struct peer *p);

/* Seal a record of the test's own, `pad` zeros behind the type.  Gives its length. */
size_t peer_record(struct peer *p, uint8_t type, const void *text, size_t len, size_t pad,
                   uint8_t *out);

/* Seal and feed it. */
void peer_send(struct peer *p, uint8_t type, const void *text, size_t len);

/*
 * Take the next record from p->wire and open it.  False when there is none.
 * text has room for RECORD_BODY_MAX bytes.
 */
bool peer_receive(struct peer *p, uint8_t *type, uint8_t *text, size_t *len);

#endif
