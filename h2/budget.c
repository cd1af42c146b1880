/* See budget.h. */
#include "budget.h"

#include <nghttp2/nghttp2.h>

#include "internal/limits.h"

/* Padding and its length (RFC 9113 6.1). */
#define PADDING_MAX 256

static void bucket_init(struct bucket *b, uint32_t size, uint32_t per_s, uint64_t now_ms)
{
    *b = (struct bucket){.refilled_ms = now_ms, .left = size, .size = size, .per_s = per_s};
}

static bool bucket_take(struct bucket *b, uint64_t now_ms)
{
    uint64_t due = (now_ms - b->refilled_ms) * b->per_s / 1000;
    if (due > 0) {
        b->left = due < b->size - b->left ? b->left + (uint32_t)due : b->size;
        b->refilled_ms += due * 1000 / b->per_s;
    }
    if (b->left == 0)
        return false;
    b->left--;
    return true;
}

void budget_init(struct budget *b, uint64_t now_ms)
{
    *b = (struct budget){.window_updates_allowed = LIMIT_WINDOW_UPDATES};
    bucket_init(&b->control, LIMIT_CONTROL_FRAMES, LIMIT_CONTROL_FRAMES_PER_S, now_ms);
    bucket_init(&b->peer_resets, LIMIT_PEER_RESETS, LIMIT_PEER_RESETS_PER_S, now_ms);
    bucket_init(&b->own_resets, LIMIT_OWN_RESETS, LIMIT_OWN_RESETS_PER_S, now_ms);
    bucket_init(&b->refused, LIMIT_REFUSED, LIMIT_REFUSED_PER_S, now_ms);
}

/*
 * A frame that carries nothing and ends nothing only costs work.  A short one with padding may be
 * nothing but that, which its head does not tell: it is allowed, like a control frame.
 */
static bool budget_on_payload(struct budget *b, const struct budget_frame *f, uint8_t ends,
                              uint64_t now_ms)
{
    bool may_be_padding = (f->flags & NGHTTP2_FLAG_PADDED) != 0 && f->len <= PADDING_MAX;
    if ((f->flags & ends) != 0 || (f->len > 0 && !may_be_padding)) {
        b->empty_frames = 0;
        return true;
    }
    return f->len > 0 ? bucket_take(&b->control, now_ms) : ++b->empty_frames <= LIMIT_EMPTY_FRAMES;
}

bool budget_on_frame(struct budget *b, const struct budget_frame *f, uint64_t now_ms)
{
    switch (f->type) {
    case NGHTTP2_DATA: return budget_on_payload(b, f, NGHTTP2_FLAG_END_STREAM, now_ms);
    case NGHTTP2_HEADERS:
        b->continuations = 0;
        b->window_updates_allowed += LIMIT_WINDOW_UPDATES_PER_STREAM;
        return budget_on_payload(b, f, NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS, now_ms);
    case NGHTTP2_CONTINUATION:
        if (f->len == 0 && (f->flags & NGHTTP2_FLAG_END_HEADERS) == 0)
            return false;
        return ++b->continuations <= LIMIT_CONTINUATIONS;
    case NGHTTP2_RST_STREAM: return bucket_take(&b->peer_resets, now_ms);
    case NGHTTP2_WINDOW_UPDATE:
        if (++b->window_updates <= b->window_updates_allowed)
            return true;
        return bucket_take(&b->control, now_ms);
    default: return bucket_take(&b->control, now_ms);
    }
}

void budget_on_data_sent(struct budget *b)
{
    b->window_updates_allowed += LIMIT_WINDOW_UPDATES_PER_DATA;
}

void budget_on_complete(struct budget *b)
{
    if (b->peer_resets.left < b->peer_resets.size)
        b->peer_resets.left++;
}

bool budget_on_idle_section(struct budget *b, uint64_t now_ms)
{
    return bucket_take(&b->control, now_ms);
}

bool budget_on_own_reset(struct budget *b, uint64_t now_ms)
{
    return bucket_take(&b->own_resets, now_ms);
}

bool budget_on_refused(struct budget *b, uint64_t now_ms)
{
    return bucket_take(&b->refused, now_ms);
}
