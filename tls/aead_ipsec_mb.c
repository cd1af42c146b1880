/*
 * The AEAD engine for processors with AVX-512 or without VAES: intel-ipsec-mb, by its direct
 * functions.
 *
 * A manager of that library holds job queues, which must not be shared, and a table of functions
 * for this processor, which keep no state but what they are given.  The table is copied once and
 * the manager given back.
 * Why one call less counts: each call also clears an error number of the library, which all
 * threads of the program share, so a call is a write to a cache line that others write too.
 */
#include "aead.h"

#ifdef WEIR_IPSEC_MB

#include <pthread.h>

#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>

#include "aead_stage.h"

/* Measured: from here on, reading a piece in place is as fast; it is what gather lists refer to. */
#define MB_STAGE_MAX 256

#define MB_FEATURES (IMB_FEATURE_AESNI | IMB_FEATURE_PCLMULQDQ)

struct mb_gcm {
    aes_gcm_pre_t pre;
    aes_gcm_enc_dec_t enc; /* a whole message */
    aes_gcm_enc_dec_t dec;
    aes_gcm_init_t init; /* a message in parts */
    aes_gcm_enc_dec_update_t enc_update;
    aes_gcm_enc_dec_finalize_t enc_finalize;
};

#define MB_WIDE (IMB_FEATURE_AVX512_SKX | IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ)

static struct {
    bool usable;
    bool is_wide;
    struct mb_gcm gcm128;
    struct mb_gcm gcm256;
    chacha_poly_init_t chacha_init;
    chacha_poly_enc_dec_update_t chacha_enc_update;
    chacha_poly_enc_dec_update_t chacha_dec_update;
    chacha_poly_finalize_t chacha_finalize;
} mb;

static pthread_once_t mb_once = PTHREAD_ONCE_INIT;

static void mb_load(void)
{
    IMB_MGR *mgr = alloc_mb_mgr(0);
    if (mgr == NULL)
        return;
    if ((mgr->features & MB_FEATURES) == MB_FEATURES) {
        IMB_ARCH arch;
        init_mb_mgr_auto(mgr, &arch);
        mb.gcm128 =
            (struct mb_gcm){mgr->gcm128_pre,  mgr->gcm128_enc,        mgr->gcm128_dec,
                            mgr->gcm128_init, mgr->gcm128_enc_update, mgr->gcm128_enc_finalize};
        mb.gcm256 =
            (struct mb_gcm){mgr->gcm256_pre,  mgr->gcm256_enc,        mgr->gcm256_dec,
                            mgr->gcm256_init, mgr->gcm256_enc_update, mgr->gcm256_enc_finalize};
        mb.chacha_init = mgr->chacha20_poly1305_init;
        mb.chacha_enc_update = mgr->chacha20_poly1305_enc_update;
        mb.chacha_dec_update = mgr->chacha20_poly1305_dec_update;
        mb.chacha_finalize = mgr->chacha20_poly1305_finalize;
        mb.usable = imb_get_errno(mgr) == 0;
        mb.is_wide = mb.usable && (mgr->features & MB_WIDE) == MB_WIDE;
    }
    free_mb_mgr(mgr);
}

static enum weir_err gcm128_init(void *state, const uint8_t *key, enum aead_direction direction)
{
    (void)direction;
    mb.gcm128.pre(key, state);
    return WEIR_OK;
}

static enum weir_err gcm256_init(void *state, const uint8_t *key, enum aead_direction direction)
{
    (void)direction;
    mb.gcm256.pre(key, state);
    return WEIR_OK;
}

static void gcm_deinit(void *state)
{
    OPENSSL_cleanse(state, sizeof(struct gcm_key_data));
}

static void gcm_seal(const struct mb_gcm *gcm, const struct gcm_key_data *key, const uint8_t *nonce,
                     const uint8_t *aad, size_t aad_len, struct aead_walk walk)
{
    struct gcm_context_data ctx;
    struct aead_input in;
    if (!aead_walk_next(&walk, &in))
        in = (struct aead_input){walk.dst, walk.dst, 0};
    if (walk.count == 0) {
        gcm->enc(key, &ctx, in.to, in.from, in.len, nonce, aad, aad_len, walk.dst, AEAD_TAG_LEN);
        return;
    }
    gcm->init(key, &ctx, nonce, aad, aad_len);
    do
        gcm->enc_update(key, &ctx, in.to, in.from, in.len);
    while (aead_walk_next(&walk, &in));
    gcm->enc_finalize(key, &ctx, walk.dst, AEAD_TAG_LEN);
}

static enum weir_err gcm128_seal(void *state, const uint8_t nonce[AEAD_NONCE_LEN],
                                 const uint8_t *aad, size_t aad_len, const struct iovec *pieces,
                                 size_t count, uint8_t *dst)
{
    gcm_seal(&mb.gcm128, state, nonce, aad, aad_len,
             (struct aead_walk){pieces, count, MB_STAGE_MAX, dst});
    return WEIR_OK;
}

