/*
 * See hpack_huffman.h.
 *
 * The code is canonical: codes of one length are consecutive numbers, in the order of their
 * symbols, and go on where those of the lengths before have ended.  So the symbols in the order of
 * their codes, and for each length the first code behind it, are all there is to know; and since
 * common symbols have the shortest codes, the length is found after a comparison or two.
 */
#include "hpack_huffman.h"

#define WINDOW_BITS 32 /* in which the next code begins at the highest bit */

/* The codes of one length. */
struct group {
    uint8_t bits;   /* their length */
    uint8_t symbol; /* index of the first one's symbol */
    uint32_t end;   /* first window behind them; of the last group, EOS, whose length is 30 */
};

static const struct group groups[] = {
    {5, 0, 0x50000000},    {6, 10, 0xb8000000},   {7, 36, 0xf8000000},   {8, 68, 0xfe000000},
    {10, 74, 0xff400000},  {11, 79, 0xffa00000},  {12, 82, 0xffc00000},  {13, 84, 0xfff00000},
    {14, 90, 0xfff80000},  {15, 92, 0xfffe0000},  {19, 95, 0xfffe6000},  {20, 98, 0xfffee000},
    {21, 106, 0xffff4800}, {22, 119, 0xffffb000}, {23, 145, 0xffffea00}, {24, 174, 0xfffff600},
    {25, 186, 0xfffff800}, {26, 190, 0xfffffbc0}, {27, 205, 0xfffffe20}, {28, 224, 0xfffffff0},
    {30, 253, 0x00000000},
};

/* RFC 7541 appendix B, without EOS, which never occurs in a string. */
static const uint8_t symbols[256] = {
    48,  49,  50,  97,  99,  101, 105, 111, 115, 116, 32,  37,  45,  46,  47,  51,  52,  53,  54,
    55,  56,  57,  61,  65,  95,  98,  100, 102, 103, 104, 108, 109, 110, 112, 114, 117, 58,  66,
    67,  68,  69,  70,  71,  72,  73,  74,  75,  76,  77,  78,  79,  80,  81,  82,  83,  84,  85,
    86,  87,  89,  106, 107, 113, 118, 119, 120, 121, 122, 38,  42,  44,  59,  88,  90,  33,  34,
    40,  41,  63,  39,  43,  124, 35,  62,  0,   36,  64,  91,  93,  126, 94,  125, 60,  96,  123,
    92,  195, 208, 128, 130, 131, 162, 184, 194, 224, 226, 153, 161, 167, 172, 176, 177, 179, 209,
    216, 217, 227, 229, 230, 129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173,
    178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233, 1,   135, 137, 138, 139, 140, 141,
    143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191,
    197, 231, 239, 9,   142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237, 199, 207, 234, 235,
    192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255, 203, 204, 211, 212,
    214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254, 2,   3,   4,   5,
    6,   7,   8,   11,  12,  14,  15,  16,  17,  18,  19,  20,  21,  23,  24,  25,  26,  27,  28,
    29,  30,  31,  127, 220, 249, 10,  13,  22,
};

bool huffman_decode(const uint8_t *in, size_t len, uint8_t *out, size_t *out_len)
{
    const uint8_t *end = in + len;
    uint8_t *to = out;
    uint64_t bits = 0; /* those read and not decoded, in the low `have` bits */
    unsigned have = 0;
    for (;;) {
        while (have < WINDOW_BITS && in < end) {
            bits = bits << 8 | *in++;
            have += 8;
        }
        /* What is missing at the end counts as ones, as padding does. */
        uint32_t window = have >= WINDOW_BITS
                              ? (uint32_t)(bits >> (have - WINDOW_BITS))
                              : (uint32_t)(bits << (WINDOW_BITS - have)) | UINT32_MAX >> have;
        const struct group *g = groups;
        uint32_t begin = 0; /* first window of the group */
        while (window >= g->end && g->bits < HUFFMAN_BITS_MAX) {
            begin = g->end;
            g++;
        }
        if (g->bits > have) /* the end: fewer bits than a byte, all of them ones (RFC 7541 5.2) */
            break;
        uint32_t nth = (window - begin) >> (WINDOW_BITS - g->bits);
        if (g->symbol + nth >= sizeof(symbols))
            return false; /* EOS */
        *to++ = symbols[g->symbol + nth];
        have -= g->bits;
    }
    *out_len = (size_t)(to - out);
    uint64_t ones = ((uint64_t)1 << have) - 1;
    return have < 8 && (bits & ones) == ones;
}
