/*
 * The gather list of weir/gather.h: a chain of segments, each an array that is filled at its end
 * and emptied at its front.
 *
 * Invariant: no segment is empty; an empty list holds no segment and no tail block, so that an
 *            idle connection costs nothing here.
 */
#include "weir/gather.h"

#include <assert.h>
#include <string.h>

#include "internal/assert.h"
#include "mem.h"

#define SEG_SLICES 62

static_assert(WEIR_GATHER_INLINE_MAX <= BLOCK_SMALL_CAP, "what is copied inline fits into a block");

struct gather_seg {
    struct gather_seg *next;
    uint32_t first; /* oldest slice that is left */
    uint32_t end;   /* one behind the newest */
    struct weir_slice slices[SEG_SLICES];
};

void weir_gather_init(struct weir_gather *g, struct mem *mem)
{
    *g = (struct weir_gather){.mem = mem};
}

void weir_gather_deinit(struct weir_gather *g)
{
    if (g->len > 0)
        weir_gather_consume(g, g->len);
}

/* The newest slice, or NULL. */
static struct weir_slice *gather_back(const struct weir_gather *g)
{
    return g->last == NULL ? NULL : &g->last->slices[g->last->end - 1];
}

/* Room for one more slice behind the last. */
static struct weir_slice *gather_push(struct weir_gather *g)
{
    if (g->last == NULL || g->last->end == SEG_SLICES) {
        struct gather_seg *seg = mem_take(g->mem, sizeof(*seg));
        if (seg == NULL)
            return NULL;
        seg->next = NULL;
        seg->first = 0;
        seg->end = 0;
        if (g->last == NULL)
            g->first = seg;
        else
            g->last->next = seg;
        g->last = seg;
    }
    g->count++;
    return &g->last->slices[g->last->end++];
}

/* Append by reference, merging with what comes before.  Own: as weir_gather_append. */
static enum weir_err gather_refer(struct weir_gather *g, struct weir_slice s)
{
    struct weir_slice *back = gather_back(g);
    if (back != NULL && back->buf == s.buf && back->ptr + back->len == s.ptr) {
        back->len += s.len;
        g->len += s.len;
        weir_buf_unref(&s.buf); /* back holds one already */
        return WEIR_OK;
    }
    struct weir_slice *slot = gather_push(g);
    if (slot == NULL) {
        weir_buf_unref(&s.buf);
        return WEIR_NOMEM;
    }
    *slot = s;
    g->len += s.len;
    return WEIR_OK;
}

/*
 * Make sure that the tail block has room for `room` bytes, 1..BLOCK_SMALL_CAP.  The old block stays
 * when there is no new one: it may do for less.
 */
static enum weir_err gather_tail(struct weir_gather *g, size_t room)
{
    if (g->tail != NULL && g->tail->refs == 1)
        g->tail_used = 0; /* no slice refers to it any more */
    if (g->tail != NULL && g->tail->cap - g->tail_used >= room)
        return WEIR_OK;
    struct weir_buf *fresh = block_take(g->mem, BLOCK_SMALL);
    if (fresh == NULL)
        return WEIR_NOMEM;
    weir_buf_unref(&g->tail);
    g->tail = fresh;
    g->tail_used = 0;
    return WEIR_OK;
}

/* An empty list keeps nothing. */
static void gather_rest(struct weir_gather *g)
{
    if (g->len == 0)
        weir_buf_unref(&g->tail);
}

/* Copy bytes to the tail block, which has room for them.  Err: WEIR_NOMEM, the list is as before.
 */
static enum weir_err gather_copy(struct weir_gather *g, const uint8_t *bytes, size_t len)
{
    uint8_t *to = g->tail->base + g->tail_used;
    memcpy(to, bytes, len);
    enum weir_err err = gather_refer(g, weir_slice_of(g->tail, to, len));
    if (err != WEIR_OK) {
        gather_rest(g);
        return err;
    }
    g->tail_used += len;
    g->copied += len;
    return WEIR_OK;
}

enum weir_err weir_gather_append(struct weir_gather *g, struct weir_slice s)
{
    if (s.len >= WEIR_GATHER_INLINE_MAX)
        return gather_refer(g, s);

    struct weir_slice *back = gather_back(g);
    bool continues = back != NULL && back->buf == s.buf && back->ptr + back->len == s.ptr;
    if (s.len > 0 && continues)
        return gather_refer(g, s);
    enum weir_err err = WEIR_OK;
    if (s.len > 0) {
        err = gather_tail(g, s.len); /* in one piece, so that it goes in whole or not at all */
        if (err == WEIR_OK)
            err = gather_copy(g, s.ptr, s.len);
    }
    weir_buf_unref(&s.buf);
    return err;
}

enum weir_err weir_gather_append_copy(struct weir_gather *g, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;
    while (len > 0) {
        enum weir_err err = gather_tail(g, 1);
        if (err != WEIR_OK)
            return err;
        size_t room = g->tail->cap - g->tail_used;
        size_t n = len < room ? len : room;
        err = gather_copy(g, from, n);
        if (err != WEIR_OK)
            return err;
        from += n;
        len -= n;
    }
    return WEIR_OK;
}

