/*
 * The AEAD engine for processors with VAES and VPCLMULQDQ on 256-bit registers but without AVX-512,
 * where the libraries at hand use 128-bit ones: AES-GCM (NIST SP 800-38D), in one pass.
 *
 *     pieces ──▶ chunk ──▶ chunk ──▶ chunk ──▶ tail        AES-CTR of a chunk, and with it the
 * GHASH └─────────┴─────────┴─────────┴──▶ tag  of the one before (opening: of the same)
 *
 * A chunk is read where it lies.  One that lies in several pieces, or is not a whole one, is copied
 * into a chunk of ours first: up to 255 bytes at either end of a long piece, and all of a short
 * one.
 */
#include "aead.h"

#if defined(__x86_64__)

#include <string.h>

#include <cpuid.h>
#include <openssl/crypto.h>

#include "internal/assert.h"
#include "vaes_gcm.h"

#define CPUID_EXTENDED 7            /* leaf */
#define CPUID_VAES (1U << 9)        /* of ECX */
#define CPUID_VPCLMULQDQ (1U << 10) /* the same */

#define CACHE_LINE 64
#define PREFETCH_AHEAD 2048 /* bytes; half and twice of it do less */

#define ROUNDS_128 10
#define ROUNDS_256 14

/* A message on its way. */
struct vaes_run {
    __m256i counter;  /* a counter block, reversed, in both halves; 16 to a chunk */
    __m256i counters; /* the same, not reversed, and added to the first round key */
    __m128i hash;     /* GHASH so far, reversed */
    __m128i mask;     /* what the tag is hidden by */
    const struct vaes_key *key;
    uint64_t len;          /* bytes encrypted or decrypted */
    const uint8_t *behind; /* sealing: a chunk that is not hashed yet, or NULL */
};

#define STAGE_SPARE 64 /* for zeros up to a block, the block of lengths, and half a vector */

struct vaes_stage {
    uint8_t bytes[VAES_CHUNK + STAGE_SPARE] __attribute__((aligned(32)));
};

/* Counter blocks i and i + 1 of 16, when added to `counters` or `next`. */
VAES_INLINE __m256i counter_pair(int i)
{
    return _mm256_set_epi32((i + 1) << 24, 0, 0, 0, i << 24, 0, 0, 0);
}

/*
 * The counter blocks of the next chunk, with the first round key added.  They are 2 to 17 beyond
 * a multiple of 16, so that most of them differ from that in four bits alone.
 */
VAES_INLINE void run_next_counters(struct vaes_run *run, __m256i stream[VAES_VECTORS])
{
    const __m256i base = run->counters;
    run->counter = _mm256_add_epi32(run->counter, _mm256_set_epi32(0, 0, 0, 16, 0, 0, 0, 16));
    run->counters = _mm256_xor_si256(vaes_reverse2(run->counter), vaes_both(&run->key->rounds[0]));
    VAES_UNROLL
    for (int i = 0; i < VAES_VECTORS - 1; i++)
        stream[i] = _mm256_xor_si256(base, counter_pair(2 * i + 2));
    stream[VAES_VECTORS - 1] = _mm256_xor_si256(run->counters, counter_pair(0));
}

/*
 * Encrypt or decrypt a chunk, and hash the one at `hashed`, if it is to be, in between: neither
 * waits for the other.  Everything is loaded before anything is stored, so all three may be the
 * same.
 */
