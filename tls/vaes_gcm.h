/*
 * The arithmetic of AES-GCM on 256-bit registers: AES rounds on two blocks at a time, and GHASH
 * (NIST SP 800-38D 6.4) by carry-less multiplication.  Instructions only: no table is looked up and
 * nothing branches on a key or on data.
 *
 * A block in a register is reversed, so that its bits stand in the order of polynomials, lowest
 * first.  The product of two such blocks is one bit short of its place; the hash key is therefore
 * kept multiplied by x.  A product is 255 bits long and kept in three parts, to which further ones
 * are added; it is reduced once, modulo x^128 + x^127 + x^126 + x^121 + 1:
 *
 *     255 ........ 192 191 ........ 128 127 ......... 64 63 .......... 0
 *     ├───────────── high ─────────────┤
 *                     ├──────────── middle ─────────────┤
 *                                      ├───────────── low ─────────────┤
 */
#ifndef TLS_VAES_GCM_H
#define TLS_VAES_GCM_H

#include <stddef.h>
#include <stdint.h>

#include <immintrin.h>

#define VAES_TARGET __attribute__((target("avx2,aes,pclmul,vaes,vpclmulqdq")))
#define VAES_INLINE VAES_TARGET __attribute__((always_inline)) static inline

/* Loops over registers must be unrolled, else the registers become memory. */
#ifdef __clang__
#define VAES_UNROLL _Pragma("unroll")
#else
#define VAES_UNROLL _Pragma("GCC unroll 16")
#endif

/*
 * Nothing moves across this.  Why: compilers put all rounds of AES before all of GHASH, and what
 * that takes in registers goes to memory and back: a third of the speed.
 */
#define VAES_KEEP_ORDER(s, sum)                                                                    \
    __asm__ volatile(""                                                                            \
                     : "+x"((s)[0]), "+x"((s)[1]), "+x"((s)[2]), "+x"((s)[3]), "+x"((s)[4]),       \
                       "+x"((s)[5]), "+x"((s)[6]), "+x"((s)[7]), "+x"((sum).low),                  \
                       "+x"((sum).middle), "+x"((sum).high)                                        \
                     :                                                                             \
                     : "memory")

#define VAES_ROUND_KEYS 15 /* AES-256 */
#define VAES_VECTORS 8     /* of 32 bytes, that are worked on at once */
#define VAES_CHUNK (VAES_VECTORS * sizeof(__m256i))
#define VAES_POWERS ((size_t)VAES_VECTORS * 2)

/*
 * A key made ready.  The powers of the hash key go from H^16 to H^1; the zero behind them is what
 * half a vector is multiplied by when the number of blocks is odd.
 */
struct vaes_key {
    __m256i middles[VAES_VECTORS / 2]; /* see vaes_middles() */
    __m128i powers[VAES_POWERS + 1];
    __m128i rounds[VAES_ROUND_KEYS];
};

/* A sum of products that is not reduced. */
struct vaes_product {
    __m256i low;
    __m256i middle;
    __m256i high;
};

VAES_INLINE __m128i vaes_load(const void *from)
{
    return _mm_loadu_si128(from);
}

VAES_INLINE __m256i vaes_load2(const void *from)
{
    return _mm256_loadu_si256(from);
}

VAES_INLINE __m256i vaes_both(const __m128i *value)
{
    return _mm256_broadcastsi128_si256(*value);
}

VAES_INLINE __m128i vaes_reverse(__m128i block)
{
    const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm_shuffle_epi8(block, order);
}

VAES_INLINE __m256i vaes_reverse2(__m256i blocks)
{
    const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm256_shuffle_epi8(blocks, _mm256_broadcastsi128_si256(order));
}

/* ---- GHASH ---- */

/* The sum of both halves of each block, in both halves. */
VAES_INLINE __m256i vaes_middle(__m256i a)
{
    return _mm256_xor_si256(a, _mm256_shuffle_epi32(a, 0x4e));
}

