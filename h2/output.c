/*
 * Frames into the gather list.
 *
 *     SETTINGS, PING, ...      bytes of nghttp2, copied behind the last copied bytes
 *     HEADERS                  the frame head of nghttp2, the field section of fields.h
 *     DATA                     9 bytes of frame head, copied; the payload by reference
 *
 * When the list holds its budget, the callbacks answer WOULDBLOCK: nghttp2 offers the frame again
 * at the next pull; its bytes are kept meanwhile (memory.h).
 */
#include <string.h>

#include "internal/assert.h"
#include "internal/bench.h"
#include "internal/limits.h"
#include "internal/probes.h"
#include "copy.h"
#include "response_body.h"
#include "session.h"

/* bytes of a field section that is copied together with its frame head */
#define FIELDS_SHORT 128

/* bytes of a stream's HEADERS and DATA heads with a short field section between them */
#define JOINED_HEADS_LEN (2 * FRAME_HEAD_LEN + FIELDS_SHORT)

/* iovec entries that one frame can add */
#define FRAME_IOVECS 2

static bool output_is_full(struct h2_conn *h)
{
    h->is_blocked = h->out->len >= h->out_budget || h->out->count + FRAME_IOVECS > LIMIT_IOVECS;
    return h->is_blocked;
}

/* Note how far the session's output now goes. */
static void output_advance(struct h2_conn *h, size_t len)
{
    h->framed += len;
}

