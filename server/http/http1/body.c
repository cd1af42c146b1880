/*
 * Request bodies.  Handlers have no use for them yet: they are read to find where they end, within
 * the limits of size, rate and time, and thrown away.
 *
 * Once the response is on its way a body is read on only for the sake of the next request, and only
 * if little of it is left; else the connection ends.  What is left of a body is never taken for
 * a request.
 */
#include "clock.h"
#include "internal/limits.h"
#include "http1_session.h"

/* The body is complete. */
static void body_end(struct http1 *h)
{
    h->body.exchange = NULL;
    h->input = h->persistent ? INPUT_HEAD : INPUT_DONE;
    h->idle_since_ms = h->env->clock->now_ms;
}

/* Where the body ends, as far as it is known: *used and *is_end.  Gives 0 or a status. */
static unsigned body_measure(struct http1_body *b, const uint8_t *bytes, size_t len, size_t *used,
                             bool *is_end)
{
    if (b->is_chunked) {
        enum chunked_result result = chunked_feed(&b->chunked, bytes, len, used);
        b->received = b->chunked.body;
        *is_end = result == CHUNKED_DONE;
        return result == CHUNKED_BAD ? b->chunked.status : 0;
    }
    *used = len < b->left ? len : (size_t)b->left;
    b->left -= *used;
    b->received += *used;
    *is_end = b->left == 0;
    return 0;
}

enum weir_err http1_take_body(struct http1 *h, const uint8_t *bytes, size_t len, size_t *used)
{
    struct http1_body *b = &h->body;
    bool is_end = false;
    unsigned status = body_measure(b, bytes, len, used, &is_end);
    /* The last byte is the one that the guard minds; the parser may mind one before it. */
    size_t sound = status == 0 ? *used : *used - 1;
    if (!http1_parse_body(h, bytes, sound, is_end))
        status = 400;
    if (status != 0)
        return http1_fail_body(h, status);
    if (is_end) {
        body_end(h);
    } else if (*used > b->allowance) {
        http1_end_input(h);
    } else {
        b->allowance -= *used;
    }
    return WEIR_OK;
}

enum weir_err http1_fail_body(struct http1 *h, unsigned status)
{
    struct http1_exchange *x = h->body.exchange;
    http1_end_input(h);
    if (x != NULL && x->state != EXCHANGE_SENDING)
        http1_exchange_refuse(x, status);
    return http1_blame(h, status);
}

void http1_settle_body(struct http1 *h, const struct http1_exchange *x)
{
    struct http1_body *b = &h->body;
    if (h->input != INPUT_BODY || b->exchange != x)
        return;
    /* A client that waits for 100 may send the body after the response, or not: RFC 9110 10.1.1. */
    if (x->expects_continue || b->left > LIMIT_LINGER_BYTES) {
        http1_end_input(h);
        return;
    }
    b->allowance = LIMIT_LINGER_BYTES;
    b->drain_deadline_ms = h->env->clock->now_ms + LIMIT_LINGER_MS;
}

uint64_t http1_body_deadline(const struct http1 *h)
{
    const struct http1_body *b = &h->body;
    uint64_t rate = b->begun_ms + LIMIT_BODY_GRACE_MS + b->received * 1000 / LIMIT_BODY_RATE;
    uint64_t due = b->begun_ms + LIMIT_BODY_MS;
    if (rate < due)
        due = rate;
    return b->drain_deadline_ms < due ? b->drain_deadline_ms : due;
}
