/*
 * Small parts of large files that are asked for again and again, as copies in memory.
 *
 * The end of a body that is sent from a map can be said only when its bytes have left, in a frame
 * of its own and after a look at the file (response.h, is_intact).  For a few pages that costs half
 * as much again as the rest of the request.  A copy of them is an ordinary small body: the file is
 * looked at once, when it has been made, and whoever asks for the same part finds it.
 *
 * A part is copied when it is asked for the second time, by a read that does not wait.  The map is
 * not touched: where it has been cut off, bytes of it that others are sending would become zeros.
 *
 * Invariant: a piece holds the bytes that the file's fields tell of: the file was looked at after
 *            they were copied, and was what had been opened.
 * Own:       one reference for the place in the table, others for slices: buf.refs.
 * Thread:    one worker.
 */
#ifndef FILES_PIECE_H
#define FILES_PIECE_H

#include <stdbool.h>
#include <stdint.h>

#include "file.h"
#include "range.h"
#include "internal/limits.h"
#include "weir/buf.h"
#include "weir/err.h"

struct mem;

/* What was asked for last of all that chance puts there. */
struct piece_place {
    uint64_t
        file_id; /* partial_id of the file, which no other file ever has; 0: the place is free */
    struct range range;
    struct weir_buf *bytes; /* Own: a reference; NULL: it was asked for once */
};

/* Those of a worker. */
struct pieces {
    struct mem *mem; /* Borrowed */
    struct piece_place places[LIMIT_PIECES];
};

void pieces_init(struct pieces *p, struct mem *mem);

/* Those that are being sent stay until they have left. */
void pieces_deinit(struct pieces *p);

/* True if the piece is there. */
bool pieces_have(const struct pieces *p, const struct file *f, const struct range *range);

/*
 * The piece that is that range of the file, made if it is due.
 * Own: *out carries a reference.
 * Err: NOMEM: there is none, and the bytes are to be taken from the map.  STREAM: the file is not
 *      what was opened any more.
 */
WEIR_MUST_USE
enum weir_err pieces_get(struct pieces *p, struct file *f, const struct range *range,
                         struct weir_slice *out);

#endif
