/*
 * Both ends of an HTTP/1.1 session for tests: a client whose bytes are fed, a clock that is set by
 * hand, and a handler whose answers tell what it was asked.
 *
 *     path            answer
 *     /none           204
 *     /unchanged      304 with a content-length
 *     /large?N        200 with N bytes, from a source
 *     /cut?N          200 that promises N bytes, of which the source gives half, then fails
 *     /stream?N       200 with N bytes, whose length is not told beforehand
 *     /drip?N         the same; every other time the source has nothing yet
 *     /break?N        what /stream gives, until the source fails after half of it
 *     /mapped?N       200 with N bytes from a file map
 *     /flow?N         the same, whose length is not told beforehand
 *     /late           what `/` gives, when peer_answer() is called
 *     /slow           what `/` gives, after peer_resume() was called
 *     /split          a response with a line break in a field value
 *     anything else   200 with "METHOD authority path\n"
 */
#ifndef TESTS_HTTP1_PEER_H
#define TESTS_HTTP1_PEER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "http1.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "mem.h"
#include "ready_heads.h"
#include "weir/response.h"

#define PEER_LATE_MAX 64
#define PEER_MEMORY ((size_t)64 * 1024 * 1024)

struct peer {
    struct mem *mem;
    struct clock clock;
    struct stats stats;
    struct ready_heads *heads; /* Own */
    struct protocol_env env;
    struct protocol_host host;
    size_t live; /* items of mem in use before the session was opened */
    void *session;
    enum weir_err fed;    /* the last result of feed() or timeout() */
    enum weir_err pulled; /* the last result of pull() */
    char *out;            /* Own: all output so far */
    size_t out_len;
    size_t budget;       /* of each pull() */
    unsigned wakes;      /* calls of host.wake() */
    unsigned requests;   /* calls of the handler */
    unsigned replies;    /* sources that are not released yet */
    bool saw_canary;     /* the handler was asked for /canary */
    bool is_overwritten; /* no source is intact: what it gave has changed since */
    bool answers_late;   /* everything is answered by peer_answer() */
    struct weir_request *late[PEER_LATE_MAX];
    size_t late_count;
    struct weir_request *blocked; /* whose source has said AGAIN */
};

/* A response's source: a buffer of its own. */
struct reply {
    struct weir_buf buf;
    struct peer *peer;
    struct weir_request *request;
    struct weir_field fields[3];
    char length[24];
    size_t fails_at;   /* offset from which reads fail */
    bool is_unwilling; /* the next read says AGAIN */
    bool is_dripping;  /* and so does every other one behind it */
    bool is_stream;    /* the length is not told */
    char text[];
};

static inline void reply_free(struct weir_buf *b)
{
    free(container_of(b, struct reply, buf));
}

static inline enum weir_err reply_read(void *ctx, uint64_t offset, size_t max,
                                       struct weir_slice *out)
{
    struct reply *reply = ctx;
    if (reply->is_unwilling) {
        reply->is_unwilling = false;
        reply->peer->blocked = reply->request;
        return WEIR_AGAIN;
    }
    reply->is_unwilling = reply->is_dripping;
    if (offset >= reply->fails_at)
        return WEIR_STREAM;
    if (reply->is_stream && offset == reply->buf.cap)
        return WEIR_CLOSED;
    size_t n = reply->buf.cap - (size_t)offset;
    if (n > reply->fails_at - offset)
        n = reply->fails_at - (size_t)offset;
    if (n > max)
        n = max;
    *out = weir_slice_of(&reply->buf, reply->buf.base + offset, n);
    return WEIR_OK;
}

static inline void reply_release(void *ctx)
{
    struct reply *reply = ctx;
    struct weir_buf *b = &reply->buf;
    reply->peer->replies--;
    weir_buf_unref(&b);
}

static inline bool reply_is_intact(void *ctx)
{
    const struct reply *reply = ctx;
    return !reply->peer->is_overwritten;
}

static const struct weir_source reply_source = {
    .read = reply_read,
    .is_intact = reply_is_intact,
    .release = reply_release,
};

static inline struct reply *reply_new(struct peer *p, struct weir_request *r, size_t len)
{
    struct reply *reply = calloc(1, sizeof(*reply) + len + 1);
    WEIR_ASSERT(reply != NULL);
    reply->buf = (struct weir_buf){
        .refs = 1, .base = (uint8_t *)reply->text, .cap = len, .release = reply_free};
    reply->peer = p;
    reply->request = r;
    reply->fails_at = len + 1;
    for (size_t i = 0; i < len; i++)
        reply->text[i] = (char)('a' + i % 23);
    p->replies++;
    return reply;
}

