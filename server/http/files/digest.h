/*
 * SipHash-2-4 with 128 bits of output, under a fixed key: a digest of bytes that nobody attacks.
 * It tells versions of a file apart, on every host alike; it proves nothing.
 */
#ifndef FILES_DIGEST_H
#define FILES_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct digest {
    uint64_t v[4]; /* state */
    uint64_t word; /* bytes that do not fill a word yet */
    uint64_t len;  /* bytes fed */
};

void digest_init(struct digest *d);
void digest_feed(struct digest *d, const void *bytes, size_t len);
void digest_finish(struct digest *d, uint64_t out[2]);

#endif