/* Add a product (Karatsuba's way, three multiplications); `middle` is that of a and b. */
VAES_INLINE void vaes_add(struct vaes_product *sum, __m256i a, __m256i b, __m256i middle)
{
    sum->low = _mm256_xor_si256(sum->low, _mm256_clmulepi64_epi128(a, b, 0x00));
    sum->high = _mm256_xor_si256(sum->high, _mm256_clmulepi64_epi128(a, b, 0x11));
    sum->middle = _mm256_xor_si256(sum->middle, middle);
}

VAES_INLINE void vaes_multiply(struct vaes_product *sum, __m256i a, __m256i b)
{
    vaes_add(sum, a, b, _mm256_clmulepi64_epi128(vaes_middle(a), vaes_middle(b), 0x00));
}

/* The same with a pair of powers, of a whole chunk, whose middles were made when the key was. */
VAES_INLINE void vaes_multiply_pair(struct vaes_product *sum, __m256i a, const struct vaes_key *key,
                                    int pair)
{
    const __m256i middles = key->middles[pair / 2];
    const __m256i middle = pair % 2 == 0 ? _mm256_clmulepi64_epi128(vaes_middle(a), middles, 0x00)
                                         : _mm256_clmulepi64_epi128(vaes_middle(a), middles, 0x10);
    vaes_add(sum, a, vaes_load2(key->powers + (size_t)2 * (size_t)pair), middle);
}

/*
 * Both halves of a sum, each reduced to 128 bits.  Karatsuba: middle is short of low and high.
 * Why multiplications here too: shifts in their place cost whole chunks a seventh more time, since
 * the vector units have no cycle to spare.
 */
VAES_INLINE __m256i vaes_reduce2(struct vaes_product sum)
{
    const __m256i poly = _mm256_set1_epi64x((long long)0xc200000000000000ULL);
    __m256i middle = _mm256_xor_si256(sum.middle, _mm256_xor_si256(sum.low, sum.high));
    middle = _mm256_xor_si256(middle, _mm256_shuffle_epi32(sum.low, 0x4e));
    middle = _mm256_xor_si256(middle, _mm256_clmulepi64_epi128(sum.low, poly, 0x00));
    __m256i high = _mm256_xor_si256(sum.high, _mm256_shuffle_epi32(middle, 0x4e));
    return _mm256_xor_si256(high, _mm256_clmulepi64_epi128(middle, poly, 0x00));
}

