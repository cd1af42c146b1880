/*
 * The session: where bytes go as they come in, its clocks, and the protocol table.
 */
#include "http1_session.h"

#include <string.h>

#include "clock.h"
#include "http1.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/probes.h"
#include "internal/stats.h"
#include "mem.h"

#define STORE_STEP                                                                                 \
    ((size_t)1024) /* bytes: first size of a stored head, and most copied at once                  \
                    */

static struct http1 *http1_from(void *session)
{
    struct http1 *h = session;
    WEIR_ASSERT(h->magic == HTTP1_MAGIC);
    return h;
}

static const struct http1 *http1_from_const(const void *session)
{
    const struct http1 *h = session;
    WEIR_ASSERT(h->magic == HTTP1_MAGIC);
    return h;
}

/* ---- the end of input ---- */

static void store_drop(struct http1 *h)
{
    mem_give(h->store);
    h->store = NULL;
    h->store_len = 0;
    h->store_cap = 0;
}

void http1_end_input(struct http1 *h)
{
    h->input = INPUT_DONE;
    store_drop(h);
    weir_gather_deinit(&h->held);
}

enum weir_err http1_blame(struct http1 *h, unsigned status)
{
    struct stats *stats = h->env->stats;
    log_line(LV_INFO, "http1: the peer is refused: c=%llu status=%u",
             (unsigned long long)h->host->id, status);
    switch (status) {
    case 408:
    case 413:
    case 414:
    case 431: stats->limit_breaches++; return WEIR_LIMIT;
    case 400: stats->protocol_errors++; return WEIR_PROTO;
    default: return WEIR_PROTO; /* a sound request for something that we do not do */
    }
}

/* What is known of a request whose head, as far as it has come, begins at `bytes`: is it HEAD? */
static void exchange_set_method(struct http1_exchange *x, const struct head_scan *scan,
                                const uint8_t *bytes)
{
    static const struct weir_str head = WEIR_STR_INIT("HEAD");
    x->is_head =
        scan->method_len == head.len && memcmp(bytes + scan->start, head.ptr, head.len) == 0;
    if (x->is_head)
        x->request.method = head;
}

/*
 * Queue an answer of our own, as the last one, to a request whose head, as far as it has come,
 * begins at `bytes`; input ends.  Err: PROTO or LIMIT by status; NOMEM.
 */
static enum weir_err http1_refuse(struct http1 *h, const uint8_t *bytes, unsigned status)
{
    struct http1_exchange *x = http1_exchange_new(h, 0);
    if (x == NULL)
        return WEIR_NOMEM;
    exchange_set_method(x, &h->scan, bytes);
    http1_end_input(h); /* which may drop what they lie in */
    http1_exchange_refuse(x, status);
    http1_exchange_queue(h, x);
    return http1_blame(h, status);
}

/* ---- heads ---- */

/* What comes behind the head that was just read. */
static void http1_begin_body(struct http1 *h, struct http1_exchange *x)
{
    struct http1_body *b = &h->body;
    if (!b->is_chunked && b->left == 0) {
        h->input = h->persistent ? INPUT_HEAD : INPUT_DONE;
        return;
    }
    h->input = INPUT_BODY;
    b->exchange = x;
    b->allowance = UINT64_MAX;
    b->begun_ms = h->env->clock->now_ms;
    b->drain_deadline_ms = PROTOCOL_NO_DEADLINE;
}

/*
 * A head is complete: read it, and call the handler.
 * buf:  what it lies in, or NULL if that is the store.
 */
static enum weir_err http1_take_request(struct http1 *h, uint8_t *bytes, struct weir_buf *buf)
{
    struct http1_exchange *x = http1_exchange_new(h, h->scan.fields);
    if (x == NULL)
        return WEIR_NOMEM;
    if (buf != NULL) {
        x->head_buf = weir_buf_ref(buf);
    } else {
        x->head_copy = h->store;
        h->store = NULL;
        store_drop(h);
    }
    unsigned status = http1_parse_head(h, x, bytes);
    h->scan = (struct head_scan){0};
    http1_exchange_queue(h, x);
    if (status != 0) {
        http1_end_input(h);
        http1_exchange_refuse(x, status);
        return http1_blame(h, status);
    }
    http1_begin_body(h, x);
    h->env->stats->requests++;
    x->handler_owes = true;
    WEIR_PROBE2(request_start, h->host->id, x);
    h->env->handler(h->env->handler_ctx, &x->request);
    return WEIR_OK;
}

