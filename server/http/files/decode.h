/*
 * The original of a file of which only a compressed sibling is there.
 */
#ifndef FILES_DECODE_H
#define FILES_DECODE_H

#include "file.h"
#include "negotiate.h"

struct found;
struct root;

/*
 * Decode `packed` piece by piece into a file in memory that has its time of change.
 * Gives 0 and *found, whose bytes are in `bytes` (LIMIT_SNAPSHOT_LEN) if they are few; or a status:
 * 500 if they are not what their name says, or are cut; 413 if they are more than
 * LIMIT_DECODED_LEN, or ask for too much memory; 503 if there is not enough of something.
 * What memory a decoder takes meanwhile is bounded by its format: 32 KiB of history for gzip, 16
 * MiB for brotli, and 8 MiB for zstd, which an encoder must not exceed on the web (RFC 9659 3).
 * Thread: any.  Own: what is found is to become a file, or to be closed.
 */
unsigned decode_run(const struct root *root, const struct file *packed, enum coding coding,
                    uint8_t *bytes, struct found *found);

#endif
