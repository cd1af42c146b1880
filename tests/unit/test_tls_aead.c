/* The AEAD engines: published vectors, and each against the others over all shapes of input. */
#include "cm.h"

#include <string.h>
#include <sys/mman.h>

#include "aead.h"
#include "tls_hex.h"

#define TEXT_MAX ((size_t)300 * 1024) /* longer than any record: engines do not know of records */
#define PIECES_MAX 64
#define ENGINES 3

/* A key of one engine. */
struct engine_key {
    const struct aead *aead;
    void *state;
};

static struct engine_key key_new(const struct aead *aead, const uint8_t *key, enum aead_direction d)
{
    struct engine_key k = {aead, aligned_alloc(64, (aead->state_len + 63) / 64 * 64)};
    assert_int_equal(aead->init(k.state, key, d), WEIR_OK);
    return k;
}

static void key_free(struct engine_key *k)
{
    k->aead->deinit(k->state);
    free(k->state);
}

/* The engines that this machine has for an algorithm. */
static size_t engines(enum aead_alg alg, const struct aead *out[ENGINES])
{
    size_t count = 0;
    out[count++] = aead_openssl(alg);
    if (aead_ipsec_mb(alg) != NULL)
        out[count++] = aead_ipsec_mb(alg);
    if (aead_vaes(alg) != NULL)
        out[count++] = aead_vaes(alg);
    return count;
}

struct vector {
    enum aead_alg alg;
    const char *key;
    const char *nonce;
    const char *aad;
    const char *text;
    const char *sealed; /* with its tag */
};

static const struct vector vectors[] = {
    /* McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 1, 2, 4, 13, 14, 16 */
    {AEAD_AES_128_GCM, "00000000000000000000000000000000", "000000000000000000000000", "", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {AEAD_AES_128_GCM, "00000000000000000000000000000000", "000000000000000000000000", "",
     "00000000000000000000000000000000",
     "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"},
    {AEAD_AES_128_GCM, "feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {AEAD_AES_256_GCM, "0000000000000000000000000000000000000000000000000000000000000000",
     "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {AEAD_AES_256_GCM, "0000000000000000000000000000000000000000000000000000000000000000",
     "000000000000000000000000", "", "00000000000000000000000000000000",
     "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
    {AEAD_AES_256_GCM, "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    /* RFC 8439 2.8.2 */
    {AEAD_CHACHA20_POLY1305, "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
     "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
     "4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
     "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
     "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
     "637265656e20776f756c642062652069742e",
     "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
     "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
     "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
     "3ff4def08e4b7a9de576d26586cec64b6116"
     "1ae10b594f09e26a7e902ecbd0600691"},
};

static void check_vector(const struct vector *v, const struct aead *aead)
{
    struct hex key = hex_read(v->key);
    struct hex nonce = hex_read(v->nonce);
    struct hex aad = hex_read(v->aad);
    struct hex text = hex_read(v->text);
    struct hex sealed = hex_read(v->sealed);
    assert_int_equal(aead->key_len, key.len);
    struct engine_key to_seal = key_new(aead, key.bytes, AEAD_SEAL);
    struct engine_key to_open = key_new(aead, key.bytes, AEAD_OPEN);
    for (size_t cut = 0; cut <= text.len; cut++) {
        uint8_t out[256];
        struct iovec pieces[] = {{text.bytes, cut}, {text.bytes + cut, text.len - cut}};

        assert_int_equal(aead->seal(to_seal.state, nonce.bytes, aad.bytes, aad.len, pieces, 2, out),
                         WEIR_OK);
        assert_memory_equal(out, sealed.bytes, sealed.len);

        assert_true(aead->open(to_open.state, nonce.bytes, aad.bytes, aad.len, out, sealed.len));
        assert_memory_equal(out, text.bytes, text.len);
    }
    key_free(&to_seal);
    key_free(&to_open);
}

static void engines_agree_with_published_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const struct aead *list[ENGINES];
        size_t count = engines(vectors[i].alg, list);
        for (size_t e = 0; e < count; e++)
            check_vector(&vectors[i], list[e]);
    }
}

/* Attack T2. */
static void what_is_shorter_than_a_tag_is_never_opened(void **state)
{
    (void)state;
    for (enum aead_alg alg = 0; alg < AEAD_ALGS; alg++) {
        const struct aead *list[ENGINES];
        size_t count = engines(alg, list);
        for (size_t e = 0; e < count; e++) {
            const uint8_t raw[AEAD_KEY_MAX] = {7};
            const uint8_t nonce[AEAD_NONCE_LEN] = {9};
            struct engine_key k = key_new(list[e], raw, AEAD_OPEN);
            for (size_t len = 0; len <= AEAD_TAG_LEN; len++) {
                uint8_t bytes[AEAD_TAG_LEN] = {0};
                assert_false(list[e]->open(k.state, nonce, (const uint8_t *)"head", 4, bytes, len));
            }
            key_free(&k);
        }
    }
}

static uint8_t text[TEXT_MAX];
static uint8_t whole[TEXT_MAX + AEAD_TAG_LEN];
static uint8_t parts[TEXT_MAX + AEAD_TAG_LEN];

/* Seal text[0..len) as one piece and as these; the results must be the same, and open. */
static void check_pieces(const struct engine_key *one, const struct engine_key *other,
                         const struct engine_key *opener, const struct iovec *pieces, size_t count,
                         size_t len)
{
    static const uint8_t aad[] = {23, 3, 3, 1, 2};
    static uint64_t number;
    uint8_t nonce[AEAD_NONCE_LEN] = {1};
    number++;
    memcpy(nonce + 4, &number, sizeof(number));
    struct iovec all = {text, len};

    assert_int_equal(one->aead->seal(one->state, nonce, aad, sizeof(aad), &all, 1, whole), WEIR_OK);
    assert_int_equal(other->aead->seal(other->state, nonce, aad, sizeof(aad), pieces, count, parts),
                     WEIR_OK);

    assert_memory_equal(parts, whole, len + AEAD_TAG_LEN);
    assert_true(
        opener->aead->open(opener->state, nonce, aad, sizeof(aad), parts, len + AEAD_TAG_LEN));
    assert_memory_equal(parts, text, len);
}

/* Every engine in every role; fn makes the shapes. */
typedef void shapes_fn(const struct engine_key *one, const struct engine_key *other,
                       const struct engine_key *opener, struct rng *rng);

static void for_all_engines(shapes_fn *fn, struct rng *rng)
{
    uint8_t raw[AEAD_KEY_MAX];
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)rng_next(rng);
    for (enum aead_alg alg = 0; alg < AEAD_ALGS; alg++) {
        const struct aead *list[ENGINES];
        size_t count = engines(alg, list);
        for (size_t e = 0; e < count; e++) {
            struct engine_key one = key_new(list[0], raw, AEAD_SEAL);
            struct engine_key other = key_new(list[e], raw, AEAD_SEAL);
            struct engine_key opener = key_new(list[count - 1 - e], raw, AEAD_OPEN);
            fn(&one, &other, &opener, rng);
            key_free(&one);
            key_free(&other);
            key_free(&opener);
        }
    }
}