static inline bool path_is(const struct weir_request *r, const char *prefix)
{
    size_t len = strlen(prefix);
    return r->path.len >= len && memcmp(r->path.ptr, prefix, len) == 0;
}

static inline enum weir_err reply_send(struct reply *reply, unsigned status, bool says_length)
{
    struct weir_request *r = reply->request;
    bool is_head = weir_str_eq(r->method, WEIR_STR("HEAD"));
    size_t len = reply->buf.cap;
    size_t fields = 0;
    if (says_length) {
        snprintf(reply->length, sizeof(reply->length), "%zu", len);
        reply->fields[fields++] =
            (struct weir_field){WEIR_STR("content-length"), {reply->length, strlen(reply->length)}};
    }
    if (is_head) /* so that a reader of the output knows that no body follows */
        reply->fields[fields++] = (struct weir_field){WEIR_STR("x-head"), WEIR_STR("1")};
    struct weir_response resp = {
        .status = (uint16_t)status,
        .fields = reply->fields,
        .field_count = fields,
        .source = &reply_source,
        .ctx = reply,
        .body_len = is_head || status == 304 || status == 204 ? 0 : len,
    };
    if (!says_length) /* then the list is one of two */
        resp.fields_id = is_head ? 2 : 1;
    if (reply->is_stream)
        resp.body_len = WEIR_LENGTH_UNKNOWN;
    return weir_respond(r, &resp);
}

static inline void reply_echo(struct peer *p, struct weir_request *r, bool is_unwilling)
{
    char text[512];
    int n = snprintf(text, sizeof(text), "%.*s %.*s %.*s\n", (int)r->method.len, r->method.ptr,
                     (int)r->authority.len, r->authority.ptr, (int)r->path.len, r->path.ptr);
    size_t len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    struct reply *reply = reply_new(p, r, len);
    memcpy(reply->text, text, len);
    reply->is_unwilling = is_unwilling;
    weir_ignore(reply_send(reply, 200, true));
}

/* A body of N bytes, for the paths "/.../?N". */
static inline void reply_sized(struct peer *p, struct weir_request *r)
{
    char digits[16] = {0};
    size_t at = 0;
    while (at < r->path.len && r->path.ptr[at++] != '?') {
    }
    for (size_t i = 0; i + 1 < sizeof(digits) && at + i < r->path.len; i++)
        digits[i] = r->path.ptr[at + i];
    size_t n = strtoul(digits, NULL, 10) % 10000000;
    struct reply *reply = reply_new(p, r, n);
    if (path_is(r, "/cut?") || path_is(r, "/break?"))
        reply->fails_at = n / 2;
    if (path_is(r, "/mapped?") || path_is(r, "/flow?"))
        reply->buf.origin = WEIR_ORIGIN_MAPPED;
    reply->is_stream = path_is(r, "/stream?") || path_is(r, "/drip?") || path_is(r, "/break?") ||
                       path_is(r, "/flow?");
    reply->is_dripping = path_is(r, "/drip?");
    reply->is_unwilling = reply->is_dripping;
    weir_ignore(reply_send(reply, 200, false));
}

static inline bool path_is_sized(const struct weir_request *r)
{
    static const char *const prefixes[] = {"/large?", "/cut?",    "/stream?", "/drip?",
                                           "/break?", "/mapped?", "/flow?"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (path_is(r, prefixes[i]))
            return true;
    }
    return false;
}

static inline void reply_split(struct peer *p, struct weir_request *r)
{
    struct reply *reply = reply_new(p, r, 3);
    reply->fields[0] = (struct weir_field){WEIR_STR("location"), WEIR_STR("/\r\nset-cookie: a")};
    struct weir_response resp = {.status = 200,
                                 .fields = reply->fields,
                                 .field_count = 1,
                                 .source = &reply_source,
                                 .ctx = reply,
                                 .body_len = 3};
    weir_ignore(weir_respond(r, &resp));
}

