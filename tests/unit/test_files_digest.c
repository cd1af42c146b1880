/* The digest against the vectors of its authors, and fed in pieces. */
#include "cm.h"

#include <string.h>

#include "digest.h"

/* SipHash-2-4, 128 bits, key 00..0f, of the bytes 00, 01, ..., len-1 */
static const struct {
    size_t len;
    uint8_t want[16];
} vectors[] = {
    {0,
     {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
      0x93}},
    {1,
     {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
      0x45}},
    {2,
     {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff,
      0xe4}},
    {7,
     {0xa1, 0xf1, 0xeb, 0xbe, 0xd8, 0xdb, 0xc1, 0x53, 0xc0, 0xb8, 0x4a, 0xa6, 0x1f, 0xf0, 0x82,
      0x39}},
    {8,
     {0x3b, 0x62, 0xa9, 0xba, 0x62, 0x58, 0xf5, 0x61, 0x0f, 0x83, 0xe2, 0x64, 0xf3, 0x14, 0x97,
      0xb4}},
    {15,
     {0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97, 0xcf, 0xc3,
      0xd9}},
    {16,
     {0x6e, 0xe2, 0xa4, 0xca, 0x67, 0xb0, 0x54, 0xbb, 0xfd, 0x33, 0x15, 0xbf, 0x85, 0x23, 0x05,
      0x77}},
    {63,
     {0x51, 0x50, 0xd1, 0x77, 0x2f, 0x50, 0x83, 0x4a, 0x50, 0x3e, 0x06, 0x9a, 0x97, 0x3f, 0xbd,
      0x7c}},
};

static void digest_of(const uint8_t *bytes, size_t len, size_t chunk, uint8_t out[16])
{
    struct digest d;
    uint64_t words[2];
    digest_init(&d);
    for (size_t at = 0; at < len; at += chunk)
        digest_feed(&d, bytes + at, len - at < chunk ? len - at : chunk);
    digest_finish(&d, words);
    for (size_t i = 0; i < 16; i++)
        out[i] = (uint8_t)(words[i / 8] >> (i % 8 * 8));
}

static void digests_are_those_of_the_vectors(void **state)
{
    (void)state;
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint8_t got[16];
        digest_of(bytes, vectors[i].len, 64, got);
        assert_memory_equal(got, vectors[i].want, 16);
    }
}

static void pieces_make_no_difference(void **state)
{
    (void)state;
    struct rng r = rng_new("digest");
    uint8_t bytes[300];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rng_next(&r);
    for (int step = 0; step < 2000; step++) {
        uint8_t whole[16];
        uint8_t pieces[16];
        size_t len = rng_below(&r, sizeof(bytes));

        digest_of(bytes, len, sizeof(bytes), whole);
        digest_of(bytes, len, 1 + rng_below(&r, 20), pieces);

        assert_memory_equal(whole, pieces, 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_the_vectors),
        cmocka_unit_test(pieces_make_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