/* Three pieces, the middle one of each length from 0 to 64 at each offset from 0 to 64. */
static void shapes_small(const struct engine_key *one, const struct engine_key *other,
                         const struct engine_key *opener, struct rng *rng)
{
    (void)rng;
    static const size_t tails[] = {0, 1, 300, 1000};
    for (size_t offset = 0; offset <= 64; offset++) {
        for (size_t len = 0; len <= 64; len++) {
            size_t tail = tails[(offset + len) % 4];
            struct iovec pieces[] = {
                {text, offset}, {text + offset, len}, {text + offset + len, tail}};
            check_pieces(one, other, opener, pieces, 3, offset + len + tail);
        }
    }
}

/* The same behind a piece that is long enough to be read in place. */
static void shapes_behind_a_long_one(const struct engine_key *one, const struct engine_key *other,
                                     const struct engine_key *opener, struct rng *rng)
{
    (void)rng;
    for (size_t offset = 0; offset <= 64; offset++) {
        for (size_t len = 0; len <= 64; len++) {
            size_t first = other->aead->stage_max + offset;
            size_t last = other->aead->stage_max + (offset * 7 + len) % 50;
            struct iovec pieces[] = {
                {text, first}, {text + first, len}, {text + first + len, last}};
            check_pieces(one, other, opener, pieces, 3, first + len + last);
        }
    }
}

static void shapes_random(const struct engine_key *one, const struct engine_key *other,
                          const struct engine_key *opener, struct rng *rng)
{
    for (size_t round = 0; round < 300; round++) {
        struct iovec pieces[PIECES_MAX];
        size_t count = rng_below(rng, PIECES_MAX + 1);
        size_t len = 0;
        size_t scale = (size_t)1 << rng_below(rng, 17);
        for (size_t i = 0; i < count; i++) {
            size_t n = rng_below(rng, scale + 1);
            n = n < TEXT_MAX - len ? n : TEXT_MAX - len;
            pieces[i] = (struct iovec){text + len, n};
            len += n;
        }
        check_pieces(one, other, opener, pieces, count, len);
    }
}

