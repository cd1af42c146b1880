/*
 * See validator.h.
 *
 * An entity-tag goes over the wire as an HPACK literal each time.  So its digits are the 32
 * characters with the shortest Huffman codes that a tag may hold (RFC 7541 B): ten of 5 bits, 22 of
 * 6.  A nanosecond time and a size cost about 13 bytes that way.
 */
#include "validator.h"

/* Digits of the time, which are always written, so that what follows needs no separator. */
#define TIME_DIGITS 13

static const char digits[32] = "012aceiost3456789bdfghlmnpru-_=.";

size_t etag_write(char out[ETAG_CAP], uint64_t size, int64_t mtime_ns)
{
    char *p = out;
    *p++ = '"';
    uint64_t time = (uint64_t)mtime_ns;
    for (int i = 0; i < TIME_DIGITS; i++, time >>= 5)
        *p++ = digits[time & 31];
    for (uint64_t rest = size; rest > 0; rest >>= 5)
        *p++ = digits[rest & 31];
    *p++ = '"';
    *p = '\0';
    return (size_t)(p - out);
}
