/*
 * The original of a file of which only a compressed sibling is there.
 */
#ifndef FILES_DECODE_H
#define FILES_DECODE_H

#include "file.h"
#include "negotiate.h"

/* Bytes up to which an original is made: it is done at once, while the worker does nothing else. */
#define DECODE_LEN_MAX ((uint64_t)4 * 1024 * 1024)

/*
 * Decode `packed` piece by piece into a file in memory that has its time of change.
 * Gives 0 and a file with one reference, that is to be described next, or a status: 500 if the
 * bytes are not what their name says, or if they are too many.
 * What memory a decoder takes meanwhile is bounded by its format: 32 KiB of history for gzip, 16
 * MiB for brotli, and 8 MiB for zstd, which an encoder must not exceed on the web (RFC 9659 3).
 */
unsigned decode_open(const struct file_env *env, const struct file *packed, enum coding coding,
                     struct file **out);

#endif
