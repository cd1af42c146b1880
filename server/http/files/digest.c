/* See digest.h. */
#include "digest.h"

#include <endian.h>
#include <string.h>

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void digest_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void digest_word(struct digest *d, uint64_t word)
{
    d->v[3] ^= word;
    digest_round(d->v);
    digest_round(d->v);
    d->v[0] ^= word;
}

void digest_init(struct digest *d)
{
    /* the constants of the algorithm, under the key of its test vectors: bytes 0 to 15 */
    static const uint64_t key[2] = {0x0706050403020100U, 0x0f0e0d0c0b0a0908U};
    *d = (struct digest){
        .v = {0x736f6d6570736575U ^ key[0], 0x646f72616e646f6dU ^ key[1] ^ 0xee,
              0x6c7967656e657261U ^ key[0], 0x7465646279746573U ^ key[1]},
    };
}

void digest_feed(struct digest *d, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    while (len > 0) {
        unsigned filled = (unsigned)(d->len % 8);
        if (filled == 0 && len >= 8) {
            uint64_t word;
            memcpy(&word, p, 8);
            digest_word(d, le64toh(word));
            p += 8;
            len -= 8;
            d->len += 8;
            continue;
        }
        d->word |= (uint64_t)*p++ << (filled * 8);
        len--;
        d->len++;
        if (filled == 7) {
            digest_word(d, d->word);
            d->word = 0;
        }
    }
}

void digest_finish(struct digest *d, uint64_t out[2])
{
    digest_word(d, d->word | d->len << 56);
    d->v[2] ^= 0xee;
    for (int i = 0; i < 4; i++)
        digest_round(d->v);
    out[0] = d->v[0] ^ d->v[1] ^ d->v[2] ^ d->v[3];
    d->v[1] ^= 0xdd;
    for (int i = 0; i < 4; i++)
        digest_round(d->v);
    out[1] = d->v[0] ^ d->v[1] ^ d->v[2] ^ d->v[3];
}