static inline void peer_handler(void *ctx, struct weir_request *r)
{
    struct peer *p = ctx;
    p->requests++;
    if (path_is(r, "/canary"))
        p->saw_canary = true;
    if ((p->answers_late || path_is(r, "/late")) && p->late_count < PEER_LATE_MAX)
        p->late[p->late_count++] = r;
    else if (path_is(r, "/none"))
        weir_ignore(reply_send(reply_new(p, r, 0), 204, false));
    else if (path_is(r, "/unchanged"))
        weir_ignore(reply_send(reply_new(p, r, 77), 304, true));
    else if (path_is_sized(r))
        reply_sized(p, r);
    else if (path_is(r, "/split"))
        reply_split(p, r);
    else
        reply_echo(p, r, path_is(r, "/slow"));
}

/* Answer the i-th of the requests that wait. */
static inline void peer_answer(struct peer *p, size_t i)
{
    WEIR_ASSERT(i < p->late_count);
    struct weir_request *r = p->late[i];
    for (p->late_count--; i < p->late_count; i++)
        p->late[i] = p->late[i + 1];
    reply_echo(p, r, false);
}

/* The source that said AGAIN has something.  False if none did. */
static inline bool peer_resume(struct peer *p)
{
    struct weir_request *r = p->blocked;
    p->blocked = NULL;
    if (r != NULL)
        weir_response_resume(r);
    return r != NULL;
}

static inline void peer_on_wake(struct protocol_host *host)
{
    container_of(host, struct peer, host)->wakes++;
}

/* Memory of all peers of the program: to make it costs more than most tests. */
static inline struct mem *peer_mem(void)
{
    static struct mem *mem;
    if (mem == NULL)
        WEIR_ASSERT(mem_new(PEER_MEMORY, &mem) == WEIR_OK);
    return mem;
}

/* Err: as open(). */
static inline enum weir_err peer_init(struct peer *p)
{
    *p = (struct peer){.mem = peer_mem(), .budget = LIMIT_STAGED_OUTPUT};
    log_set_level(LV_ERROR);
    p->live = mem_live(p->mem);
    p->clock.now_ms = 1000000;
    clock_format_date(1796056917, p->clock.date);
    enum weir_err err = ready_heads_new(p->mem, &p->heads);
    if (err != WEIR_OK)
        return err;
    p->env = (struct protocol_env){.mem = p->mem,
                                   .clock = &p->clock,
                                   .stats = &p->stats,
                                   .handler = peer_handler,
                                   .handler_ctx = p,
                                   .heads = p->heads};
    p->host = (struct protocol_host){.wake = peer_on_wake, .id = 1};
    return http1_protocol.open(&p->env, &p->host, &p->session);
}

/*
 * Close, and answer what is owed.  True if nothing is left: no source, and as much memory in use
 * as at peer_init().  Peers that were opened later have to be closed before.
 */
static inline bool peer_deinit(struct peer *p)
{
    if (p->session != NULL)
        http1_protocol.close(p->session);
    while (p->late_count > 0)
        peer_answer(p, 0);
    ready_heads_free(p->heads);
    free(p->out);
    return mem_live(p->mem) == p->live && p->replies == 0;
}

/* One feed(), as after one recv(): the bytes lie in a block of their own. */
static inline void peer_feed_once(struct peer *p, const char *bytes, size_t len)
{
    if (p->fed != WEIR_OK || len == 0)
        return;
    struct weir_buf *b = block_take(p->mem, BLOCK_LARGE);
    if (b == NULL) {
        p->fed = WEIR_NOMEM;
        return;
    }
    WEIR_ASSERT(len <= b->cap);
    memcpy(b->base, bytes, len);
    struct weir_slice s = {b, b->base, len};
    p->fed = http1_protocol.feed(p->session, &s);
    weir_slice_drop(&s);
}

static inline void peer_feed(struct peer *p, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t n = len < BLOCK_LARGE_CAP ? len : BLOCK_LARGE_CAP;
        peer_feed_once(p, bytes, n);
        bytes += n;
        len -= n;
    }
}

static inline void peer_take_output(struct peer *p, struct weir_gather *g)
{
    p->out = realloc(p->out, p->out_len + g->len + 1);
    WEIR_ASSERT(p->out != NULL);
    while (g->len > 0) {
        struct iovec iov[8];
        size_t bytes = 0;
        size_t n = weir_gather_export(g, iov, 8, SIZE_MAX, &bytes);
        for (size_t i = 0; i < n; i++) {
            memcpy(p->out + p->out_len, iov[i].iov_base, iov[i].iov_len);
            p->out_len += iov[i].iov_len;
        }
        weir_gather_consume(g, bytes);
        p->host.sent += bytes;
    }
    p->out[p->out_len] = '\0';
}