VAES_INLINE void run_chunk(struct vaes_run *run, int rounds, const uint8_t *from, uint8_t *to,
                           bool is_hashing, const uint8_t *hashed)
{
    const struct vaes_key *key = run->key;
    struct vaes_product sum = vaes_product_zero();
    __m256i carry = _mm256_zextsi128_si256(run->hash);
    __m256i stream[VAES_VECTORS];
    run_next_counters(run, stream);
    VAES_UNROLL
    for (int r = 1; r < rounds; r++) {
        const __m256i round = vaes_both(&key->rounds[r]);
        VAES_UNROLL
        for (int i = 0; i < VAES_VECTORS; i++)
            stream[i] = _mm256_aesenc_epi128(stream[i], round);
        if (is_hashing && r <= VAES_VECTORS) {
            const int pair = r % VAES_VECTORS; /* the first one last: it has to wait for carry */
            __m256i data = vaes_reverse2(vaes_load2(hashed + sizeof(__m256i) * (size_t)pair));
            if (pair == 0)
                data = _mm256_xor_si256(data, carry);
            vaes_multiply_pair(&sum, data, key, pair);
        }
        VAES_KEEP_ORDER(stream, sum);
    }
    if (is_hashing)
        run->hash = vaes_reduce(sum);

    const __m256i last = vaes_both(&key->rounds[rounds]);
    VAES_UNROLL
    for (size_t i = 0; i < VAES_VECTORS; i++) {
        const size_t at = i * sizeof(__m256i);
        const __m256i text = _mm256_xor_si256(last, vaes_load2(from + at));
        _mm256_storeu_si256((__m256i *)(to + at), _mm256_aesenclast_epi128(stream[i], text));
    }
}

/* ---- parts of a message ---- */

VAES_INLINE void run_hash(struct vaes_run *run, const uint8_t *blocks, size_t count)
{
    run->hash = vaes_hash(run->key, run->hash, blocks, count);
}

/*
 * The nonce with a counter of 0.  Why not by a copy: bytes that were just stored are loaded late
 * when they were stored in parts, and all else waits for this block.
 */
VAES_INLINE __m128i nonce_block(const uint8_t nonce[AEAD_NONCE_LEN])
{
    int words[3];
    memcpy(words, nonce, sizeof(words));
    return _mm_set_epi32(0, words[2], words[1], words[0]);
}

VAES_INLINE struct vaes_run run_begin(const struct vaes_key *key, int rounds, const uint8_t *nonce,
                                      const uint8_t *aad, size_t aad_len)
{
    struct vaes_run run = {.key = key, .hash = _mm_setzero_si128()};
    const __m128i zeroth = nonce_block(nonce);
    run.mask = vaes_encrypt(key, rounds, _mm_or_si128(zeroth, _mm_set_epi32(1 << 24, 0, 0, 0)));
    run.counter = vaes_reverse2(_mm256_broadcastsi128_si256(zeroth));
    run.counters =
        _mm256_xor_si256(_mm256_broadcastsi128_si256(zeroth), vaes_both(&key->rounds[0]));
    for (size_t at = 0; at < aad_len; at += 16) {
        uint8_t padded[32] __attribute__((aligned(32))) = {0};
        memcpy(padded, aad + at, aad_len - at < 16 ? aad_len - at : 16);
        run_hash(&run, padded, 1);
    }
    return run;
}

/*
 * Ask for what is sealed soon.  Why: the processor follows a stream of bytes to the end of its page
 * alone.  Files that no cache holds are sealed in three quarters of the time.
 */
VAES_INLINE void prefetch(const uint8_t *from)
{
    for (size_t i = 0; i < VAES_CHUNK; i += CACHE_LINE)
        _mm_prefetch((const char *)((uintptr_t)from + PREFETCH_AHEAD + i), _MM_HINT_T0);
}

/* Whole chunks, sealed; hashing is a chunk behind. */
VAES_INLINE void run_seal(struct vaes_run *run, int rounds, const uint8_t *from, uint8_t *to,
                          size_t chunks)
{
    run->len += chunks * VAES_CHUNK;
    if (run->behind == NULL && chunks > 0) {
        run_chunk(run, rounds, from, to, false, NULL);
        run->behind = to;
        from += VAES_CHUNK;
        to += VAES_CHUNK;
        chunks--;
    }
    for (; chunks > 0; chunks--) {
        prefetch(from);
        run_chunk(run, rounds, from, to, true, to - VAES_CHUNK);
        run->behind = to;
        from += VAES_CHUNK;
        to += VAES_CHUNK;
    }
}

