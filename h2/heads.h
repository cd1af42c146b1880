/*
 * The heads of the peer's frames, followed along the bytes as they come.
 *
 * nghttp2 tells of a frame only when it takes it in: not of frames of unknown types, of those for
 * streams that are gone, nor of the CONTINUATION of a field section that it ignores.  All of these
 * cost us work, so they are counted here, in front of it.
 *
 *     [24 B preface][9 B head][payload ...][9 B head][payload ...]
 *
 * Invariant: the result does not depend on how the bytes are cut.
 */
#ifndef H2_HEADS_H
#define H2_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "budget.h"

#define HEADS_LEN 9 /* bytes of a frame head (RFC 9113 4.1) */

struct heads {
    uint32_t skip;             /* bytes up to the next head: preface or payload */
    uint8_t head[HEADS_LEN];   /* of the frame under way, as far as it has come */
    uint8_t head_len;          /* bytes of it */
    bool is_section;           /* HEADERS have come, their END_HEADERS has not */
    bool is_section_last;      /* the frame under way is a field section's last */
    uint64_t section_since_ms; /* when that began; true while heads_in_section() */
};

void heads_init(struct heads *h);

/*
 * Take in the next bytes and count their frames.  Gives how many of the bytes may be worked on:
 * fewer than `len` if a frame is one too many, which then begins behind them.
 */
size_t heads_scan(struct heads *h, struct budget *b, const uint8_t *bytes, size_t len,
                  uint64_t now_ms);

/* A field section has begun, and not all of it is here. */
bool heads_in_section(const struct heads *h);

#endif