static void pieces_of_every_short_length_at_every_offset(void **state)
{
    struct rng *rng = *state;
    for_all_engines(shapes_small, rng);
    for_all_engines(shapes_behind_a_long_one, rng);
}

static void random_shapes_sealed_by_one_engine_open_by_the_other(void **state)
{
    for_all_engines(shapes_random, *state);
}

/* One piece of each length that ends differently in a row of blocks, and some that are long. */
static void shapes_of_one_piece(const struct engine_key *one, const struct engine_key *other,
                                const struct engine_key *opener, struct rng *rng)
{
    for (size_t len = 0; len <= 1100; len++) {
        struct iovec piece = {text, len};
        check_pieces(one, other, opener, &piece, 1, len);
    }
    for (size_t i = 0; i < 20; i++) {
        struct iovec piece = {text, rng_below(rng, TEXT_MAX + 1)};
        check_pieces(one, other, opener, &piece, 1, piece.iov_len);
    }
}

static void one_piece_of_every_length(void **state)
{
    for_all_engines(shapes_of_one_piece, *state);
}

static void what_is_copied_is_counted(void **state)
{
    (void)state;
    static const struct aead by_chunks = {.stage_max = 256, .chunk = 256};
    static const struct aead by_pieces = {.stage_max = 256, .chunk = 1};
    static const struct {
        size_t offset;
        size_t len;
        size_t by_chunks;
        size_t by_pieces;
    } cases[] = {
        {0, 0, 0, 0},        {0, 255, 255, 255},       {0, 256, 0, 0},   {0, 257, 1, 0},
        {1, 256, 256, 0},    {1, 510, 510, 0},         {1, 511, 255, 0}, {9, 16375, 247, 0},
        {18, 16366, 238, 0}, {9, 16374, 247 + 255, 0}, {300, 9, 9, 9},   {512, 1024, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(aead_staged(&by_chunks, cases[i].offset, cases[i].len),
                         cases[i].by_chunks);
        assert_int_equal(aead_staged(&by_pieces, cases[i].offset, cases[i].len),
                         cases[i].by_pieces);
    }
}

/* ---- what must not be opened ---- */

/* A sealed message with one bit of its nonce, its associated data or itself changed. */
static void check_forged(const struct engine_key *sealer, const struct engine_key *opener,
                         size_t len, size_t bit)
{
    uint8_t nonce[AEAD_NONCE_LEN] = {3};
    uint8_t aad[] = {23, 3, 3, 1, 2};
    struct iovec piece = {text, len};
    assert_int_equal(sealer->aead->seal(sealer->state, nonce, aad, sizeof(aad), &piece, 1, whole),
                     WEIR_OK);
    size_t byte = bit / 8;
    uint8_t mask = (uint8_t)(1U << bit % 8);
    if (byte < sizeof(nonce))
        nonce[byte] ^= mask;
    else if (byte < sizeof(nonce) + sizeof(aad))
        aad[byte - sizeof(nonce)] ^= mask;
    else
        whole[byte - sizeof(nonce) - sizeof(aad)] ^= mask;

    assert_false(
        opener->aead->open(opener->state, nonce, aad, sizeof(aad), whole, len + AEAD_TAG_LEN));
}

static void check_forgeries(const struct aead *aead, struct rng *rng)
{
    static const size_t lens[] = {0, 1, 15, 16, 17, 255, 256, 257, 1000, 16384};
    const uint8_t raw[AEAD_KEY_MAX] = {5};
    struct engine_key sealer = key_new(aead, raw, AEAD_SEAL);
    struct engine_key opener = key_new(aead, raw, AEAD_OPEN);
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        size_t bits = 8 * (AEAD_NONCE_LEN + 5 + lens[i] + AEAD_TAG_LEN);
        for (size_t n = 0; n < 200; n++) {
            size_t bit = n < (size_t)8 * AEAD_TAG_LEN ? bits - 1 - n : rng_below(rng, bits);
            check_forged(&sealer, &opener, lens[i], bit);
        }
    }
    key_free(&sealer);
    key_free(&opener);
}

typedef void engine_fn(const struct aead *aead, struct rng *rng);

