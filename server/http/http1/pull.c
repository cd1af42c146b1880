/*
 * Output: the responses of the queue in order, each as its head and the slices of its body.
 *
 *     length known      [head][slice][slice]...
 *     not known         [head][chunk head][slice][chunk head][slice]...[last chunk]
 *     ... in HTTP/1.0   [head][slice][slice]... and the end of the connection
 *
 * The first slice is read before the head is written, so that a body that cannot be had becomes
 * an honest 500; after that only cutting the connection tells the client.
 *
 * Bytes of a file map can be lost, or overwritten, until they have left.  So what completes such a
 * body (its last byte, the last chunk, the end of the connection) is kept back until all the rest
 * has left and is known to be what it was: a wrong body never looks whole.
 */
#include <stdio.h>

#include "clock.h"
#include "head_write.h"
#include "internal/assert.h"
#include "internal/log.h"
#include "internal/probes.h"
#include "internal/stats.h"
#include "ready_heads.h"
#include "http1_session.h"
#include "response_body.h"

static bool exchange_has_content(const struct http1_exchange *x)
{
    return !x->is_head && status_has_content(x->response.status);
}

static bool exchange_is_ready(const struct http1_exchange *x)
{
    return x->state != EXCHANGE_WAITING && !x->is_blocked;
}

static enum exchange_framing exchange_choose_framing(const struct http1_exchange *x)
{
    if (x->response.body_len != WEIR_LENGTH_UNKNOWN || !exchange_has_content(x))
        return FRAMING_LENGTH;
    return x->is_http10 ? FRAMING_CLOSE : FRAMING_CHUNKED;
}

/* Err: as response_body_read(). */
static enum weir_err exchange_read(struct http1_exchange *x, size_t max, struct weir_slice *out)
{
    x->is_blocked = true; /* first, since read() may call resume() */
    enum weir_err err = response_body_read(&x->response, x->sent, max, out);
    if (err != WEIR_AGAIN)
        x->is_blocked = false;
    return err;
}

static bool exchange_is_intact(const struct http1_exchange *x)
{
    const struct weir_source *source = x->response.source;
    return source->is_intact == NULL || source->is_intact(x->response.ctx);
}

/* All that was handed out so far has left. */
static bool exchange_has_left(const struct http1 *h, struct http1_exchange *x)
{
    x->is_leaving = x->body_end > h->host->sent;
    return !x->is_leaving;
}

/* Offset in the session's output behind what is in the list now. */
static uint64_t output_offset(const struct http1 *h, const struct weir_gather *out)
{
    return h->framed + (out->len - h->pulled_from);
}

static enum weir_err pull_head(struct http1 *h, struct http1_exchange *x, struct weir_gather *out)
{
    http1_settle_body(h, x);
    x->framing = exchange_choose_framing(x);
    if (x->framing == FRAMING_CLOSE)
        http1_exchange_make_last(h); /* what is queued behind it cannot be answered */
    enum head_connection connection = CONNECTION_UNSAID;
    if (h->input == INPUT_DONE && x == h->last)
        connection = CONNECTION_CLOSE;
    else if (x->is_http10)
        connection = CONNECTION_KEEP_ALIVE;
    x->state = EXCHANGE_SENDING;
    WEIR_PROBE2(request_first, h->host->id, x);
    h->env->stats->responses[x->response.status / 100]++;
    if (connection == CONNECTION_UNSAID && x->framing == FRAMING_LENGTH)
        return ready_heads_write(h->env->heads, out, &x->response, x->is_head, h->env->clock);
    const struct head_context context = {
        .is_head = x->is_head,
        .is_chunked = x->framing == FRAMING_CHUNKED,
        .connection = connection,
        .date = h->env->clock->date,
    };
    return head_write(out, &x->response, &context);
}

/* The line before a chunk, and the end of the chunk before that (RFC 9112 7.1). */
static enum weir_err pull_chunk_head(const struct http1_exchange *x, struct weir_gather *out,
                                     size_t len)
{
    char line[32];
    const char *before = x->sent > 0 ? "\r\n" : "";
    int n = snprintf(line, sizeof(line), "%s%zx\r\n%s", before, len, len == 0 ? "\r\n" : "");
    return weir_gather_append_copy(out, line, (size_t)n);
}

/* Hand out a slice of the body, but not the byte that is kept back.  Own: takes over s. */
static enum weir_err pull_slice(struct http1 *h, struct http1_exchange *x, struct weir_gather *out,
                                struct weir_slice s)
{
    enum weir_err err = WEIR_OK;
    if (s.buf->origin == WEIR_ORIGIN_MAPPED)
        x->is_mapped = true;
    if (x->is_mapped && x->sent + s.len == x->response.body_len)
        s.len--;
    if (x->framing == FRAMING_CHUNKED)
        err = pull_chunk_head(x, out, s.len);
    if (err != WEIR_OK) {
        weir_slice_drop(&s);
        return err;
    }
    size_t len = s.len;
    err = response_body_append(out, s, h->env->stats);
    if (err != WEIR_OK)
        return err;
    x->sent += len;
    x->body_end = output_offset(h, out);
    return WEIR_OK;
}

/* The byte that was kept back.  CLOSED: the body is complete. */
static enum weir_err pull_last_byte(struct http1 *h, struct http1_exchange *x,
                                    struct weir_gather *out)
{
    if (!exchange_has_left(h, x))
        return WEIR_AGAIN;
    struct weir_slice s = {0};
    enum weir_err err = exchange_read(x, 1, &s);
    if (err != WEIR_OK)
        return err;
    uint8_t last = *s.ptr; /* taken before the question, so that the answer is true of it */
    weir_slice_drop(&s);
    if (!exchange_is_intact(x))
        return WEIR_STREAM;
    err = weir_gather_append_copy(out, &last, 1);
    if (err != WEIR_OK)
        return err;
    h->env->stats->body_copied++;
    x->sent++;
    return WEIR_CLOSED;
}

