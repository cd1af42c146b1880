/*
 * Byte ranges (RFC 9110 14.1.2).
 */
#ifndef FILES_RANGE_H
#define FILES_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "weir/str.h"

/* ranges of one answer; whoever asks for more gets all of it */
#define RANGES_MAX 16
/* ranges that are read; what is left of them after merging counts against RANGES_MAX */
#define RANGES_READ_MAX 64
/* bytes between two ranges below which they are sent as one: the head of a part is longer */
#define RANGE_GAP_MIN 80

struct range {
    uint64_t first; /* byte */
    uint64_t len;   /* bytes, at least one */
};

enum range_answer {
    RANGE_WHOLE,         /* send all: no ranges, or not to be taken as such */
    RANGE_PARTS,         /* send those found */
    RANGE_UNSATISFIABLE, /* 416 */
};

/*
 * Read the value of the field `range` against a representation of `size` bytes.  With PARTS, out
 * holds 1..RANGES_MAX ranges: within the size, in order, none touching another.
 */
enum range_answer range_parse(struct weir_str value, uint64_t size, struct range out[RANGES_MAX],
                              size_t *count);

#endif
