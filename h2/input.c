/* See input.h. */
#include "input.h"

#include <string.h>

#include "clock.h"
#include "session.h"

#define PAD_LENGTH_LEN 1U /* RFC 9113 6.2 */
#define PRIORITY_LEN 5U
#define WINDOW_UPDATE_LEN 4U /* RFC 9113 6.9 */

void input_init(struct input *in)
{
    *in = (struct input){.part = INPUT_PASSED, .left = NGHTTP2_CLIENT_MAGIC_LEN};
}

static uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t id_at(const uint8_t *bytes)
{
    return number_at(bytes) & 0x7fffffff; /* the highest bit is reserved */
}

/* ---- field sections ---- */

/* A section that nobody will be given: decoded all the same, so not without end. */
static void input_on_idle_section(struct h2_conn *h)
{
    if (!budget_on_idle_section(&h->budget, h->env->clock->now_ms))
        h2_conn_fail(h, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* HEADERS on an identifier that is not new (RFC 9113 5.1, 5.1.1). */
static void input_on_old_stream(struct h2_conn *h, uint32_t id)
{
    nghttp2_stream *stream = nghttp2_session_find_stream(h->ng, (int32_t)id);
    if (stream != NULL && nghttp2_stream_get_state(stream) != NGHTTP2_STREAM_STATE_IDLE) {
        /* Trailers, or an error that nghttp2 sees. */
        struct h2_stream *s = nghttp2_session_get_stream_user_data(h->ng, (int32_t)id);
        if (s == NULL || s->has_trailers)
            input_on_idle_section(h);
        else
            s->has_trailers = true;
        return;
    }
    switch (ids_state(&h->ids, id)) {
    case IDS_NEW: return;
    case IDS_RESET: input_on_idle_section(h); return;
    case IDS_UNUSED: h2_conn_fail(h, NGHTTP2_PROTOCOL_ERROR); return;
    case IDS_CLOSED: h2_conn_fail(h, NGHTTP2_STREAM_CLOSED); return;
    }
}

/* Tell nghttp2 of the HEADERS, which makes it tell us whose section it is. */
static void input_open_section(struct h2_conn *h, uint32_t id, uint8_t flags)
{
    h2_section_begin(h);
    flags = (flags & NGHTTP2_FLAG_END_STREAM) | NGHTTP2_FLAG_END_HEADERS;
    const uint8_t frame[FRAME_HEAD_LEN] = {
        0,
        0,
        0,
        NGHTTP2_HEADERS,
        flags,
        (uint8_t)(id >> 24),
        (uint8_t)(id >> 16),
        (uint8_t)(id >> 8),
        (uint8_t)id,
    };
    h2_conn_pass(h, frame, sizeof(frame));
}

/* Bytes in front of the field block. */
static uint32_t prefix_len(uint8_t flags)
{
    return ((flags & NGHTTP2_FLAG_PADDED) != 0 ? PAD_LENGTH_LEN : 0) +
           ((flags & NGHTTP2_FLAG_PRIORITY) != 0 ? PRIORITY_LEN : 0);
}

static void input_on_headers(struct h2_conn *h, const struct budget_frame *f, uint32_t id)
{
    struct input *in = &h->input;
    uint32_t prefix = prefix_len(f->flags);
    if (id % 2 == 0 || (f->len == 0 && (f->flags & NGHTTP2_FLAG_PADDED) != 0)) {
        h2_conn_fail(h, NGHTTP2_PROTOCOL_ERROR);
        return;
    }
    if (f->len < prefix) {
        h2_conn_fail(h, NGHTTP2_FRAME_SIZE_ERROR);
        return;
    }
    if (id <= h->ids.highest)
        input_on_old_stream(h, id);
    else if (h->state >= H2_LEAVING)
        input_on_idle_section(h);
    if (h2_conn_has_failed(h))
        return;
    in->section_id = id;
    in->section_since_ms = h->env->clock->now_ms;
    in->flags = f->flags;
    in->part = INPUT_BLOCK;
    if (prefix > 0) {
        in->part = INPUT_PREFIX;
        in->left = prefix;
        in->behind = f->len - prefix;
    }
    input_open_section(h, id, f->flags);
}

static void input_on_prefix(struct h2_conn *h)
{
    struct input *in = &h->input;
    const uint8_t *at = in->bytes;
    uint32_t padding = 0;
    if ((in->flags & NGHTTP2_FLAG_PADDED) != 0)
        padding = *at++;
    bool has_priority = (in->flags & NGHTTP2_FLAG_PRIORITY) != 0;
    if (padding > in->behind || (has_priority && id_at(at) == in->section_id)) {
        h2_conn_fail(h, NGHTTP2_PROTOCOL_ERROR); /* RFC 7540 5.3.1: it depends on itself */
        return;
    }
    in->part = INPUT_BLOCK;
    in->left = in->behind - padding;
    in->behind = padding;
}

/* ---- frames ---- */

struct frame_head {
    struct budget_frame frame;
    uint32_t id;
};

static struct frame_head head_at(const uint8_t *bytes)
{
    return (struct frame_head){
        .frame.len = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2],
        .frame.type = bytes[3],
        .frame.flags = bytes[4],
        .id = id_at(bytes + 5),
    };
}

static bool type_is_section(uint8_t type)
{
    return type == NGHTTP2_HEADERS || type == NGHTTP2_CONTINUATION;
}

/* WINDOW_UPDATE that may grant what was taken behind nghttp2's back. */
static bool head_is_window(const struct h2_conn *h, const struct frame_head *head)
{
    return head->frame.type == NGHTTP2_WINDOW_UPDATE && head->id == 0 &&
           head->frame.len == WINDOW_UPDATE_LEN && h->window.hidden > 0;
}

/* Within a section there is only CONTINUATION of the same, and only there (RFC 9113 6.10). */
static bool input_is_in_order(const struct input *in, const struct frame_head *head)
{
    if (in->section_id == 0)
        return head->frame.type != NGHTTP2_CONTINUATION;
    return head->frame.type == NGHTTP2_CONTINUATION && head->id == in->section_id;
}

/* Count a frame by its head.  Gives the error that it is, or 0. */
static uint32_t input_judge(struct h2_conn *h, const struct frame_head *head)
{
    if (!budget_on_frame(&h->budget, &head->frame, h->env->clock->now_ms))
        return NGHTTP2_ENHANCE_YOUR_CALM;
    if (!input_is_in_order(&h->input, head) ||
        (head->frame.type == NGHTTP2_PRIORITY && head->id == 0)) /* RFC 9113 6.3 */
        return NGHTTP2_PROTOCOL_ERROR;
    return type_is_section(head->frame.type) && head->frame.len > FRAME_MAX_LEN
               ? NGHTTP2_FRAME_SIZE_ERROR
               : 0;
}

/* WINDOW_UPDATE of the connection is complete: nghttp2 is told what is its own. */
static void input_on_window(struct h2_conn *h)
{
    uint32_t granted = id_at(h->input.bytes); /* a number of 31 bits as well */
    uint32_t rest = granted > 0 ? send_window_grant(h, granted) : 0;
    if (rest > 0 || granted == 0) { /* nothing at all is an error that nghttp2 sees */
        const uint8_t frame[FRAME_HEAD_LEN + WINDOW_UPDATE_LEN] = {
            [2] = WINDOW_UPDATE_LEN,      [3] = NGHTTP2_WINDOW_UPDATE, [9] = (uint8_t)(rest >> 24),
            [10] = (uint8_t)(rest >> 16), [11] = (uint8_t)(rest >> 8), [12] = (uint8_t)rest,
        };
        h2_conn_pass(h, frame, sizeof(frame));
    }
}

/* The part under way is complete: go on to the next that holds bytes. */
static void input_advance(struct h2_conn *h)
{
    struct input *in = &h->input;
    if (in->part == INPUT_WINDOW) {
        in->part = INPUT_HEAD;
        input_on_window(h);
        return;
    }
    if (in->part == INPUT_PREFIX)
        input_on_prefix(h);
    if (in->part == INPUT_BLOCK && in->left == 0) {
        in->part = INPUT_PADDING;
        in->left = in->behind;
    }
    if (in->part == INPUT_PADDING && in->left == 0) {
        in->part = INPUT_HEAD;
        if (in->is_last) {
            in->section_id = 0;
            h2_section_end(h, (in->flags & NGHTTP2_FLAG_END_STREAM) != 0);
        }
    }
}

/* HEADERS or CONTINUATION. */
static void input_begin_section_frame(struct h2_conn *h, const struct frame_head *head)
{
    struct input *in = &h->input;
    in->part = INPUT_BLOCK;
    in->left = head->frame.len;
    in->behind = 0;
    in->is_last = (head->frame.flags & NGHTTP2_FLAG_END_HEADERS) != 0;
    if (head->frame.type == NGHTTP2_HEADERS)
        input_on_headers(h, &head->frame, head->id);
    if (in->left == 0 && !h2_conn_has_failed(h))
        input_advance(h);
}

/* A frame of nghttp2's, whose payload follows. */
static void input_begin_passed_frame(struct input *in, const struct frame_head *head)
{
    in->part = head->frame.len > 0 ? INPUT_PASSED : INPUT_HEAD;
    in->left = head->frame.len;
}

/* ---- bytes ---- */

/* Collect bytes of a head or prefix, `wanted` in all.  Gives how many were taken. */
static size_t input_collect(struct input *in, const uint8_t *bytes, size_t len, size_t wanted)
{
    size_t n = wanted - in->have < len ? wanted - in->have : len;
    memcpy(in->bytes + in->have, bytes, n);
    in->have = (uint8_t)(in->have + n);
    return n;
}

/* The head of a frame that may be ours. */
static void input_take_head(struct h2_conn *h, const uint8_t *bytes)
{
    struct input *in = &h->input;
    const struct frame_head head = head_at(bytes);
    uint32_t error = input_judge(h, &head);
    if (error != 0) {
        h2_conn_fail(h, error);
    } else if (type_is_section(head.frame.type)) {
        input_begin_section_frame(h, &head);
    } else if (head_is_window(h, &head)) {
        in->part = INPUT_WINDOW;
        in->left = head.frame.len;
    } else {
        input_begin_passed_frame(in, &head);
        h2_conn_pass(h, bytes, FRAME_HEAD_LEN);
    }
}

/* A head that is whole, or a piece of one.  Gives how many bytes were taken. */
static size_t input_take_some_head(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    struct input *in = &h->input;
    if (in->have == 0 && len >= FRAME_HEAD_LEN) {
        input_take_head(h, bytes);
        return FRAME_HEAD_LEN;
    }
    size_t n = input_collect(in, bytes, len, FRAME_HEAD_LEN);
    if (in->have == FRAME_HEAD_LEN) {
        in->have = 0;
        input_take_head(h, in->bytes);
    }
    return n;
}

/* Payload that is not nghttp2's.  Gives how many bytes were taken. */
static size_t input_take_payload(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    struct input *in = &h->input;
    size_t n = len < in->left ? len : in->left;
    if (in->part == INPUT_PREFIX || in->part == INPUT_WINDOW)
        input_collect(in, bytes, n, in->have + n);
    else if (in->part == INPUT_BLOCK)
        h2_section_take(h, bytes, n);
    in->left -= (uint32_t)n;
    if (in->left == 0 && !h2_conn_has_failed(h)) {
        in->have = 0;
        input_advance(h);
    }
    return n;
}

/*
 * Step over frames of nghttp2's, as far as their heads are whole.  Gives how many bytes they have,
 * and in *error what is wrong with the frame behind them.
 */
static size_t input_skip_passed(struct h2_conn *h, const uint8_t *bytes, size_t len,
                                uint32_t *error)
{
    struct input *in = &h->input;
    size_t at = 0;
    *error = 0;
    while (at < len) {
        if (in->part == INPUT_PASSED) {
            size_t n = len - at < in->left ? len - at : in->left;
            at += n;
            in->left -= (uint32_t)n;
            if (in->left == 0)
                in->part = INPUT_HEAD;
            continue;
        }
        if (in->part != INPUT_HEAD || in->have > 0 || len - at < FRAME_HEAD_LEN)
            break;
        if (type_is_section(bytes[at + 3]))
            break;
        const struct frame_head head = head_at(bytes + at);
        if (head_is_window(h, &head))
            break;
        *error = input_judge(h, &head);
        if (*error != 0)
            break;
        input_begin_passed_frame(in, &head);
        at += FRAME_HEAD_LEN;
    }
    return at;
}

void h2_input_take(struct h2_conn *h, const uint8_t *bytes, size_t len)
{
    struct input *in = &h->input;
    const uint8_t *end = bytes + len;
    while (bytes < end && !h2_conn_has_failed(h)) {
        uint32_t error;
        size_t passed = input_skip_passed(h, bytes, (size_t)(end - bytes), &error);
        if (passed > 0)
            h2_conn_pass(h, bytes, passed);
        bytes += passed;
        if (error != 0)
            h2_conn_fail(h, error);
        if (bytes == end || h2_conn_has_failed(h))
            break;
        if (in->part == INPUT_HEAD)
            bytes += input_take_some_head(h, bytes, (size_t)(end - bytes));
        else
            bytes += input_take_payload(h, bytes, (size_t)(end - bytes));
    }
}
