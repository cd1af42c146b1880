/*
 * Output: the responses of the queue in order, each as its head and the slices of its body.
 *
 * The first slice is read before the head is written, so that a body that cannot be had becomes
 * an honest 500; after that only cutting the connection tells the client.
 */
#include "clock.h"
#include "head_write.h"
#include "internal/assert.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "http1_session.h"

/* Bytes of content that are still to be handed out. */
static uint64_t exchange_left(const struct http1_exchange *x)
{
    if (x->is_head || !status_has_content(x->response.status))
        return 0;
    return x->response.body_len - x->sent;
}

static bool exchange_is_ready(const struct http1_exchange *x)
{
    return x->state != EXCHANGE_WAITING && !x->is_blocked;
}

/* Err: AGAIN: blocked.  STREAM: the bytes cannot be had. */
static enum weir_err exchange_read(struct http1_exchange *x, size_t max, struct weir_slice *out)
{
    const struct weir_response *resp = &x->response;
    x->is_blocked = true; /* first, since read() may call resume() */
    enum weir_err err = resp->source->read(resp->ctx, resp->body_offset + x->sent, max, out);
    if (err == WEIR_AGAIN)
        return err;
    x->is_blocked = false;
    if (err != WEIR_OK)
        return err == WEIR_NOMEM ? err : WEIR_STREAM;
    WEIR_ASSERT(out->len > 0 && out->len <= max);
    return WEIR_OK;
}

static enum weir_err pull_head(struct http1 *h, struct http1_exchange *x, struct weir_gather *out)
{
    http1_settle_body(h, x);
    enum head_connection connection = CONNECTION_UNSAID;
    if (h->input == INPUT_DONE && x == h->last)
        connection = CONNECTION_CLOSE;
    else if (x->is_http10)
        connection = CONNECTION_KEEP_ALIVE;
    x->state = EXCHANGE_SENDING;
    h->env->stats->responses[x->response.status / 100]++;
    return head_write(out, &x->response, x->is_head, connection, h->env->clock->date);
}

/* Hand out a slice of the body, and count where its bytes came from.  Own: takes over s. */
static enum weir_err pull_slice(struct http1 *h, struct http1_exchange *x, struct weir_gather *out,
                                struct weir_slice s)
{
    struct stats *stats = h->env->stats;
    bool is_mapped = s.buf->origin == WEIR_ORIGIN_MAPPED;
    uint64_t copied_before = out->copied;
    uint64_t len = s.len;
    enum weir_err err = weir_gather_append(out, s);
    if (err != WEIR_OK)
        return err;
    uint64_t copied = out->copied - copied_before;
    stats->body_copied += copied;
    if (is_mapped)
        stats->body_mapped += len - copied;
    else
        stats->body_pooled += len - copied;
    x->sent += len;
    return WEIR_OK;
}

/* An answer of our own: its text is constant and short. */
static enum weir_err pull_text(struct http1 *h, struct http1_exchange *x, struct weir_gather *out)
{
    enum weir_err err = WEIR_OK;
    if (x->state == EXCHANGE_ANSWERED)
        err = pull_head(h, x, out);
    uint64_t left = exchange_left(x);
    if (err == WEIR_OK && left > 0) {
        err = weir_gather_append_copy(out, x->text.ptr, x->text.len);
        h->env->stats->body_copied += left;
        x->sent += left;
    }
    return err;
}

/* The source failed. */
static enum weir_err pull_failed(struct http1 *h, struct http1_exchange *x, struct weir_gather *out)
{
    log_line(LV_INFO, "http1: a body cannot be read to its end: c=%llu",
             (unsigned long long)h->host->id);
    if (x->state == EXCHANGE_ANSWERED) {
        http1_exchange_refuse(x, 500);
        return pull_text(h, x, out);
    }
    h->cut = true;
    return WEIR_CLOSED;
}

/* Hand out what there is of a response.  AGAIN: there will be more of it.  CLOSED: cut here. */
static enum weir_err pull_exchange(struct http1 *h, struct http1_exchange *x,
                                   struct weir_gather *out, size_t budget)
{
    if (x->text.len > 0)
        return pull_text(h, x, out);
    uint64_t left = exchange_left(x);
    if (left == 0)
        return x->state == EXCHANGE_ANSWERED ? pull_head(h, x, out) : WEIR_OK;
    for (; left > 0 && out->len < budget; left = exchange_left(x)) {
        size_t room = budget - out->len;
        struct weir_slice s = {0};
        enum weir_err err = exchange_read(x, left < room ? (size_t)left : room, &s);
        if (err == WEIR_STREAM)
            return pull_failed(h, x, out);
        if (err != WEIR_OK)
            return err;
        if (x->state == EXCHANGE_ANSWERED)
            err = pull_head(h, x, out);
        if (err != WEIR_OK) {
            weir_slice_drop(&s);
            return err;
        }
        err = pull_slice(h, x, out, s);
        if (err != WEIR_OK)
            return err;
    }
    return left == 0 ? WEIR_OK : WEIR_AGAIN;
}

/* A response is handed out in full: there is room for another request. */
static enum weir_err pull_next(struct http1 *h)
{
    http1_exchange_end(http1_exchange_take(h));
    h->idle_since_ms = h->env->clock->now_ms;
    enum weir_err err = http1_resume_input(h);
    /* A refusal is in the queue; saying so is for feed() and timeout() alone. */
    return err == WEIR_PROTO || err == WEIR_LIMIT ? WEIR_OK : err;
}

enum weir_err http1_pull(struct http1 *h, struct weir_gather *out, size_t budget)
{
    while (!h->cut && h->first != NULL && exchange_is_ready(h->first)) {
        if (out->len >= budget)
            return WEIR_AGAIN;
        enum weir_err err = pull_exchange(h, h->first, out, budget);
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
