/*
 * See validator.h.
 *
 * An entity-tag goes over the wire as an HPACK literal each time.  So its digits are the 32
 * characters with the shortest Huffman codes that a tag may hold (RFC 7541 B), upper case left out:
 * ten of 5 bits, 22 of 6.  A nanosecond time and a size cost about 13 bytes that way.  The letters
 * from v to z are no digits, and so free for marks.
 */
#include "validator.h"

/* Digits of 64 bits, written always, so that what follows needs no separator. */
#define WORD_DIGITS 13

/* 1980-01-01, the first time of a ZIP archive and what some builds set */
#define EPOCH_OF_BUILDS 315532800

static const char digits[32] = "012aceiost3456789bdfghlmnpru-_=.";

bool mtime_is_meaningful(int64_t mtime_s)
{
    return mtime_s > EPOCH_OF_BUILDS;
}

static char *word_write(char *p, uint64_t word)
{
    for (int i = 0; i < WORD_DIGITS; i++, word >>= 5)
        *p++ = digits[word & 31];
    return p;
}

/* Begun at out, ended at p. */
static size_t etag_end(char *out, char *p, char mark)
{
    if (mark != '\0')
        *p++ = mark;
    *p++ = '"';
    *p = '\0';
    return (size_t)(p - out);
}

size_t etag_write(char out[ETAG_CAP], uint64_t size, uint64_t mtime_ns, char mark)
{
    out[0] = '"';
    char *p = word_write(out + 1, mtime_ns);
    for (uint64_t rest = size; rest > 0; rest >>= 5)
        *p++ = digits[rest & 31];
    return etag_end(out, p, mark);
}

size_t etag_write_digest(char out[ETAG_CAP], const uint64_t digest[2], char mark)
{
    out[0] = '"';
    char *p = word_write(word_write(out + 1, digest[0]), digest[1]);
    return etag_end(out, p, mark);
}
