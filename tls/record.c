/* See record.h. */
#include "record.h"

#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>

#include "mem.h"

static_assert(RECORD_HEAD_LEN + RECORD_BODY_MAX <= BLOCK_LARGE_CAP, "a record fits into a block");

/* Key and IV of the secret in k->secret (RFC 8446 7.3). */
static enum weir_err keys_load(struct record_keys *k, const struct keys_suite *suite,
                               enum aead_direction direction)
{
    uint8_t key[AEAD_KEY_MAX];
    enum weir_err err = keys_expand_label(suite, k->secret, "key", key, suite->aead->key_len);
    if (err == WEIR_OK)
        err = keys_expand_label(suite, k->secret, "iv", k->iv, sizeof(k->iv));
    if (err == WEIR_OK)
        err = suite->aead->init(k->state, key, direction);
    OPENSSL_cleanse(key, sizeof(key));
    k->seq = 0;
    return err;
}

enum weir_err record_keys_init(struct record_keys *k, const struct keys_suite *suite,
                               enum aead_direction direction, const uint8_t *secret,
                               struct mem *mem)
{
    *k = (struct record_keys){0};
    k->state = mem_take_zeroed(mem, suite->aead->state_len);
    if (k->state == NULL)
        return WEIR_NOMEM;
    memcpy(k->secret, secret, suite->hash_len);
    return keys_load(k, suite, direction);
}

enum weir_err record_keys_update(struct record_keys *k, const struct keys_suite *suite,
                                 enum aead_direction direction)
{
    suite->aead->deinit(k->state);
    enum weir_err err = keys_next_secret(suite, k->secret);
    return err == WEIR_OK ? keys_load(k, suite, direction) : err;
}

void record_keys_deinit(struct record_keys *k, const struct keys_suite *suite)
{
    if (k->state != NULL)
        suite->aead->deinit(k->state);
    mem_give(k->state);
    OPENSSL_cleanse(k, sizeof(*k));
}

/* RFC 8446 5.3: the IV, with the sequence number added without carry to its end. */
static void nonce_of(const struct record_keys *k, uint8_t nonce[AEAD_NONCE_LEN])
{
    uint64_t seq = __builtin_bswap64(k->seq);
    uint64_t tail;
    memcpy(nonce, k->iv, AEAD_NONCE_LEN);
    memcpy(&tail, nonce + AEAD_NONCE_LEN - sizeof(tail), sizeof(tail));
    tail ^= seq;
    memcpy(nonce + AEAD_NONCE_LEN - sizeof(tail), &tail, sizeof(tail));
}

enum weir_err record_seal(const struct record_keys *k, const struct keys_suite *suite,
                          enum content_type type, struct iovec *pieces, size_t count, size_t len,
                          uint8_t *dst)
{
    uint8_t type_byte = (uint8_t)type;
    size_t body_len = len + RECORD_EXTRA;
    uint8_t nonce[AEAD_NONCE_LEN];
    nonce_of(k, nonce);
    dst[0] = CONTENT_APPLICATION_DATA;
    dst[1] = 3;
    dst[2] = 3;
    dst[3] = (uint8_t)(body_len >> 8);
    dst[4] = (uint8_t)body_len;
    pieces[count] = (struct iovec){&type_byte, 1};
    return suite->aead->seal(k->state, nonce, dst, RECORD_HEAD_LEN, pieces, count + 1,
                             dst + RECORD_HEAD_LEN);
}

/*
 * The version is not looked at (RFC 8446 5.1: ignored for all purposes); it is authenticated.
 *
 * Why RECORD_BODY_MAX and not the 2^14 + 256 of RFC 8446 5.2: our AEADs add 16 bytes to 2^14 + 1
 * at most (5.4), so a longer body is a record_overflow whatever it holds, and is not waited for.
 */
enum alert record_check_head(const uint8_t head[RECORD_HEAD_LEN], size_t *body_len)
{
    *body_len = (size_t)head[3] << 8 | head[4];
    if (head[0] != CONTENT_APPLICATION_DATA)
        return ALERT_UNEXPECTED_MESSAGE;
    if (*body_len > RECORD_BODY_MAX)
        return ALERT_RECORD_OVERFLOW;
    if (*body_len < RECORD_EXTRA)
        return ALERT_BAD_RECORD_MAC; /* no room for a tag: nothing to ask the cipher */
    return ALERT_NONE;
}

enum alert record_open(struct record_keys *k, const struct keys_suite *suite, uint8_t *record,
                       size_t body_len, struct record_content *out)
{
    uint8_t nonce[AEAD_NONCE_LEN];
    nonce_of(k, nonce);
    uint8_t *bytes = record + RECORD_HEAD_LEN;
    if (!suite->aead->open(k->state, nonce, record, RECORD_HEAD_LEN, bytes, body_len))
        return ALERT_BAD_RECORD_MAC;
    k->seq++;

    size_t len = body_len - AEAD_TAG_LEN;
    while (len > 0 && bytes[len - 1] == 0)
        len--;
    if (len == 0)
        return ALERT_UNEXPECTED_MESSAGE; /* RFC 8446 5.4: no content type */
    *out = (struct record_content){bytes[len - 1], bytes, len - 1};
    return ALERT_NONE;
}
