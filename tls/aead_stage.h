/*
 * The order in which an engine takes in pieces: runs of short ones are copied to where their
 * ciphertext will lie and sealed there by one call, long ones are read in place.
 */
#ifndef TLS_AEAD_STAGE_H
#define TLS_AEAD_STAGE_H

#include <string.h>

#include "aead.h"

/* A walk over pieces. */
struct aead_walk {
    const struct iovec *pieces;
    size_t count;
    size_t stage_max;
    uint8_t *dst; /* where the ciphertext of the next piece goes */
};

/* The next input of the cipher: its plaintext, and where the ciphertext goes (may be the same). */
struct aead_input {
    const uint8_t *from;
    uint8_t *to;
    size_t len;
};

static inline bool aead_walk_next(struct aead_walk *w, struct aead_input *in)
{
    if (w->count == 0)
        return false;
    *in = (struct aead_input){w->pieces->iov_base, w->dst, w->pieces->iov_len};
    if (in->len < w->stage_max) {
        in->from = w->dst;
        in->len = 0;
        while (w->count > 0 && w->pieces->iov_len < w->stage_max) {
            if (w->pieces->iov_len > 0)
                memcpy(w->dst + in->len, w->pieces->iov_base, w->pieces->iov_len);
            in->len += w->pieces->iov_len;
            w->pieces++;
            w->count--;
        }
    } else {
        w->pieces++;
        w->count--;
    }
    w->dst += in->len;
    return true;
}

#endif