/* The source has no more.  CLOSED: the body is complete. */
static enum weir_err pull_end(struct http1 *h, struct http1_exchange *x, struct weir_gather *out)
{
    if (x->is_mapped && !exchange_has_left(h, x))
        return WEIR_AGAIN;
    if (x->is_mapped && !exchange_is_intact(x))
        return WEIR_STREAM;
    enum weir_err err = WEIR_OK;
    if (x->framing == FRAMING_CHUNKED)
        err = pull_chunk_head(x, out, 0);
    return err == WEIR_OK ? WEIR_CLOSED : err;
}

/* Hand out one more piece, of `max` bytes or a little more.  CLOSED: it was the last. */
static enum weir_err pull_piece(struct http1 *h, struct http1_exchange *x, struct weir_gather *out,
                                size_t max)
{
    if (x->is_mapped && x->sent + 1 == x->response.body_len)
        return pull_last_byte(h, x, out);
    struct weir_slice s = {0};
    bool is_stream = x->response.body_len == WEIR_LENGTH_UNKNOWN;
    enum weir_err read = exchange_read(x, max, &s);
    /* The head of what comes as it is made does not wait for it. */
    bool is_due = read == WEIR_OK || read == WEIR_CLOSED || (read == WEIR_AGAIN && is_stream);
    enum weir_err err = WEIR_OK;
    if (x->state == EXCHANGE_ANSWERED && is_due)
        err = pull_head(h, x, out);
    if (err != WEIR_OK) {
        weir_slice_drop(&s);
        return err;
    }
    switch (read) {
    case WEIR_OK: return pull_slice(h, x, out, s);
    case WEIR_CLOSED: return pull_end(h, x, out);
    default: return read;
    }
}

/* An answer of our own: its text is constant and short. */
static enum weir_err pull_text(struct http1 *h, struct http1_exchange *x, struct weir_gather *out)
{
    enum weir_err err = WEIR_OK;
    if (x->state == EXCHANGE_ANSWERED)
        err = pull_head(h, x, out);
    if (err == WEIR_OK && exchange_has_content(x)) {
        err = weir_gather_append_copy(out, x->text.ptr, x->text.len);
        h->env->stats->body_copied += x->text.len;
    }
    return err;
}

/* The source failed.  AGAIN: there is an answer in its place. */
static enum weir_err pull_failed(struct http1 *h, struct http1_exchange *x)
{
    log_line(LV_INFO, "http1: a body cannot be read to its end: c=%llu",
             (unsigned long long)h->host->id);
    if (x->state == EXCHANGE_ANSWERED) {
        http1_exchange_refuse(x, 500);
        return WEIR_AGAIN;
    }
    if (x->framing == FRAMING_CLOSE)
        return WEIR_IO; /* an orderly end would complete it */
    h->cut = true;
    return WEIR_CLOSED;
}

/* Hand out what there is of a response.  AGAIN: there will be more of it.  CLOSED: cut here. */
static enum weir_err pull_exchange(struct http1 *h, struct http1_exchange *x,
                                   struct weir_gather *out, size_t budget)
{
    if (x->text.len > 0)
        return pull_text(h, x, out);
    if (!exchange_has_content(x))
        return pull_head(h, x, out);
    enum weir_err err = WEIR_OK;
    while (err == WEIR_OK && out->len < budget)
        err = pull_piece(h, x, out, budget - out->len);
    switch (err) {
    case WEIR_OK: return WEIR_AGAIN;
    case WEIR_CLOSED: return WEIR_OK;
    case WEIR_STREAM: return pull_failed(h, x);
    default: return err;
    }
}

/* A response is handed out in full: there is room for another request. */
static enum weir_err pull_next(struct http1 *h)
{
    WEIR_PROBE2(request_end, h->host->id, h->first);
    http1_exchange_end(http1_exchange_take(h));
    h->idle_since_ms = h->env->clock->now_ms;
    enum weir_err err = http1_resume_input(h);
    /* A refusal is in the queue; saying so is for feed() and timeout() alone. */
    return err == WEIR_PROTO || err == WEIR_LIMIT ? WEIR_OK : err;
}

static enum weir_err pull_queue(struct http1 *h, struct weir_gather *out, size_t budget)
{
    while (!h->cut && h->first != NULL && exchange_is_ready(h->first)) {
        if (out->len >= budget)
            return WEIR_AGAIN;
        struct http1_exchange *x = h->first;
        enum weir_err err = pull_exchange(h, x, out, budget);
        if (err == WEIR_AGAIN && x->is_leaving)
            return WEIR_AGAIN;
        if (err == WEIR_AGAIN)
            continue; /* blocked, or over budget: the conditions above tell */
        if (err == WEIR_OK)
            err = pull_next(h);
        if (err != WEIR_OK)
            return err;
    }
    bool is_over = h->cut || (h->first == NULL && h->input == INPUT_DONE);
    return is_over ? WEIR_CLOSED : WEIR_OK;
}

enum weir_err http1_pull(struct http1 *h, struct weir_gather *out, size_t budget)
{
    h->pulled_from = out->len;
    enum weir_err err = pull_queue(h, out, budget);
    h->framed = output_offset(h, out);
    return err;
}
