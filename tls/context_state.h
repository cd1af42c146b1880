/*
 * The inside of a context, for tls/ alone.
 */
#ifndef TLS_CONTEXT_STATE_H
#define TLS_CONTEXT_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "tls_context.h"
#include "keys.h"

#define TICKET_MASTER_LEN 32

struct tls_ctx {
    SSL_CTX *ssl;                             /* Own */
    BIO_METHOD *bio;                          /* Own: see handshake.c */
    EVP_MD *sha256;                           /* Own: fetched once, as fetching is slow */
    EVP_MD *sha384;                           /* Own */
    EVP_CIPHER *ticket_cipher;                /* Own: see tickets.c */
    struct keys_suite suites[AEAD_ALGS];      /* by enum aead_alg */
    const char *engine;                       /* who does the records */
    bool sees_secrets;                        /* see kdf.h; else the key log shows them */
    int keylog_fd;                            /* -1: no key log */
    uint32_t ticket_period_s;                 /* see tickets.h */
    uint8_t ticket_master[TICKET_MASTER_LEN]; /* what ticket keys are derived from */
};

/* The suite with this id (RFC 8446 B.4), or NULL.  Borrowed. */
const struct keys_suite *tls_ctx_suite(const struct tls_ctx *ctx, uint32_t id);

#endif
