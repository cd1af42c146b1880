/*
 * Field sections of the peer (RFC 9113 4.3): field blocks, in as many pieces as they come, become
 * fields of the stream whose section it is.
 *
 * A piece is decoded where it lies.  Only a field that is cut between two pieces is copied, and
 * takes as much memory as has come of it, not as it announces.
 *
 * Invariant: a section that nobody takes is decoded all the same, so that the peer's encoder and
 *            our decoder stay in step.
 */
#ifndef H2_SECTION_H
#define H2_SECTION_H

#include "hpack_decode.h"

struct h2_conn;
struct h2_stream;

struct section {
    struct hpack_decoder hpack;
    struct h2_stream *stream; /* whose it is; NULL: nobody's, or of a message that is malformed */
    uint32_t count;           /* fields that came */
    size_t len;               /* their size by RFC 9113 6.5.2 */
    uint8_t *rest;            /* Own: a field of which the end is missing, or NULL */
    size_t rest_len;
    size_t rest_cap;
};

void section_init(struct section *s, struct mem *mem);

/* Legal on a zeroed struct. */
void section_deinit(struct section *s);

/* A section begins.  Its stream is set by what follows, if anyone's. */
void h2_section_begin(struct h2_conn *h);

/* The next bytes of its field block. */
void h2_section_take(struct h2_conn *h, const uint8_t *bytes, size_t len);

/* It is complete, and its stream too if the peer says so. */
void h2_section_end(struct h2_conn *h, bool ends_stream);

#endif
