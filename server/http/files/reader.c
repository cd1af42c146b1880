/* See reader.h. */
#include "reader.h"

#include "clock.h"
#include "describe.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "mem.h"

static void on_fetched(struct waiter *waiter, unsigned status)
{
    struct reader *r = container_of(waiter, struct reader, waiter);
    r->has_failed |= status != 0;
    weir_response_resume(r->request);
}

void reader_init(struct reader *r, struct file *f, struct weir_request *request, uint64_t end)
{
    *r = (struct reader){
        .file = file_ref(f),
        .request = request,
        .end = end < f->id.size ? end : f->id.size,
        .waiter = {.wake = on_fetched},
    };
}

void reader_deinit(struct reader *r)
{
    list_remove(&r->waiter.link);
    window_unref(&r->window);
    file_unref(&r->file);
}

/* Have the window that a chunk of the file is in. */
static enum weir_err reader_move(struct reader *r, uint64_t chunk)
{
    uint64_t index = chunk / WINDOW_CHUNKS;
    if (r->window != NULL && r->window->index == index)
        return WEIR_OK;
    window_unref(&r->window);
    unsigned status = window_take(r->file->env->windows, r->file, index, &r->window);
    return status == 0 ? WEIR_OK : WEIR_STREAM;
}

/* Begin to fetch a chunk that is likely to be needed next. */
static void reader_look_ahead(struct reader *r, uint64_t chunk)
{
    struct window *w = r->window;
    if (chunk * CHUNK_LEN >= r->end)
        return;
    if (chunk / WINDOW_CHUNKS != w->index &&
        window_take(r->file->env->windows, r->file, chunk / WINDOW_CHUNKS, &w) != 0)
        return; /* whoever needs it will see */
    window_need(w, chunk % WINDOW_CHUNKS);
    if (w != r->window)
        window_unref(&w);
}

/* Make sure that a chunk is in memory. */
static enum weir_err reader_enter(struct reader *r, uint64_t chunk)
{
    bool is_new = r->chunk != chunk + 1;
    bool is_first = r->chunk == 0; /* the file was looked at for the request */
    if (is_new && !is_first && !file_has_its_size(r->file))
        return WEIR_STREAM;
    enum weir_err err = reader_move(r, chunk);
    if (err != WEIR_OK)
        return err;
    enum residency residency = window_need(r->window, chunk % WINDOW_CHUNKS);
    if (is_new)
        reader_look_ahead(r, chunk + 1);
    if (residency == LOST)
        return WEIR_STREAM;
    if (residency == FETCHING) {
        if (!list_is_linked(&r->waiter.link))
            window_wait(r->window, chunk % WINDOW_CHUNKS, &r->waiter);
        return WEIR_AGAIN;
    }
    r->chunk = chunk + 1;
    return WEIR_OK;
}

/* True if the reader is in that chunk, and knows that it is in memory. */
static bool reader_is_in(const struct reader *r, uint64_t chunk)
{
    if (r->chunk != chunk + 1)
        return false;
    uint64_t seen_ms = r->window->chunks[chunk % WINDOW_CHUNKS].seen_ms;
    return r->window->windows->clock->now_ms - seen_ms < LIMIT_RESIDENT_MS;
}

enum weir_err reader_read(struct reader *r, uint64_t offset, size_t max, struct weir_slice *out)
{
    struct file *f = r->file;
    WEIR_ASSERT(offset < f->id.size);
    if (!file_is_map(f))
        return file_source.read(f, offset, max, out);
    if (r->has_failed || file_is_poisoned(f))
        return WEIR_STREAM;
    uint64_t chunk = offset / CHUNK_LEN;
    if (!reader_is_in(r, chunk)) {
        enum weir_err err = reader_enter(r, chunk);
        if (err != WEIR_OK)
            return err;
    }
    uint64_t end = (chunk + 1) * CHUNK_LEN < f->id.size ? (chunk + 1) * CHUNK_LEN : f->id.size;
    size_t len = end - offset < max ? (size_t)(end - offset) : max;
    *out = weir_slice_of(&r->window->buf, r->window->buf.base + offset % WINDOW_LEN, len);
    return WEIR_OK;
}

bool reader_is_intact(struct reader *r)
{
    return file_source.is_intact(r->file);
}

/* ---- a response with the whole ---- */

static struct reader *reader_from(void *ctx)
{
    return ctx;
}

static enum weir_err whole_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    return reader_read(reader_from(ctx), offset, max, out);
}

static bool whole_is_intact(void *ctx)
{
    return reader_is_intact(reader_from(ctx));
}

static void whole_release(void *ctx)
{
    reader_deinit(reader_from(ctx));
    mem_give(ctx);
}

static const struct weir_source whole_source = {
    .read = whole_read,
    .is_intact = whole_is_intact,
    .release = whole_release,
};

bool reader_respond(struct weir_request *request, struct file *f)
{
    struct weir_response whole = file_whole(f);
    if (!file_is_map(f)) {
        file_ref(f);                                /* released by the exchange */
        weir_ignore(weir_respond(request, &whole)); /* the peer has gone, or it is reset */
        return true;
    }
    struct reader *r = mem_take(f->env->mem, sizeof(*r));
    if (r == NULL)
        return false;
    reader_init(r, f, request, f->id.size);
    whole.source = &whole_source;
    whole.ctx = r;
    weir_ignore(weir_respond(request, &whole));
    return true;
}
