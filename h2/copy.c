/*
 * See copy.h.  Long frames lie in one block each, so that one SSL_write() makes one record of them;
 * short ones are copied behind one another like everything else.
 */
#include "copy.h"

#include <string.h>

#include "internal/bench.h"
#include "internal/limits.h"
#include "internal/stats.h"
#include "mem.h"

/* With its head a frame of that much is one record. */
#define PAYLOAD_MAX (LIMIT_DATA_FRAME - FRAME_HEAD_LEN)

ssize_t h2_copy_read(struct h2_stream *s, uint8_t *buf, size_t max, uint32_t *flags)
{
    ssize_t len = h2_output_read(s, max < PAYLOAD_MAX ? max : PAYLOAD_MAX, flags);
    *flags &= ~(uint32_t)NGHTTP2_DATA_FLAG_NO_COPY;
    if (len <= 0)
        return len;
    if (!BENCH_READS || bench_read == NULL || !bench_read(&s->ready, buf))
        memcpy(buf, s->ready.ptr, (size_t)len);
    weir_slice_drop(&s->ready);
    s->h->env->stats->body_copied += (uint64_t)len;
    return len;
}

static enum weir_err append_block(struct h2_conn *h, const uint8_t *frame, size_t len)
{
    struct weir_buf *block = block_take(h->env->mem, BLOCK_LARGE);
    if (block == NULL)
        return WEIR_NOMEM;
    memcpy(block->base, frame, len);
    enum weir_err err = weir_gather_append(h->out, weir_slice_of(block, block->base, len));
    weir_buf_unref(&block);
    return err;
}

enum weir_err h2_copy_send_data(struct h2_conn *h, const uint8_t *frame, size_t len)
{
    enum weir_err err = len > BLOCK_SMALL_CAP && len <= BLOCK_LARGE_CAP
                            ? append_block(h, frame, len)
                            : weir_gather_append_copy(h->out, frame, len);
    if (err != WEIR_OK)
        return err;
    h->framed += len;
    uint32_t id = (uint32_t)(frame[5] & 0x7f) << 24 | (uint32_t)frame[6] << 16 |
                  (uint32_t)frame[7] << 8 | (uint32_t)frame[8];
    struct h2_stream *s = nghttp2_session_get_stream_user_data(h->ng, (int32_t)id);
    if (s == NULL)
        return WEIR_OK;
    s->body_sent += len - FRAME_HEAD_LEN;
    s->framed_end = h->framed;
    s->body_end = h->framed;
    budget_on_data_sent(&h->budget);
    if ((frame[4] & NGHTTP2_FLAG_END_STREAM) != 0)
        h2_conn_complete_stream(h, s);
    return WEIR_OK;
}
