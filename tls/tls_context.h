/*
 * What all TLS connections of the process share: certificate, policy, ticket keys, the AEAD engine.
 *
 * Policy: TLS 1.3 alone; X25519MLKEM768 where libcrypto has it, X25519, P-256, P-384; AES-128-GCM,
 * AES-256-GCM, and ChaCha20-Poly1305 for clients that prefer it; ALPN h2, then http/1.1; no early
 * data; stateless session tickets.
 *
 * Life:   outlives its connections.
 * Thread: made and freed by one; constant in between, so all workers use one context.
 */
#ifndef TLS_CONTEXT_H
#define TLS_CONTEXT_H

#include <stdint.h>

#include "weir/err.h"

struct tls_ctx;

enum tls_aead_choice {
    TLS_AEAD_AUTO,     /* the fastest that can be had here: see engines.h */
    TLS_AEAD_IPSEC_MB, /* insist on it: intel-ipsec-mb */
    TLS_AEAD_VAES,     /* insist on it: our own, for processors with VAES and VPCLMULQDQ */
    TLS_AEAD_OPENSSL,
};

struct tls_config {
    const char *cert_file;   /* PEM chain, leaf first; NULL: make a self-signed one in memory */
    const char *key_file;    /* PEM; NULL: it is in cert_file */
    const char *keylog_file; /* append secrets in NSS format, for Wireshark; NULL: no */
    enum tls_aead_choice aead;
    uint32_t ticket_period_s; /* a ticket key seals for one and opens for two; 0: the default */
};

#define TLS_TICKET_PERIOD_S 3600 /* the default */
#define TLS_TICKET_PERIOD_MAX_S                                                                    \
    302400 /* half of the most that a ticket may live (RFC 8446 4.6.1) */

#define TLS_MESSAGE_LEN 512

/*
 * Own: tls_ctx_free().
 * Err: WEIR_CONFIG, WEIR_NOMEM: *out is NULL and message, TLS_MESSAGE_LEN bytes, says what is
 *      wrong, where, and what to do.
 */
WEIR_MUST_USE
enum weir_err tls_ctx_new(const struct tls_config *config, struct tls_ctx **out, char *message);

/* NULL is fine. */
void tls_ctx_free(struct tls_ctx *ctx);

/* "ipsec-mb", "vaes" or "openssl".  Borrowed: a literal. */
const char *tls_ctx_engine(const struct tls_ctx *ctx);

#endif