/* Room for n more bytes. */
static enum weir_err store_reserve(struct http1 *h, size_t n)
{
    size_t cap = h->store_cap == 0 ? STORE_STEP : h->store_cap;
    while (cap < h->store_len + n)
        cap *= 2;
    if (cap == h->store_cap)
        return WEIR_OK;
    uint8_t *grown = mem_resize(h->env->mem, h->store, cap);
    if (grown == NULL)
        return WEIR_NOMEM;
    h->store = grown;
    h->store_cap = cap;
    return WEIR_OK;
}

/* Go on with a head that is stored: *used bytes are added, in small steps since it may end soon. */
static enum weir_err http1_take_stored(struct http1 *h, const uint8_t *bytes, size_t len,
                                       size_t *used)
{
    size_t n = len < STORE_STEP ? len : STORE_STEP;
    enum weir_err err = store_reserve(h, n);
    if (err != WEIR_OK)
        return err;
    if (h->store_len == 0)
        h->head_since_ms = h->env->clock->now_ms;
    memcpy(h->store + h->store_len, bytes, n);
    size_t before = h->store_len;
    h->store_len += n;
    *used = n;
    switch (head_scan(&h->scan, h->store, h->store_len)) {
    case HEAD_MORE: return WEIR_OK;
    case HEAD_DONE: *used = h->scan.pos - before; return http1_take_request(h, h->store, NULL);
    case HEAD_BAD: break;
    }
    return http1_refuse(h, h->store, h->scan.status);
}

/* Take in bytes of a head.  One that lies in the slice as a whole is used where it lies. */
static enum weir_err http1_take_head(struct http1 *h, const struct weir_slice *s, size_t *used)
{
    if (h->store != NULL)
        return http1_take_stored(h, s->ptr, s->len, used);
    uint8_t *bytes = (uint8_t *)(uintptr_t)s->ptr; /* ours: see http1.h */
    switch (head_scan(&h->scan, bytes, s->len)) {
    case HEAD_MORE:
        h->scan = (struct head_scan){0};
        return http1_take_stored(h, s->ptr, s->len, used);
    case HEAD_DONE: *used = h->scan.pos; return http1_take_request(h, bytes, s->buf);
    case HEAD_BAD: break;
    }
    *used = s->len;
    return http1_refuse(h, bytes, h->scan.status);
}

/* ---- input ---- */

/* Interpret a slice as far as the queue has room; *used bytes of it are done with. */
static enum weir_err http1_interpret(struct http1 *h, struct weir_slice s, size_t *used)
{
    size_t len = s.len;
    enum weir_err err = WEIR_OK;
    while (s.len > 0 && err == WEIR_OK) {
        size_t n = s.len;
        if (h->input == INPUT_HEAD && h->open >= LIMIT_PIPELINED)
            break;
        if (h->input == INPUT_HEAD)
            err = http1_take_head(h, &s, &n);
        else if (h->input == INPUT_BODY)
            err = http1_take_body(h, s.ptr, s.len, &n);
        s.ptr += n;
        s.len -= n;
    }
    *used = len - s.len;
    return err;
}

enum weir_err http1_resume_input(struct http1 *h)
{
    while (h->held.len > 0) {
        /* Referenced, since ending the input drops what is held. */
        const struct weir_slice *front = weir_gather_front(&h->held);
        struct weir_slice s = weir_slice_of(front->buf, front->ptr, front->len);
        size_t used = 0;
        enum weir_err err = http1_interpret(h, s, &used);
        weir_slice_drop(&s);
        if (err != WEIR_OK)
            return err;
        if (h->input == INPUT_DONE || used == 0)
            break;
        weir_gather_consume(&h->held, used);
    }
    if (h->input == INPUT_DONE || (h->eof && h->held.len == 0))
        http1_end_input(h);
    return WEIR_OK;
}