/* Pull and keep what there is. */
static inline void peer_pull(struct peer *p)
{
    struct weir_gather g;
    weir_gather_init(&g, p->mem);
    if (p->fed == WEIR_NOMEM)
        p->pulled = WEIR_NOMEM;
    if (p->pulled == WEIR_AGAIN)
        p->pulled = WEIR_OK;
    while (p->pulled == WEIR_OK) {
        p->pulled = http1_protocol.pull(p->session, &g, p->budget);
        peer_take_output(p, &g);
        if (p->pulled != WEIR_AGAIN)
            break;
        p->pulled = WEIR_OK;
    }
    weir_gather_deinit(&g);
}

#define PEER_CHUNKED "\r\ntransfer-encoding: chunked\r\n"

/*
 * Move the content of the chunks at `from` to `to`, *len bytes; *rest is what follows.
 * False if the last chunk is missing.
 */
static inline bool peer_join_chunks(const char *from, const char *end, char *to, size_t *len,
                                    const char **rest)
{
    *len = 0;
    *rest = end;
    while (from < end) {
        char *line_end;
        size_t n = strtoul(from, &line_end, 16);
        WEIR_ASSERT(line_end > from && memcmp(line_end, "\r\n", 2) == 0);
        from = line_end + 2;
        size_t left = (size_t)(end - from);
        memmove(to + *len, from, n < left ? n : left);
        *len += n < left ? n : left;
        if (left < n + 2)
            return false;
        WEIR_ASSERT(memcmp(from + n, "\r\n", 2) == 0);
        from += n + 2;
        if (n == 0) {
            *rest = from;
            return true;
        }
    }
    return false;
}

/* Put what a content-length would have framed in the place of chunks; one byte short if cut. */
static inline void peer_unchunk(struct peer *p)
{
    char *coding;
    while (p->out != NULL && (coding = strstr(p->out, PEER_CHUNKED)) != NULL) {
        char *body = strstr(coding, "\r\n\r\n") + 4;
        size_t len;
        const char *end = p->out + p->out_len;
        const char *rest;
        bool is_whole = peer_join_chunks(body, end, body, &len, &rest);
        memmove(body + len, rest, (size_t)(end - rest) + 1);
        p->out_len = (size_t)(body - p->out) + len + (size_t)(end - rest);
        char line[sizeof(PEER_CHUNKED)];
        int n = snprintf(line, sizeof(line), "\r\ncontent-length: %010zu", len + !is_whole);
        memcpy(coding, line, (size_t)n);
    }
}

/* What a reader of the output sees. */
struct answer {
    unsigned status;
    bool says_close;
    bool is_whole; /* as many bytes as were promised */
    const char *body;
    size_t body_len;
};

/* Take the next response, none of them chunked, off *at.  False at the end of the output. */
static inline bool peer_answer_next(const struct peer *p, size_t *at, struct answer *a)
{
    if (*at >= p->out_len)
        return false;
    const char *head = p->out + *at;
    *a = (struct answer){0};
    const char *end = strstr(head, "\r\n\r\n");
    WEIR_ASSERT(end != NULL && strncmp(head, "HTTP/1.1 ", 9) == 0);
    size_t head_len = (size_t)(end - head) + 4;
    char *fields = strndup(head, head_len);
    WEIR_ASSERT(fields != NULL);
    a->status = (unsigned)strtoul(head + 9, NULL, 10);
    a->says_close = strstr(fields, "\r\nconnection: close\r\n") != NULL;
    WEIR_ASSERT(strstr(fields, "\r\ndate: Mon, 30 Nov 2026") != NULL);
    const char *length = strstr(fields, "\r\ncontent-length: ");
    size_t promised = length == NULL ? 0 : strtoul(length + 18, NULL, 10);
    size_t rest = p->out_len - *at - head_len;
    if (a->status == 304 || a->status == 204 || strstr(fields, "\r\nx-head: ") != NULL)
        promised = 0;
    else if (length == NULL)
        promised = rest; /* until the end */
    free(fields);
    a->body = head + head_len;
    a->is_whole = promised <= rest;
    a->body_len = a->is_whole ? promised : rest;
    *at += head_len + a->body_len;
    return true;
}

#endif