/* Forget the oldest slice, which has been dropped or moved. */
static void gather_pop(struct weir_gather *g)
{
    struct gather_seg *seg = g->first;
    g->count--;
    if (++seg->first < seg->end)
        return;
    g->first = seg->next;
    if (g->first == NULL)
        g->last = NULL;
    mem_give(seg);
}

void weir_gather_consume(struct weir_gather *g, size_t n)
{
    WEIR_ASSERT(n <= g->len);
    g->len -= n;
    while (n > 0) {
        struct weir_slice *s = &g->first->slices[g->first->first];
        if (n < s->len) {
            s->ptr += n;
            s->len -= n;
            break;
        }
        n -= s->len;
        weir_buf_unref(&s->buf);
        gather_pop(g);
    }
    gather_rest(g);
}

enum weir_err weir_gather_split(struct weir_gather *g, size_t n, struct weir_gather *to)
{
    WEIR_ASSERT(n <= g->len);
    while (n > 0) {
        struct weir_slice *s = &g->first->slices[g->first->first];
        size_t part = n < s->len ? n : s->len;
        enum weir_err err = gather_refer(to, weir_slice_of(s->buf, s->ptr, part));
        if (err != WEIR_OK)
            return err;
        weir_gather_consume(g, part);
        n -= part;
    }
    return WEIR_OK;
}

size_t weir_gather_export(const struct weir_gather *g, struct iovec *iov, size_t max,
                          size_t max_len, size_t *len)
{
    size_t count = 0;
    size_t left = max_len;
    for (const struct gather_seg *seg = g->first; seg != NULL; seg = seg->next) {
        for (uint32_t i = seg->first; i < seg->end && count < max && left > 0; i++) {
            const struct weir_slice *s = &seg->slices[i];
            size_t n = s->len < left ? s->len : left;
            iov[count++] = (struct iovec){(void *)(uintptr_t)s->ptr, n};
            left -= n;
        }
    }
    *len = max_len - left;
    return count;
}

size_t weir_gather_peek(const struct weir_gather *g, struct weir_slice *slices, size_t max,
                        size_t max_len, size_t *len)
{
    size_t count = 0;
    size_t left = max_len;
    for (const struct gather_seg *seg = g->first; seg != NULL; seg = seg->next) {
        for (uint32_t i = seg->first; i < seg->end && count < max && left > 0; i++) {
            slices[count] = seg->slices[i];
            if (slices[count].len > left)
                slices[count].len = left;
            left -= slices[count++].len;
        }
    }
    *len = max_len - left;
    return count;
}

size_t weir_gather_replace(struct weir_gather *g, const struct weir_buf *lost,
                           struct weir_buf *zeros)
{
    size_t bytes = 0;
    for (struct gather_seg *seg = g->first; seg != NULL; seg = seg->next) {
        for (uint32_t i = seg->first; i < seg->end; i++) {
            struct weir_slice *s = &seg->slices[i];
            if (s->buf != lost)
                continue;
            WEIR_ASSERT(s->len <= zeros->cap);
            bytes += s->len;
            weir_buf_unref(&s->buf);
            *s = weir_slice_of(zeros, zeros->base, s->len);
        }
    }
    return bytes;
}

/* Bytes before the first slice that refers to b; all of them if there is none. */
static size_t gather_len_before(const struct weir_gather *g, const struct weir_buf *b)
{
    size_t len = 0;
    for (const struct gather_seg *seg = g->first; seg != NULL; seg = seg->next) {
        for (uint32_t i = seg->first; i < seg->end; i++) {
            if (seg->slices[i].buf == b)
                return len;
            len += seg->slices[i].len;
        }
    }
    return len;
}

void weir_gather_cut(struct weir_gather *g, const struct weir_buf *lost)
{
    size_t len = gather_len_before(g, lost);
    if (len == g->len)
        return;
    struct weir_gather all = *g;
    weir_gather_init(g, all.mem);
    g->copied = all.copied;
    weir_ignore(weir_gather_split(&all, len, g));
    weir_gather_deinit(&all);
}

struct weir_buf *weir_gather_find_poisoned(const struct weir_gather *g)
{
    for (const struct gather_seg *seg = g->first; seg != NULL; seg = seg->next) {
        for (uint32_t i = seg->first; i < seg->end; i++) {
            if (weir_buf_is_poisoned(seg->slices[i].buf))
                return seg->slices[i].buf;
        }
    }
    return NULL;
}

static void slice_touch(const struct weir_slice *s)
{
    const size_t page = 4096; /* the smallest there is */
    const volatile uint8_t *bytes = s->ptr;
    for (size_t at = 0; at < s->len; at += page)
        (void)bytes[at];
    (void)bytes[s->len - 1];
}

void weir_gather_touch(const struct weir_gather *g)
{
    for (const struct gather_seg *seg = g->first; seg != NULL; seg = seg->next) {
        for (uint32_t i = seg->first; i < seg->end; i++) {
            if (seg->slices[i].buf->origin == WEIR_ORIGIN_MAPPED)
                slice_touch(&seg->slices[i]);
        }
    }
}

const struct weir_slice *weir_gather_front(const struct weir_gather *g)
{
    return g->first == NULL ? NULL : &g->first->slices[g->first->first];
}
