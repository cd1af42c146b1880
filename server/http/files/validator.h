/*
 * What a client can hold a stored copy against (RFC 9110 8.8): the entity-tag and the date.
 */
#ifndef FILES_VALIDATOR_H
#define FILES_VALIDATOR_H

#include <stddef.h>
#include <stdint.h>

/* 13 digits of time, 13 of size, a mark, two quotes, a NUL */
#define ETAG_CAP 30

/*
 * Write the strong entity-tag, quotes included, of a file of that size and modification time.  Both
 * are the same on every origin that the file was copied to with its times; an inode would not be.
 * Gives the length; a NUL follows.
 */
size_t etag_write(char out[ETAG_CAP], uint64_t size, int64_t mtime_ns);

#endif