/* What is no whole chunk, where it lies.  Bytes behind it are overwritten. */
VAES_INLINE void run_crypt_tail(struct vaes_run *run, int rounds, uint8_t *bytes, size_t len)
{
    const struct vaes_key *key = run->key;
    __m256i counters[VAES_VECTORS];
    run_next_counters(run, counters);
    for (size_t at = 0; at < len; at += 128) {
        __m256i stream[4];
        VAES_UNROLL
        for (int i = 0; i < 4; i++)
            stream[i] = counters[at / 32 + (size_t)i];
        VAES_UNROLL
        for (int r = 1; r < rounds; r++) {
            const __m256i round = vaes_both(&key->rounds[r]);
            VAES_UNROLL
            for (int i = 0; i < 4; i++)
                stream[i] = _mm256_aesenc_epi128(stream[i], round);
        }
        const __m256i last = vaes_both(&key->rounds[rounds]);
        VAES_UNROLL
        for (size_t i = 0; i < 4; i++) {
            uint8_t *text = bytes + at + i * sizeof(__m256i);
            const __m256i key_and_text = _mm256_xor_si256(last, vaes_load2(text));
            _mm256_storeu_si256((__m256i *)text, _mm256_aesenclast_epi128(stream[i], key_and_text));
        }
    }
}

/* Hash ciphertext that is no whole chunk and the lengths behind it; gives the tag. */
VAES_INLINE __m128i run_end(struct vaes_run *run, struct vaes_stage *stage, size_t len,
                            size_t aad_len)
{
    size_t blocks = (len + 15) / 16;
    run->len += len;
    // cppcheck-suppress ctuuninitvar ; this fills it
    memset(stage->bytes + len, 0, STAGE_SPARE);
    const uint64_t lengths[2] = {__builtin_bswap64(aad_len * 8), __builtin_bswap64(run->len * 8)};
    memcpy(stage->bytes + blocks * 16, lengths, sizeof(lengths));
    if (blocks == VAES_POWERS) {
        run_hash(run, stage->bytes, blocks);
        run_hash(run, stage->bytes + blocks * 16, 1);
    } else {
        run_hash(run, stage->bytes, blocks + 1);
    }
    return _mm_xor_si128(vaes_reverse(run->hash), run->mask);
}

/* ---- the engine ---- */

VAES_INLINE void vaes_seal(const struct vaes_key *key, int rounds, const uint8_t *nonce,
                           const uint8_t *aad, size_t aad_len, const struct iovec *pieces,
                           size_t count, uint8_t *dst)
{
    WEIR_ASSERT(dst != NULL);
    struct vaes_run run = run_begin(key, rounds, nonce, aad, aad_len);
    struct vaes_stage stage;
    size_t staged = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = pieces[i].iov_base;
        size_t len = pieces[i].iov_len;
        while (len > 0) {
            const uint8_t *text = from;
            size_t used = len / VAES_CHUNK * VAES_CHUNK;
            size_t chunks = used / VAES_CHUNK;
            if (staged > 0 || chunks == 0) {
                used = len < VAES_CHUNK - staged ? len : VAES_CHUNK - staged;
                memcpy(stage.bytes + staged, from, used);
                staged += used;
                if (staged < VAES_CHUNK)
                    break;
                text = stage.bytes;
                chunks = 1;
                staged = 0;
            }
            run_seal(&run, rounds, text, dst, chunks);
            dst += chunks * VAES_CHUNK;
            from += used;
            len -= used;
        }
    }
    if (run.behind != NULL)
        run_hash(&run, run.behind, VAES_POWERS);
    run_crypt_tail(&run, rounds, stage.bytes, staged);
    memcpy(dst, stage.bytes, staged);
    const __m128i tag = run_end(&run, &stage, staged, aad_len);
    _mm_storeu_si128((__m128i *)(dst + staged), tag);
}

VAES_INLINE bool vaes_open(const struct vaes_key *key, int rounds, const uint8_t *nonce,
                           const uint8_t *aad, size_t aad_len, uint8_t *bytes, size_t len)
{
    if (len < AEAD_TAG_LEN)
        return false;
    struct vaes_run run = run_begin(key, rounds, nonce, aad, aad_len);
    size_t rest = len - AEAD_TAG_LEN;
    for (; rest >= VAES_CHUNK; rest -= VAES_CHUNK) {
        run_chunk(&run, rounds, bytes, bytes, true, bytes);
        run.len += VAES_CHUNK;
        bytes += VAES_CHUNK;
    }
    struct vaes_stage stage;
    memcpy(stage.bytes, bytes, rest);
    const __m128i tag = run_end(&run, &stage, rest, aad_len);
    const __m128i difference = _mm_xor_si128(tag, vaes_load(bytes + rest));
    run_crypt_tail(&run, rounds, stage.bytes, rest);
    memcpy(bytes, stage.bytes, rest);
    return _mm_testz_si128(difference, difference) == 1; /* all bits at once, in constant time */
}

