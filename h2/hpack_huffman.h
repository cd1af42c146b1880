/*
 * Strings in HPACK's Huffman code (RFC 7541 5.2).
 */
#ifndef H2_HPACK_HUFFMAN_H
#define H2_HPACK_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HUFFMAN_BITS_MIN 5  /* of the shortest code */
#define HUFFMAN_BITS_MAX 30 /* of the longest */

/* Bytes that `len` coded ones can come to. */
static inline size_t huffman_bound(size_t len)
{
    return len * 8 / HUFFMAN_BITS_MIN;
}

/*
 * Decode a whole string; `out` has room for huffman_bound(len) bytes.  False: it holds EOS, or ends
 * in what is no padding.
 */
bool huffman_decode(const uint8_t *in, size_t len, uint8_t *out, size_t *out_len);

#endif
