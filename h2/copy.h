/* Bodies by copies, for comparison: see internal/bench.h.  In builds for measurement only. */
#ifndef H2_COPY_H
#define H2_COPY_H

#include "session.h"

/* Read the next bytes of a body into nghttp2's frame buffer; as nghttp2's read callback. */
ssize_t h2_copy_read(struct h2_stream *s, uint8_t *buf, size_t max, uint32_t *flags);

/* Copy a whole DATA frame into the output. */
enum weir_err h2_copy_send_data(struct h2_conn *h, const uint8_t *frame, size_t len);

#endif