VAES_INLINE __m128i vaes_reduce(struct vaes_product sum)
{
    const __m256i both = vaes_reduce2(sum);
    return _mm_xor_si128(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
}

VAES_INLINE struct vaes_product vaes_product_zero(void)
{
    const __m256i zero = _mm256_setzero_si256();
    return (struct vaes_product){zero, zero, zero};
}

VAES_INLINE __m256i vaes_product2(__m256i a, __m256i b)
{
    struct vaes_product sum = vaes_product_zero();
    vaes_multiply(&sum, a, b);
    return vaes_reduce2(sum);
}

/* Hash blocks, 1..VAES_POWERS of them; an odd number is followed by 16 bytes that may be read. */
VAES_INLINE __m128i vaes_hash(const struct vaes_key *key, __m128i hash, const uint8_t *blocks,
                              size_t count)
{
    const __m128i *power = key->powers + VAES_POWERS - count;
    struct vaes_product sum = vaes_product_zero();
    __m256i carry = _mm256_zextsi128_si256(hash);
    for (size_t i = 0; i < count; i += 2) {
        __m256i data = vaes_reverse2(vaes_load2(blocks + 16 * i));
        vaes_multiply(&sum, _mm256_xor_si256(data, carry), vaes_load2(power + i));
        carry = _mm256_setzero_si256();
    }
    return vaes_reduce(sum);
}

/* Multiply by x: shift up by a bit, and reduce. */
VAES_INLINE __m128i vaes_times_x(__m128i h)
{
    const __m128i poly = _mm_set_epi64x((long long)0xc200000000000000ULL, 1);
    const __m128i carries = _mm_srli_epi64(h, 63);
    const __m128i shifted = _mm_or_si128(_mm_slli_epi64(h, 1), _mm_slli_si128(carries, 8));
    const __m128i is_over = _mm_sub_epi32(_mm_setzero_si128(), _mm_shuffle_epi32(carries, 0xaa));
    return _mm_xor_si128(shifted, _mm_and_si128(poly, is_over));
}

/* The powers of a hash key, two at a time: each pair is H^2 times the pair behind it. */
VAES_INLINE void vaes_hash_key(struct vaes_key *key, __m128i h)
{
    const __m128i one = vaes_times_x(vaes_reverse(h));
    const __m256i twice = _mm256_broadcastsi128_si256(one);
    const __m128i square = _mm256_castsi256_si128(vaes_product2(twice, twice));
    const __m256i step = _mm256_broadcastsi128_si256(square);
    __m256i pair = _mm256_inserti128_si256(_mm256_castsi128_si256(square), one, 1);
    for (size_t i = VAES_POWERS; i > 0; i -= 2) {
        _mm256_storeu_si256((__m256i *)(key->powers + i - 2), pair);
        pair = vaes_product2(pair, step);
    }
    key->powers[VAES_POWERS] = _mm_setzero_si128();
    for (size_t i = 0; i < VAES_VECTORS / 2; i++) {
        const __m256i even = vaes_middle(vaes_load2(key->powers + 4 * i));
        const __m256i odd = vaes_middle(vaes_load2(key->powers + 4 * i + 2));
        key->middles[i] = _mm256_unpacklo_epi64(even, odd);
    }
}

/* ---- AES (FIPS 197) ---- */

VAES_INLINE __m128i vaes_encrypt(const struct vaes_key *key, int rounds, __m128i block)
{
    block = _mm_xor_si128(block, key->rounds[0]);
    VAES_UNROLL
    for (int i = 1; i < rounds; i++)
        block = _mm_aesenc_si128(block, key->rounds[i]);
    return _mm_aesenclast_si128(block, key->rounds[rounds]);
}

/* The words of a round key, each added to those behind it, and to `word`. */
VAES_INLINE __m128i vaes_expand(__m128i words, __m128i word)
{
    words = _mm_xor_si128(words, _mm_slli_si128(words, 4));
    words = _mm_xor_si128(words, _mm_slli_si128(words, 8));
    return _mm_xor_si128(words, word);
}

/*
 * SubWord of the last word in all four, rotated by a byte or not, plus a constant: the last round
 * of AES, whose ShiftRows changes nothing when all columns are the same.
 */
VAES_INLINE __m128i vaes_sub_word(__m128i words, int rotated, int constant)
{
    const __m128i order = _mm_set1_epi32(rotated ? 0x0c0f0e0d : 0x0f0e0d0c);
    return _mm_aesenclast_si128(_mm_shuffle_epi8(words, order), _mm_set1_epi32(constant));
}

/* Powers of x in the field of AES: the constants of the key schedule. */
VAES_INLINE int vaes_next_constant(int constant)
{
    return constant == 0x80 ? 0x1b : constant << 1;
}

VAES_INLINE void vaes_expand_128(struct vaes_key *key, const uint8_t *raw)
{
    __m128i words = vaes_load(raw);
    int constant = 1;
    key->rounds[0] = words;
    for (int i = 1; i <= 10; i++) {
        words = vaes_expand(words, vaes_sub_word(words, 1, constant));
        key->rounds[i] = words;
        constant = vaes_next_constant(constant);
    }
}

VAES_INLINE void vaes_expand_256(struct vaes_key *key, const uint8_t *raw)
{
    __m128i even = vaes_load(raw);
    __m128i odd = vaes_load(raw + 16);
    int constant = 1;
    key->rounds[0] = even;
    key->rounds[1] = odd;
    for (int i = 2; i <= 14; i += 2) {
        even = vaes_expand(even, vaes_sub_word(odd, 1, constant));
        key->rounds[i] = even;
        if (i == 14)
            break;
        odd = vaes_expand(odd, vaes_sub_word(even, 0, 0));
        key->rounds[i + 1] = odd;
        constant = vaes_next_constant(constant);
    }
}

#endif
