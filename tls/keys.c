/*
 * See keys.h.
 * Why HMAC by hand: through OpenSSL 3.0 one HMAC of 40 bytes takes 3 us, of which the hash is
 * 0.6; a connection needs at least four.
 */
#include "keys.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#define BLOCK_MAX 128 /* of a hash function: SHA-384 */
#define PREFIX_LEN (sizeof(KEYS_LABEL_PREFIX) - 1)

/* Digest a padded key and then the parts. */
static bool hmac_pass(EVP_MD_CTX *ctx, const EVP_MD *md, const uint8_t *pad, size_t pad_len,
                      const struct iovec *parts, size_t count, uint8_t *out)
{
    bool ok = EVP_DigestInit_ex2(ctx, md, NULL) == 1 && EVP_DigestUpdate(ctx, pad, pad_len) == 1;
    for (size_t i = 0; i < count && ok; i++)
        ok = EVP_DigestUpdate(ctx, parts[i].iov_base, parts[i].iov_len) == 1;
    return ok && EVP_DigestFinal_ex(ctx, out, NULL) == 1;
}

static bool hmac_passes(EVP_MD_CTX *ctx, const EVP_MD *md, const uint8_t *key, size_t key_len,
                        const struct iovec *parts, size_t count, uint8_t *out)
{
    size_t block_len = (size_t)EVP_MD_get_block_size(md);
    size_t hash_len = (size_t)EVP_MD_get_size(md);
    if (block_len > BLOCK_MAX || hash_len > KEYS_HASH_MAX || key_len > block_len)
        return false;
    uint8_t inner_pad[BLOCK_MAX];
    uint8_t outer_pad[BLOCK_MAX];
    for (size_t i = 0; i < block_len; i++) {
        uint8_t k = i < key_len ? key[i] : 0;
        inner_pad[i] = k ^ 0x36;
        outer_pad[i] = k ^ 0x5c;
    }
    struct iovec inner = {out, hash_len};
    bool ok = hmac_pass(ctx, md, inner_pad, block_len, parts, count, out) &&
              hmac_pass(ctx, md, outer_pad, block_len, &inner, 1, out);
    OPENSSL_cleanse(inner_pad, sizeof(inner_pad));
    OPENSSL_cleanse(outer_pad, sizeof(outer_pad));
    return ok;
}

enum weir_err keys_hmac(const EVP_MD *md, const uint8_t *key, size_t key_len,
                        const struct iovec *parts, size_t count, uint8_t out[KEYS_HASH_MAX])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx != NULL && hmac_passes(ctx, md, key, key_len, parts, count, out);
    EVP_MD_CTX_free(ctx);
    return ok ? WEIR_OK : WEIR_NOMEM;
}

enum weir_err keys_expand(const EVP_MD *md, const uint8_t *prk, size_t prk_len, const uint8_t *info,
                          size_t info_len, uint8_t *out, size_t out_len)
{
    uint8_t t[KEYS_HASH_MAX]; /* T(n) */
    size_t hash_len = (size_t)EVP_MD_get_size(md);
    enum weir_err err = out_len <= 255 * hash_len ? WEIR_OK : WEIR_NOMEM;
    for (uint8_t n = 1; out_len > 0 && err == WEIR_OK; n++) {
        struct iovec parts[] = {
            {t, n == 1 ? 0 : hash_len},
            {(void *)(uintptr_t)info, info_len},
            {&n, 1},
        };
        err = keys_hmac(md, prk, prk_len, parts, 3, t);
        size_t part = out_len < hash_len ? out_len : hash_len;
        if (err == WEIR_OK)
            memcpy(out, t, part);
        out += part;
        out_len -= part;
    }
    OPENSSL_cleanse(t, sizeof(t));
    return err;
}

/*
 *     struct { uint16 length; opaque label<7..255> = "tls13 " + Label; opaque context<0..255>; }
 */
enum weir_err keys_expand_labelled(const struct keys_suite *suite, const uint8_t *secret,
                                   struct keys_label label, uint8_t *out, size_t out_len)
{
    uint8_t info[2 + 1 + PREFIX_LEN + KEYS_LABEL_MAX + 1 + KEYS_HASH_MAX];
    if (label.label_len > KEYS_LABEL_MAX || label.context_len > KEYS_HASH_MAX)
        return WEIR_NOMEM;
    uint8_t *at = info;
    *at++ = (uint8_t)(out_len >> 8);
    *at++ = (uint8_t)out_len;
    *at++ = (uint8_t)(PREFIX_LEN + label.label_len);
    at = mempcpy(at, KEYS_LABEL_PREFIX, PREFIX_LEN);
    at = mempcpy(at, label.label, label.label_len);
    *at++ = (uint8_t)label.context_len;
    if (label.context_len > 0)
        at = mempcpy(at, label.context, label.context_len);
    return keys_expand(suite->md, secret, suite->hash_len, info, (size_t)(at - info), out, out_len);
}

enum weir_err keys_expand_label(const struct keys_suite *suite, const uint8_t *secret,
                                const char *label, uint8_t *out, size_t out_len)
{
    const struct keys_label l = {.label = label, .label_len = strnlen(label, KEYS_LABEL_MAX)};
    return keys_expand_labelled(suite, secret, l, out, out_len);
}

enum weir_err keys_next_secret(const struct keys_suite *suite, uint8_t secret[KEYS_HASH_MAX])
{
    uint8_t next[KEYS_HASH_MAX];
    enum weir_err err = keys_expand_label(suite, secret, "traffic upd", next, suite->hash_len);
    if (err == WEIR_OK)
        memcpy(secret, next, suite->hash_len);
    OPENSSL_cleanse(next, sizeof(next));
    return err;
}