/* Keep bytes until the queue has room. */
static enum weir_err http1_hold(struct http1 *h, struct weir_slice s)
{
    if (h->input == INPUT_DONE || s.len == 0)
        return WEIR_OK;
    if (h->held.len + s.len > LIMIT_HELD_INPUT) {
        h->env->stats->limit_breaches++;
        http1_end_input(h);
        return WEIR_LIMIT;
    }
    return weir_gather_append(&h->held, weir_slice_of(s.buf, s.ptr, s.len));
}

static enum weir_err http1_take(struct http1 *h, const struct weir_slice *in)
{
    struct weir_slice rest = *in; /* Borrowed, as `in` is */
    if (h->held.len == 0) {
        size_t used = 0;
        enum weir_err err = http1_interpret(h, rest, &used);
        if (err != WEIR_OK)
            return err;
        rest.ptr += used;
        rest.len -= used;
    }
    return http1_hold(h, rest);
}

/* ---- clocks ---- */

static uint64_t http1_deadline(const void *session)
{
    const struct http1 *h = http1_from_const(session);
    if (h->input == INPUT_BODY)
        return http1_body_deadline(h);
    if (h->input == INPUT_HEAD && h->store != NULL)
        return h->head_since_ms + LIMIT_HEADER_MS;
    if (h->input == INPUT_HEAD && h->first == NULL)
        return h->idle_since_ms + LIMIT_IDLE_MS;
    return PROTOCOL_NO_DEADLINE;
}

static enum weir_err http1_timeout(void *session)
{
    struct http1 *h = http1_from(session);
    if (h->env->clock->now_ms < http1_deadline(session))
        return WEIR_OK;
    if (h->input == INPUT_BODY)
        return http1_fail_body(h, 408);
    if (h->store != NULL)
        return http1_refuse(h, h->store, 408);
    http1_end_input(h);
    return WEIR_OK;
}

/* ---- the protocol table ---- */

static enum weir_err http1_open(const struct protocol_env *env, struct protocol_host *host,
                                void **session)
{
    struct http1 *h = mem_take_zeroed(env->mem, sizeof(*h));
    *session = h;
    if (h == NULL)
        return WEIR_NOMEM;
    h->magic = HTTP1_MAGIC;
    h->env = env;
    h->host = host;
    h->idle_since_ms = env->clock->now_ms;
    weir_gather_init(&h->held, env->mem);
    return WEIR_OK;
}

static enum weir_err http1_feed(void *session, const struct weir_slice *in)
{
    struct http1 *h = http1_from(session);
    h->in_call = true;
    enum weir_err err = http1_take(h, in);
    h->in_call = false;
    return err;
}

static bool http1_wants_input(const void *session)
{
    const struct http1 *h = http1_from_const(session);
    return h->held.len == 0 && h->open < LIMIT_PIPELINED;
}

static void http1_feed_end(void *session)
{
    struct http1 *h = http1_from(session);
    h->eof = true;
    if (h->held.len == 0)
        http1_end_input(h);
}

static enum weir_err http1_pull_output(void *session, struct weir_gather *out, size_t budget)
{
    struct http1 *h = http1_from(session);
    h->in_call = true;
    enum weir_err err = http1_pull(h, out, budget);
    h->in_call = false;
    return err;
}

/*
 * The bytes are of the first response, which lacks its end: that waits until all the rest has left.
 */
static enum weir_err http1_lose(void *session, const struct weir_buf *lost)
{
    (void)lost;
    struct http1 *h = http1_from(session);
    if (h->first == NULL || h->first->framing == FRAMING_CLOSE)
        return WEIR_IO;
    h->cut = true;
    return WEIR_CLOSED;
}

static void http1_drain(void *session)
{
    http1_end_input(http1_from(session));
}

static void http1_close(void *session)
{
    struct http1 *h = http1_from(session);
    h->in_call = true;
    while (h->first != NULL)
        http1_exchange_end(http1_exchange_take(h));
    http1_end_input(h);
    mem_give(h);
}

const struct protocol http1_protocol = {
    .name = "http/1.1",
    .open = http1_open,
    .feed = http1_feed,
    .wants_input = http1_wants_input,
    .feed_end = http1_feed_end,
    .pull = http1_pull_output,
    .lose = http1_lose,
    .drain = http1_drain,
    .deadline = http1_deadline,
    .timeout = http1_timeout,
    .close = http1_close,
};
