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

#define KEYS_HASH_MAX 48           /* SHA-384 */
#define KEYS_LABEL_MAX 32          /* of ours, and of a handshake's */
#define KEYS_LABEL_PREFIX "tls13 " /* what each label begins with on the way into HKDF */

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

/* What tells keys from each other that come of one secret.  Borrowed. */
struct keys_label {
    const void *label; /* without "tls13 "; not terminated */
    size_t label_len;  /* KEYS_LABEL_MAX at most */
    const void *context;
    size_t context_len; /* KEYS_HASH_MAX at most */
};

/* HKDF-Expand-Label (RFC 8446 7.1).  Err: WEIR_NOMEM, also when something is too long. */
WEIR_MUST_USE
enum weir_err keys_expand_labelled(const struct keys_suite *suite, const uint8_t *secret,
                                   struct keys_label label, uint8_t *out, size_t out_len);

/* The same with an empty context, and a label that is a string. */
WEIR_MUST_USE
enum weir_err keys_expand_label(const struct keys_suite *suite, const uint8_t *secret,
                                const char *label, uint8_t *out, size_t out_len);

/* Replace a traffic secret by the next one (RFC 8446 7.2). */
WEIR_MUST_USE
enum weir_err keys_next_secret(const struct keys_suite *suite, uint8_t secret[KEYS_HASH_MAX]);

#endif