/* The list could not grow.  nghttp2 does not tell this from other failures of a callback. */
static int output_nomem(struct h2_conn *h)
{
    h->fatal = WEIR_NOMEM;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/*
 * SETTINGS_MAX_CONCURRENT_STREAMS as nghttp2 knows it: far above what is announced.
 * Why: beyond its own number nghttp2 ends the whole connection with PROTOCOL_ERROR.  RFC 9113
 * 5.1.2 also allows REFUSED_STREAM, which a client may simply retry; so the number on the wire is
 * LIMIT_STREAMS, and h2_conn refuses what goes beyond.
 */
static void settings_announce_streams(uint8_t *frame, size_t len)
{
    for (size_t at = FRAME_HEAD_LEN; at + 6 <= len; at += 6) {
        if (frame[at] == 0 && frame[at + 1] == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS) {
            const uint8_t value[4] = {0, 0, 0, LIMIT_STREAMS};
            memcpy(frame + at + 2, value, sizeof(value));
        }
    }
}
static_assert(LIMIT_STREAMS < 256, "fits into the last byte of the setting");

static bool is_own_settings(const uint8_t *frame, size_t len)
{
    return len >= FRAME_HEAD_LEN && frame[3] == NGHTTP2_SETTINGS &&
           (frame[4] & NGHTTP2_FLAG_ACK) == 0;
}

static void head_set_len(uint8_t *head, size_t len)
{
    head[0] = (uint8_t)(len >> 16);
    head[1] = (uint8_t)(len >> 8);
    head[2] = (uint8_t)len;
}

/* Of the frame that holds a whole body, behind the HEADERS of the same stream. */
static void head_of_data(uint8_t *head, size_t len, const uint8_t *headers)
{
    head_set_len(head, len);
    head[3] = NGHTTP2_DATA;
    head[4] = NGHTTP2_FLAG_END_STREAM;
    memcpy(head + 5, headers + 5, 4);
}

/* Note DATA of the stream that was framed. */
static void output_on_data(struct h2_conn *h, struct h2_stream *s, size_t len)
{
    output_advance(h, FRAME_HEAD_LEN + len);
    s->body_sent += len;
    h->progress.sent += len;
    s->framed_end = h->framed;
    if (len > 0)
        s->body_end = h->framed;
    budget_on_data_sent(&h->budget);
}

/* The body that has joined its HEADERS.  Err: WEIR_NOMEM. */
static enum weir_err output_joined(struct h2_conn *h, struct h2_stream *s)
{
    struct weir_slice ready = s->ready;
    s->ready = (struct weir_slice){0};
    size_t len = ready.len;
    send_window_keep_promise(h, (uint32_t)len);
    enum weir_err err = response_body_append(h->out, ready, h->env->stats);
    output_on_data(h, s, len);
    return err;
}

/* The frame of a field section, and the head of DATA if a body has joined.  Err: WEIR_NOMEM. */
static enum weir_err output_section(struct h2_conn *h, const struct h2_stream *s,
                                    const uint8_t *frame, const uint8_t *fields, size_t fields_len)
{
    /* The usual section goes between its head and that of DATA in one copy. */
    uint8_t heads[JOINED_HEADS_LEN];
    size_t heads_len = FRAME_HEAD_LEN;
    bool is_short = fields_len <= FIELDS_SHORT;
    memcpy(heads, frame, FRAME_HEAD_LEN);
    head_set_len(heads, fields_len);
    if (s->is_joined)
        heads[4] &= (uint8_t)~NGHTTP2_FLAG_END_STREAM;
    if (is_short) {
        memcpy(heads + FRAME_HEAD_LEN, fields, fields_len);
        heads_len += fields_len;
    } else if (weir_gather_append_copy(h->out, heads, FRAME_HEAD_LEN) != WEIR_OK ||
               weir_gather_append_copy(h->out, fields, fields_len) != WEIR_OK) {
        return WEIR_NOMEM;
    } else {
        heads_len = 0;
    }
    if (s->is_joined) {
        head_of_data(heads + heads_len, s->ready.len, frame);
        heads_len += FRAME_HEAD_LEN;
    }
    return weir_gather_append_copy(h->out, heads, heads_len);
}

/*
 * HEADERS: nghttp2 knows of no field; here its empty field section is replaced by the whole one,
 * and a body that has joined is put behind it.
 * Gives the length of nghttp2's frame, all of which is done with.
 */
static ssize_t output_headers(struct h2_conn *h, const uint8_t *frame, size_t len)
{
    int32_t id = (int32_t)((uint32_t)(frame[5] & 0x7f) << 24 | (uint32_t)frame[6] << 16 |
                           (uint32_t)frame[7] << 8 | (uint32_t)frame[8]);
    struct h2_stream *s = nghttp2_session_get_stream_user_data(h->ng, id);
    if (s == NULL || s->is_lost)
        return (ssize_t)len; /* reset while its frame waited for room: nothing is owed */
    WEIR_ASSERT((frame[4] & NGHTTP2_FLAG_END_HEADERS) != 0);

    uint8_t scratch[FIELDS_ENCODED_MAX];
    const uint8_t *fields;
    size_t fields_len;
    enum weir_err err = fields_encode(&h->fields, h->env->mem, &s->response, h->env->clock, scratch,
                                      &fields, &fields_len);
    if (err != WEIR_OK) {
        h->fatal = err == WEIR_NOMEM ? WEIR_NOMEM : WEIR_IO;
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (output_section(h, s, frame, fields, fields_len) != WEIR_OK)
        return output_nomem(h);
    output_advance(h, FRAME_HEAD_LEN + fields_len);
    WEIR_PROBE2(request_first, h->host->id, s);
    if (s->is_joined && output_joined(h, s) != WEIR_OK)
        return output_nomem(h);
    if ((frame[4] & NGHTTP2_FLAG_END_STREAM) != 0)
        h2_conn_complete_stream(h, s);
    return (ssize_t)len;
}

/* Let a frame wait for the next pull, whose bytes that are nghttp2's lie in its frame buffer. */
static int output_put_off(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    if (h2_memory_hold(&h->memory, bytes, len) != WEIR_OK)
        return output_nomem(h);
    return NGHTTP2_ERR_WOULDBLOCK;
}

ssize_t h2_output_send(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    if (output_is_full(h))
        return output_put_off(h, bytes, len);
    if (len >= FRAME_HEAD_LEN && bytes[3] == NGHTTP2_HEADERS)
        return output_headers(h, bytes, len);
    enum weir_err err;
    if (BENCH_COPIES && len >= FRAME_HEAD_LEN && bytes[3] == NGHTTP2_DATA)
        return h2_copy_send_data(h, bytes, len) == WEIR_OK ? (ssize_t)len : output_nomem(h);
    if (is_own_settings(bytes, len)) {
        uint8_t frame[128];
        WEIR_ASSERT(len <= sizeof(frame)); /* we submit a handful of settings, once */
        memcpy(frame, bytes, len);
        settings_announce_streams(frame, len);
        err = weir_gather_append_copy(h->out, frame, len);
    } else {
        err = weir_gather_append_copy(h->out, bytes, len);
    }
    if (err != WEIR_OK)
        return output_nomem(h);
    output_advance(h, len);
    return (ssize_t)len;
}

int h2_output_send_data(struct h2_conn *h, struct h2_stream *s, const uint8_t *head, size_t len,
                        bool is_last)
{
    if (output_is_full(h))
        return output_put_off(h, head, FRAME_HEAD_LEN);
    WEIR_ASSERT(len == s->ready.len);
    if (weir_gather_append_copy(h->out, head, FRAME_HEAD_LEN) != WEIR_OK)
        return output_nomem(h);
    if (len > 0) {
        struct weir_slice ready = s->ready;
        s->ready = (struct weir_slice){0};
        if (response_body_append(h->out, ready, h->env->stats) != WEIR_OK)
            return output_nomem(h);
    }
    output_on_data(h, s, len);
    if (is_last)
        h2_conn_complete_stream(h, s);
    return 0;
}

ssize_t h2_output_read(struct h2_stream *s, size_t max, uint32_t *flags)
{
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (max > LIMIT_DATA_FRAME)
        max = LIMIT_DATA_FRAME;
    int64_t left = send_window_left(s->h); /* of which nghttp2 does not know all */
    if (left <= 0 && s->body_sent != s->response.body_len) {
        send_window_starve(s);
        return NGHTTP2_ERR_DEFERRED;
    }
    if (left > 0 && max > (uint64_t)left)
        max = (size_t)left;
    enum weir_err err = h2_stream_prepare(s, max);
    bool is_end = err == WEIR_CLOSED;
    switch (is_end ? h2_stream_end(s) : err) {
    case WEIR_OK: break;
    case WEIR_AGAIN: return NGHTTP2_ERR_DEFERRED;
    default: return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* RST_STREAM(INTERNAL_ERROR) */
    }
    if (is_end || h2_stream_is_last(s))
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)s->ready.len;
}
