/*
 * What a client can hold a stored copy against (RFC 9110 8.8): the entity-tag and the date.
 *
 * Builds that are to be reproducible set all times to one, often 1970 or 1980: such a time says
 * nothing, so there is no date then, and the tag comes from the content.
 */
#ifndef FILES_VALIDATOR_H
#define FILES_VALIDATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/str.h"

/* 26 digits of a digest, or 13 of time and 13 of size; a mark, two quotes, a NUL */
#define ETAG_CAP 30

/* What a representation can be compared by. */
struct validators {
    struct weir_str etag; /* strong, with quotes; empty: it has none */
    bool has_date;        /* it has a modification date */
    int64_t date_s;       /* that, in whole seconds */
    struct weir_str date; /* and as Last-Modified tells it, if it has been written */
};

/* True if a modification time, in seconds since 1970, says something. */
bool mtime_is_meaningful(int64_t mtime_s);

/*
 * Write the strong entity-tag, quotes included, of a file of that size and modification time.  Both
 * are the same on every origin that the file was copied to with its times; an inode would not be.
 * mark: a letter of "vwxyz" that tells codings of one representation apart, or NUL.
 * Gives the length; a NUL follows.
 */
size_t etag_write(char out[ETAG_CAP], uint64_t size, uint64_t mtime_ns, char mark);

/* The same from a digest of the content. */
size_t etag_write_digest(char out[ETAG_CAP], const uint64_t digest[2], char mark);

#endif
