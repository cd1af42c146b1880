/*
 * Answers with a part of a file (RFC 9110 15.3.7).
 */
#ifndef FILES_PARTIAL_H
#define FILES_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"
#include "piece.h"
#include "range.h"
#include "weir/request.h"

/*
 * Answer with these 1..RANGES_MAX ranges of the file: a plain 206 for one, multipart/byteranges for
 * more, whose boundary is made of `random`.  A small range alone may be a piece (piece.h); of
 * all others no byte is copied.
 * Own:   takes a reference on f for itself.
 * False: nothing was sent, because that would be longer than the whole or there is no memory: the
 *        whole is a good answer too.
 */
bool partial_respond(struct weir_request *r, struct pieces *pieces, struct file *f,
                     const struct range *ranges, size_t count, uint64_t random);

#endif
