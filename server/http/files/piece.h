/*
 * Small parts of large files that were asked for, as copies in memory.
 *
 * The end of a body that is sent from a map can be said only when its bytes have left, in a frame
 * of its own and after a look at the file (response.h, is_intact).  For a few pages that costs half
 * as much again as the rest of the request.  A copy of them is an ordinary small body: the file is
 * looked at once, when it has been made, and whoever asks for the same part finds it.
 *
 * Invariant: a piece holds the bytes that the file's fields tell of: the file was looked at after
 *            they were copied, and was what had been opened.
 * Own:       one reference for the place in the table, others for slices: buf.refs.
 * Thread:    one worker.
 */
#ifndef FILES_PIECE_H
#define FILES_PIECE_H

#include <stdbool.h>

#include "file.h"
#include "range.h"
#include "internal/limits.h"
#include "weir/buf.h"
#include "weir/err.h"

struct mem;
struct piece;

/* Those of a worker.  A newer piece takes the place of an older one that chance has put there. */
struct pieces {
    struct mem *mem;                    /* Borrowed */
    struct piece *places[LIMIT_PIECES]; /* Own: a reference each; NULL: free */
};

void pieces_init(struct pieces *p, struct mem *mem);

/* Those that are being sent stay until they have left. */
void pieces_deinit(struct pieces *p);

/* True if that part of a file is worth a copy. */
static inline bool piece_suits(const struct file *f, const struct range *range)
{
    return file_is_map(f) && range->len <= LIMIT_PIECE_LEN;
}

/* True if the piece is there. */
bool pieces_have(const struct pieces *p, const struct file *f, const struct range *range);

/* The piece, if it is there.  Own: *out carries a reference. */
bool pieces_find(const struct pieces *p, const struct file *f, const struct range *range,
                 struct weir_slice *out);

/*
 * Make a piece of bytes of f's map, which are all of the range, and keep it.
 * Own: *out carries a reference; `bytes` stays the caller's.
 * Err: STREAM: the bytes are not what they were when f was opened.  NOMEM: send them as they are.
 */
WEIR_MUST_USE
enum weir_err pieces_make(struct pieces *p, struct file *f, const struct range *range,
                          const struct weir_slice *bytes, struct weir_slice *out);

#endif
