/*
 * The key schedule of TLS 1.3 as far as it concerns records: from a traffic secret to keys and
 * nonces, and from one traffic secret to the next (RFC 8446 7.1-7.3, on HKDF, RFC 5869).
 *
 * Thread: a suite is constant and may be used by all.
 */
#ifndef TLS_KEYS_H
#define TLS_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "aead.h"
#include "weir/err.h"

struct evp_md_st;

#define KEYS_HASH_MAX 48 /* SHA-384 */

/* A cipher suite (RFC 8446 B.4). */
struct keys_suite {
    uint32_t id;                /* 0x1301..0x1303 */
    const struct evp_md_st *md; /* Borrowed: from the context */
    size_t hash_len;            /* bytes of a digest and of a secret */
    const struct aead *aead;
};

/* HMAC over up to three parts, each may be empty (RFC 2104).  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err keys_hmac(const struct evp_md_st *md, const uint8_t *key, size_t key_len,
                        const struct iovec *parts, size_t count, uint8_t out[KEYS_HASH_MAX]);

/* HKDF-Expand (RFC 5869 2.3).  Err: WEIR_NOMEM, also when out_len is beyond 255 digests. */
WEIR_MUST_USE
enum weir_err keys_expand(const struct evp_md_st *md, const uint8_t *prk, size_t prk_len,
                          const uint8_t *info, size_t info_len, uint8_t *out, size_t out_len);

/* HKDF-Expand-Label with an empty context (RFC 8446 7.1); label without "tls13 ". */
WEIR_MUST_USE
enum weir_err keys_expand_label(const struct keys_suite *suite, const uint8_t *secret,
                                const char *label, uint8_t *out, size_t out_len);

/* Replace a traffic secret by the next one (RFC 8446 7.2). */
WEIR_MUST_USE
enum weir_err keys_next_secret(const struct keys_suite *suite, uint8_t secret[KEYS_HASH_MAX]);

#endif
