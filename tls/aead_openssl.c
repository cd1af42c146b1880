/*
 * The AEAD engine that is always there: OpenSSL's EVP.
 *
 * Init, update, final; never EVP_Cipher(), which in some versions takes an empty ChaCha20-Poly1305
 * ciphertext without looking at its tag.  The key is set once; a record sets the nonce alone.
 */
#include "aead.h"

#include <limits.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "aead_stage.h"

/* Measured: an update costs as much as copying 1.5 KiB and sealing them with their neighbours. */
#define EVP_STAGE_MAX 1536

struct evp_state {
    EVP_CIPHER_CTX *ctx; /* Own; NULL before init and after deinit */
};

static enum weir_err evp_init(struct evp_state *s, const EVP_CIPHER *cipher, const uint8_t *key,
                              enum aead_direction direction)
{
    s->ctx = EVP_CIPHER_CTX_new();
    if (s->ctx != NULL &&
        EVP_CipherInit_ex(s->ctx, cipher, NULL, key, NULL, direction == AEAD_SEAL) == 1)
        return WEIR_OK;
    EVP_CIPHER_CTX_free(s->ctx);
    s->ctx = NULL;
    return WEIR_NOMEM;
}

static enum weir_err evp_init_aes_128_gcm(void *state, const uint8_t *key, enum aead_direction d)
{
    return evp_init(state, EVP_aes_128_gcm(), key, d);
}

static enum weir_err evp_init_aes_256_gcm(void *state, const uint8_t *key, enum aead_direction d)
{
    return evp_init(state, EVP_aes_256_gcm(), key, d);
}

static enum weir_err evp_init_chacha20_poly1305(void *state, const uint8_t *key,
                                                enum aead_direction d)
{
    return evp_init(state, EVP_chacha20_poly1305(), key, d);
}

static void evp_deinit(void *state)
{
    struct evp_state *s = state;
    EVP_CIPHER_CTX_free(s->ctx); /* wipes */
    s->ctx = NULL;
}

/* Begin a message: nonce and associated data. */
static bool evp_begin(EVP_CIPHER_CTX *ctx, const uint8_t *nonce, const uint8_t *aad, size_t aad_len)
{
    int n;
    return EVP_CipherInit_ex(ctx, NULL, NULL, NULL, nonce, -1) == 1 &&
           (aad_len == 0 || EVP_CipherUpdate(ctx, NULL, &n, aad, (int)aad_len) == 1);
}

static enum weir_err evp_seal(void *state, const uint8_t nonce[AEAD_NONCE_LEN], const uint8_t *aad,
                              size_t aad_len, const struct iovec *pieces, size_t count,
                              uint8_t *dst)
{
    EVP_CIPHER_CTX *ctx = ((struct evp_state *)state)->ctx;
    if (!evp_begin(ctx, nonce, aad, aad_len))
        return WEIR_NOMEM;
    struct aead_walk walk = {pieces, count, EVP_STAGE_MAX, dst};
    struct aead_input in;
    int n;
    while (aead_walk_next(&walk, &in)) {
        if (in.len > 0 && EVP_EncryptUpdate(ctx, in.to, &n, in.from, (int)in.len) != 1)
            return WEIR_NOMEM;
    }
    bool ok = EVP_EncryptFinal_ex(ctx, walk.dst, &n) == 1 &&
              EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG_LEN, walk.dst) == 1;
    return ok ? WEIR_OK : WEIR_NOMEM;
}

static bool evp_open(void *state, const uint8_t nonce[AEAD_NONCE_LEN], const uint8_t *aad,
                     size_t aad_len, uint8_t *bytes, size_t len)
{
    EVP_CIPHER_CTX *ctx = ((struct evp_state *)state)->ctx;
    if (len < AEAD_TAG_LEN || len > INT_MAX)
        return false;
    size_t text_len = len - AEAD_TAG_LEN;
    int n;
    return evp_begin(ctx, nonce, aad, aad_len) &&
           (text_len == 0 || EVP_DecryptUpdate(ctx, bytes, &n, bytes, (int)text_len) == 1) &&
           EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG_LEN, bytes + text_len) == 1 &&
           EVP_DecryptFinal_ex(ctx, bytes + text_len, &n) == 1;
}

#define EVP_AEAD(text, fn, length)                                                                 \
    {                                                                                              \
        .name = (text), .key_len = (length), .state_len = sizeof(struct evp_state),                \
        .stage_max = EVP_STAGE_MAX, .chunk = 1, .init = (fn), .deinit = evp_deinit,                \
        .seal = evp_seal, .open = evp_open                                                         \
    }

static const struct aead evp_aeads[AEAD_ALGS] = {
    [AEAD_AES_128_GCM] = EVP_AEAD("AES-128-GCM (openssl)", evp_init_aes_128_gcm, 16),
    [AEAD_AES_256_GCM] = EVP_AEAD("AES-256-GCM (openssl)", evp_init_aes_256_gcm, 32),
    [AEAD_CHACHA20_POLY1305] =
        EVP_AEAD("ChaCha20-Poly1305 (openssl)", evp_init_chacha20_poly1305, 32),
};

const struct aead *aead_openssl(enum aead_alg alg)
{
    return &evp_aeads[alg];
}
