/*
 * The peer's bytes: followed from frame head to frame head as they come.
 *
 *     [24 B magic][9 B head][payload ...][9 B head][pad length][priority][field block][padding]
 *      └──────── nghttp2 ────────────────┘└──────────────── section.h ────────────────────────┘
 *
 * Field sections are taken in here.  nghttp2 is given HEADERS with an empty field block in their
 * place: it does the states of streams, and knows nothing of fields.  All other frames are its own.
 *
 * Each frame is counted against its budget (budget.h) in front of nghttp2, which does not tell of
 * those that it ignores: of unknown types, or for streams that are gone.
 *
 * Invariant: the result does not depend on how the bytes are cut.
 */
#ifndef H2_INPUT_H
#define H2_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct h2_conn;

#define FRAME_HEAD_LEN 9    /* RFC 9113 4.1 */
#define FRAME_MAX_LEN 16384 /* SETTINGS_MAX_FRAME_SIZE, which we leave as it is */

/* What the next byte is part of. */
enum input_part {
    INPUT_PASSED,  /* the client's magic, or the payload of a frame of nghttp2's */
    INPUT_HEAD,    /* a frame head */
    INPUT_PREFIX,  /* HEADERS: pad length and priority */
    INPUT_BLOCK,   /* HEADERS, CONTINUATION: some of the field block */
    INPUT_PADDING, /* HEADERS: what is behind it */
    INPUT_WINDOW,  /* WINDOW_UPDATE of the connection, of which nghttp2 may not see all */
};

struct input {
    enum input_part part;
    uint32_t left;                 /* bytes of that part that are still to come */
    uint32_t behind;               /* HEADERS: bytes of the parts behind it */
    uint8_t bytes[FRAME_HEAD_LEN]; /* of a head or prefix, as far as it has come */
    uint8_t have;                  /* bytes of those */
    uint8_t flags;                 /* of the HEADERS that began the section under way */
    bool is_last;                  /* the frame under way is a section's last */
    uint32_t section_id;           /* stream of the section under way; 0: none is */
    uint64_t section_since_ms;     /* when it began */
};

void input_init(struct input *in);

/* Take in the next bytes.  Errors are noted in h. */
void h2_input_take(struct h2_conn *h, const uint8_t *bytes, size_t len);

/* A field section has begun, and not all of it is here. */
static inline bool input_in_section(const struct input *in)
{
    return in->section_id != 0;
}

#endif