static enum weir_err gcm256_seal(void *state, const uint8_t nonce[AEAD_NONCE_LEN],
                                 const uint8_t *aad, size_t aad_len, const struct iovec *pieces,
                                 size_t count, uint8_t *dst)
{
    gcm_seal(&mb.gcm256, state, nonce, aad, aad_len,
             (struct aead_walk){pieces, count, MB_STAGE_MAX, dst});
    return WEIR_OK;
}

static bool gcm_open(const struct mb_gcm *gcm, const struct gcm_key_data *key, const uint8_t *nonce,
                     const uint8_t *aad, size_t aad_len, uint8_t *bytes, size_t len)
{
    if (len < AEAD_TAG_LEN)
        return false;
    struct gcm_context_data ctx;
    uint8_t tag[AEAD_TAG_LEN];
    size_t text_len = len - AEAD_TAG_LEN;
    gcm->dec(key, &ctx, bytes, bytes, text_len, nonce, aad, aad_len, tag, AEAD_TAG_LEN);
    return CRYPTO_memcmp(tag, bytes + text_len, AEAD_TAG_LEN) == 0;
}

static bool gcm128_open(void *state, const uint8_t nonce[AEAD_NONCE_LEN], const uint8_t *aad,
                        size_t aad_len, uint8_t *bytes, size_t len)
{
    return gcm_open(&mb.gcm128, state, nonce, aad, aad_len, bytes, len);
}

static bool gcm256_open(void *state, const uint8_t nonce[AEAD_NONCE_LEN], const uint8_t *aad,
                        size_t aad_len, uint8_t *bytes, size_t len)
{
    return gcm_open(&mb.gcm256, state, nonce, aad, aad_len, bytes, len);
}

static enum weir_err chacha_init(void *state, const uint8_t *key, enum aead_direction direction)
{
    (void)direction;
    memcpy(state, key, AEAD_KEY_MAX);
    return WEIR_OK;
}

static void chacha_deinit(void *state)
{
    OPENSSL_cleanse(state, AEAD_KEY_MAX);
}

static enum weir_err chacha_seal(void *state, const uint8_t nonce[AEAD_NONCE_LEN],
                                 const uint8_t *aad, size_t aad_len, const struct iovec *pieces,
                                 size_t count, uint8_t *dst)
{
    struct chacha20_poly1305_context_data ctx;
    struct aead_walk walk = {pieces, count, MB_STAGE_MAX, dst};
    struct aead_input in;
    mb.chacha_init(state, &ctx, nonce, aad, aad_len);
    while (aead_walk_next(&walk, &in))
        mb.chacha_enc_update(state, &ctx, in.to, in.from, in.len);
    mb.chacha_finalize(&ctx, walk.dst, AEAD_TAG_LEN);
    return WEIR_OK;
}

static bool chacha_open(void *state, const uint8_t nonce[AEAD_NONCE_LEN], const uint8_t *aad,
                        size_t aad_len, uint8_t *bytes, size_t len)
{
    if (len < AEAD_TAG_LEN)
        return false;
    struct chacha20_poly1305_context_data ctx;
    uint8_t tag[AEAD_TAG_LEN];
    size_t text_len = len - AEAD_TAG_LEN;
    mb.chacha_init(state, &ctx, nonce, aad, aad_len);
    mb.chacha_dec_update(state, &ctx, bytes, bytes, text_len);
    mb.chacha_finalize(&ctx, tag, AEAD_TAG_LEN);
    return CRYPTO_memcmp(tag, bytes + text_len, AEAD_TAG_LEN) == 0;
}

static const struct aead mb_aeads[AEAD_ALGS] = {
    [AEAD_AES_128_GCM] = {"AES-128-GCM (ipsec-mb)", 16, sizeof(struct gcm_key_data), MB_STAGE_MAX,
                          1, gcm128_init, gcm_deinit, gcm128_seal, gcm128_open},
    [AEAD_AES_256_GCM] = {"AES-256-GCM (ipsec-mb)", 32, sizeof(struct gcm_key_data), MB_STAGE_MAX,
                          1, gcm256_init, gcm_deinit, gcm256_seal, gcm256_open},
    [AEAD_CHACHA20_POLY1305] = {"ChaCha20-Poly1305 (ipsec-mb)", 32, AEAD_KEY_MAX, MB_STAGE_MAX, 1,
                                chacha_init, chacha_deinit, chacha_seal, chacha_open},
};

const struct aead *aead_ipsec_mb(enum aead_alg alg)
{
    pthread_once(&mb_once, mb_load);
    return mb.usable ? &mb_aeads[alg] : NULL;
}

bool aead_ipsec_mb_is_wide(void)
{
    pthread_once(&mb_once, mb_load);
    return mb.is_wide;
}

#else

const struct aead *aead_ipsec_mb(enum aead_alg alg)
{
    (void)alg;
    return NULL;
}

bool aead_ipsec_mb_is_wide(void)
{
    return false;
}

#endif