VAES_TARGET static enum weir_err gcm128_init(void *state, const uint8_t *raw,
                                             enum aead_direction direction)
{
    (void)direction;
    struct vaes_key *key = state;
    vaes_expand_128(key, raw);
    vaes_hash_key(key, vaes_encrypt(key, ROUNDS_128, _mm_setzero_si128()));
    return WEIR_OK;
}

VAES_TARGET static enum weir_err gcm256_init(void *state, const uint8_t *raw,
                                             enum aead_direction direction)
{
    (void)direction;
    struct vaes_key *key = state;
    vaes_expand_256(key, raw);
    vaes_hash_key(key, vaes_encrypt(key, ROUNDS_256, _mm_setzero_si128()));
    return WEIR_OK;
}

static void gcm_deinit(void *state)
{
    OPENSSL_cleanse(state, sizeof(struct vaes_key));
}

VAES_TARGET static enum weir_err gcm128_seal(void *state, const uint8_t nonce[AEAD_NONCE_LEN],
                                             const uint8_t *aad, size_t aad_len,
                                             const struct iovec *pieces, size_t count, uint8_t *dst)
{
    vaes_seal(state, ROUNDS_128, nonce, aad, aad_len, pieces, count, dst);
    return WEIR_OK;
}

VAES_TARGET static enum weir_err gcm256_seal(void *state, const uint8_t nonce[AEAD_NONCE_LEN],
                                             const uint8_t *aad, size_t aad_len,
                                             const struct iovec *pieces, size_t count, uint8_t *dst)
{
    vaes_seal(state, ROUNDS_256, nonce, aad, aad_len, pieces, count, dst);
    return WEIR_OK;
}

VAES_TARGET static bool gcm128_open(void *state, const uint8_t nonce[AEAD_NONCE_LEN],
                                    const uint8_t *aad, size_t aad_len, uint8_t *bytes, size_t len)
{
    return vaes_open(state, ROUNDS_128, nonce, aad, aad_len, bytes, len);
}

VAES_TARGET static bool gcm256_open(void *state, const uint8_t nonce[AEAD_NONCE_LEN],
                                    const uint8_t *aad, size_t aad_len, uint8_t *bytes, size_t len)
{
    return vaes_open(state, ROUNDS_256, nonce, aad, aad_len, bytes, len);
}

static const struct aead vaes_aeads[] = {
    [AEAD_AES_128_GCM] = {"AES-128-GCM (vaes)", 16, sizeof(struct vaes_key), VAES_CHUNK, VAES_CHUNK,
                          gcm128_init, gcm_deinit, gcm128_seal, gcm128_open},
    [AEAD_AES_256_GCM] = {"AES-256-GCM (vaes)", 32, sizeof(struct vaes_key), VAES_CHUNK, VAES_CHUNK,
                          gcm256_init, gcm_deinit, gcm256_seal, gcm256_open},
};

/* The first four are right only if the system saves these registers as well. */
static bool vaes_is_there(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("aes") &&
           __builtin_cpu_supports("pclmul") &&
           __get_cpuid_count(CPUID_EXTENDED, 0, &a, &b, &c, &d) == 1 &&
           (c & (CPUID_VAES | CPUID_VPCLMULQDQ)) == (CPUID_VAES | CPUID_VPCLMULQDQ);
}

const struct aead *aead_vaes(enum aead_alg alg)
{
    if (alg == AEAD_CHACHA20_POLY1305 || !vaes_is_there())
        return NULL;
    return &vaes_aeads[alg];
}

#else

const struct aead *aead_vaes(enum aead_alg alg)
{
    (void)alg;
    return NULL;
}

#endif
