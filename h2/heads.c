/* See heads.h. */
#include "heads.h"

#include <nghttp2/nghttp2.h>
#include <string.h>

void heads_init(struct heads *h)
{
    *h = (struct heads){.skip = NGHTTP2_CLIENT_MAGIC_LEN};
}

/* Follow field sections, from the head of HEADERS to the last byte before other frames. */
static void heads_note_section(struct heads *h, const struct budget_frame *f, uint64_t now_ms)
{
    if (f->type == NGHTTP2_HEADERS)
        h->section_since_ms = now_ms;
    else if (f->type != NGHTTP2_CONTINUATION || !h->is_section)
        return;
    h->is_section_last = (f->flags & NGHTTP2_FLAG_END_HEADERS) != 0;
    h->is_section = true;
}

/* The head is complete.  Answers whether the frame is within the peer's limits. */
static bool heads_on_head(struct heads *h, struct budget *b, uint64_t now_ms)
{
    const uint8_t *head = h->head;
    const struct budget_frame f = {
        .len = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2],
        .type = head[3],
        .flags = head[4],
    };
    h->head_len = 0;
    h->skip = f.len;
    heads_note_section(h, &f, now_ms);
    return budget_on_frame(b, &f, now_ms);
}

/* Between frames: the last frame of a field section is complete. */
static void heads_end_section(struct heads *h)
{
    if (h->skip == 0 && h->is_section_last) {
        h->is_section = false;
        h->is_section_last = false;
    }
}

size_t heads_scan(struct heads *h, struct budget *b, const uint8_t *bytes, size_t len,
                  uint64_t now_ms)
{
    size_t at = 0;
    while (at < len) {
        if (h->skip > 0) {
            size_t n = len - at < h->skip ? len - at : h->skip;
            h->skip -= (uint32_t)n;
            at += n;
            heads_end_section(h);
            continue;
        }
        size_t missing = (size_t)HEADS_LEN - h->head_len;
        size_t n = len - at < missing ? len - at : missing;
        memcpy(h->head + h->head_len, bytes + at, n);
        h->head_len = (uint8_t)(h->head_len + n);
        if (h->head_len == HEADS_LEN && !heads_on_head(h, b, now_ms))
            return at;
        at += n;
        heads_end_section(h);
    }
    return len;
}

bool heads_in_section(const struct heads *h)
{
    return h->is_section;
}