static void for_each_engine(engine_fn *fn, struct rng *rng)
{
    for (enum aead_alg alg = 0; alg < AEAD_ALGS; alg++) {
        const struct aead *list[ENGINES];
        size_t count = engines(alg, list);
        for (size_t e = 0; e < count; e++)
            fn(list[e], rng);
    }
}

static void a_changed_bit_is_noticed(void **state)
{
    for_each_engine(check_forgeries, *state);
}

/* ---- what must not be touched ---- */

#define PAGE ((size_t)4096)
#define GUARDED (2 * PAGE)

/* Memory between two pages that nobody may touch. */
static uint8_t *guarded_new(void)
{
    uint8_t *all = mmap(NULL, PAGE + GUARDED + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(all, MAP_FAILED);
    assert_int_equal(mprotect(all + PAGE, GUARDED, PROT_READ | PROT_WRITE), 0);
    return all + PAGE;
}

static void guarded_free(uint8_t *bytes)
{
    munmap(bytes - PAGE, PAGE + GUARDED + PAGE);
}

/* Pieces that begin or end at the edge of what may be touched, and so does the output. */
static void check_edges(const struct aead *aead, struct rng *rng)
{
    uint8_t *from = guarded_new();
    uint8_t *to = guarded_new();
    const uint8_t raw[AEAD_KEY_MAX] = {6};
    const uint8_t nonce[AEAD_NONCE_LEN] = {1};
    struct engine_key sealer = key_new(aead, raw, AEAD_SEAL);
    struct engine_key opener = key_new(aead, raw, AEAD_OPEN);
    memcpy(from, text, GUARDED);
    for (size_t len = 0; len <= 600; len++) {
        size_t cut = rng_below(rng, len + 1);
        struct iovec pieces[] = {{from, cut}, {from + GUARDED - (len - cut), len - cut}};
        uint8_t *edges[] = {to, to + GUARDED - len - AEAD_TAG_LEN};
        for (size_t i = 0; i < 2; i++) {
            memset(to, 0xee, GUARDED);
            assert_int_equal(aead->seal(sealer.state, nonce, NULL, 0, pieces, 2, edges[i]),
                             WEIR_OK);
            uint8_t *beyond = i == 0 ? to + len + AEAD_TAG_LEN : edges[1] - 1;
            assert_int_equal(*beyond, 0xee);
            assert_true(aead->open(opener.state, nonce, NULL, 0, edges[i], len + AEAD_TAG_LEN));
            assert_int_equal(*beyond, 0xee);
            assert_memory_equal(edges[i], from, cut);
            assert_memory_equal(edges[i] + cut, pieces[1].iov_base, len - cut);
        }
    }
    key_free(&sealer);
    key_free(&opener);
    guarded_free(from);
    guarded_free(to);
}

static void nothing_outside_is_read_or_written(void **state)
{
    for_each_engine(check_edges, *state);
}

/* ---- keys ---- */

static void check_wiped(const struct aead *aead, struct rng *rng)
{
    static const uint8_t zeros[4096];
    uint8_t raw[AEAD_KEY_MAX];
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)rng_next(rng);
    struct engine_key k = key_new(aead, raw, AEAD_SEAL);
    struct iovec piece = {text, 1000};
    assert_int_equal(aead->seal(k.state, raw, raw, 5, &piece, 1, whole), WEIR_OK);

    aead->deinit(k.state);

    assert_true(aead->state_len <= sizeof(zeros));
    assert_memory_equal(k.state, zeros, aead->state_len);
    free(k.state);
}

static void a_key_is_wiped_when_it_is_dropped(void **state)
{
    for_each_engine(check_wiped, *state);
}

int main(void)
{
    struct rng rng = rng_new("tls_aead");
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)rng_next(&rng);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_agree_with_published_vectors),
        cmocka_unit_test(what_is_shorter_than_a_tag_is_never_opened),
        cmocka_unit_test_prestate(pieces_of_every_short_length_at_every_offset, &rng),
        cmocka_unit_test_prestate(one_piece_of_every_length, &rng),
        cmocka_unit_test_prestate(random_shapes_sealed_by_one_engine_open_by_the_other, &rng),
        cmocka_unit_test(what_is_copied_is_counted),
        cmocka_unit_test_prestate(a_changed_bit_is_noticed, &rng),
        cmocka_unit_test_prestate(nothing_outside_is_read_or_written, &rng),
        cmocka_unit_test_prestate(a_key_is_wiped_when_it_is_dropped, &rng),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
