/*
 * Both ends of an HTTP/2 session for tests: a client that says whatever it is told to, frame by
 * frame, and reads the answers; a clock that is set by hand; a handler for these paths:
 *
 *     /size?N         200 with N bytes of a file map
 *     /pool?N         200 with N bytes of pool memory
 *     /cut?N          200 that promises N bytes, of which the source gives half, then fails
 *     /slow?N         as /size?N, but the source says AGAIN at first, and after every third read
 *     /late?N         as /size?N, when peer_answer() is called
 *     /none           204
 *     /status?N       a response of that status, usable or not
 *     /long           a field that no HEADERS frame holds
 *     anything else   404 without a body
 *
 * Bodies are bytes of one pattern, so that the client knows what has to come.
 */
#ifndef TESTS_H2_PEER_H
#define TESTS_H2_PEER_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "h2.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "mem.h"
#include "weir/response.h"

#define PEER_MEMORY ((size_t)16 * 1024 * 1024)
#define PEER_LATE_MAX 256
#define PEER_STREAMS 2048 /* the results of streams 1, 3, ... are kept for so many */
#define PEER_BODY_MAX ((size_t)1024 * 1024)
#define FRAME_HEAD 9

/* What the client has seen of a stream. */
struct seen {
    unsigned status;
    size_t fields;
    size_t body_len;
    bool has_ended;    /* END_STREAM */
    bool is_reset;     /* RST_STREAM */
    uint32_t rst_code; /* of that */
};

struct peer {
    struct mem *mem;
    struct clock clock;
    struct stats stats;
    struct protocol_env env;
    struct protocol_host host;
    void *session;
    enum weir_err fed;      /* the last result of feed() or timeout() */
    enum weir_err pulled;   /* the last result of pull() */
    size_t budget;          /* of each pull() */
    bool is_slow;           /* output stays in the gather list until peer_take() */
    struct weir_gather out; /* output that the client has not taken */
    unsigned wakes;
    unsigned requests; /* calls of the handler */
    unsigned replies;  /* sources that are not released yet */
    unsigned released; /* sources that were */
    struct weir_request *late[PEER_LATE_MAX];
    size_t late_count;
    struct weir_request *blocked[PEER_LATE_MAX]; /* whose sources have said AGAIN */
    size_t blocked_count;

    nghttp2_hd_deflater *deflater;
    nghttp2_hd_inflater *inflater;
    uint8_t *in; /* Own: what the client has said and not yet sent */
    size_t in_len;
    size_t in_cap;
    uint8_t *wire; /* Own: all that the client has received */
    size_t wire_len;
    size_t wire_cap;
    size_t parsed;    /* of wire */
    char trace[4096]; /* a letter per frame received: S s H D R G P p W, s and p being ACKs */
    size_t trace_len;
    struct seen streams[PEER_STREAMS];
    unsigned goaways;
    uint32_t goaway_last;
    uint32_t goaway_code;
    uint32_t settings[16]; /* by identifier */
    uint64_t window;       /* of the connection, for what the client sends: granted so far */
    uint8_t ping[8];       /* the last that the server sent */
};

/* ---- the handler ---- */

/* All bodies are runs of this; refs tells whether a slice is left. */
static uint8_t peer_pattern[PEER_BODY_MAX];
static void peer_pattern_release(struct weir_buf *b)
{
    (void)b;
    abort(); /* the test's own reference is never dropped */
}
static struct weir_buf peer_map = {
    .refs = 1,
    .origin = WEIR_ORIGIN_MAPPED,
    .base = peer_pattern,
    .cap = PEER_BODY_MAX,
    .release = peer_pattern_release,
};
static struct weir_buf peer_pool = {
    .refs = 1,
    .origin = WEIR_ORIGIN_POOLED,
    .base = peer_pattern,
    .cap = PEER_BODY_MAX,
    .release = peer_pattern_release,
};

struct reply {
    struct peer *peer;
    struct weir_request *request;
    struct weir_buf *bytes;
    size_t fails_at; /* offset from which reads fail */
    bool is_slow;
    unsigned reads;
    struct weir_field fields[2];
    char length[24];
};

static inline enum weir_err reply_read(void *ctx, uint64_t offset, size_t max,
                                       struct weir_slice *out)
{
    struct reply *reply = ctx;
    struct peer *p = reply->peer;
    if (reply->is_slow && reply->reads++ % 4 == 0) {
        WEIR_ASSERT(p->blocked_count < PEER_LATE_MAX);
        p->blocked[p->blocked_count++] = reply->request;
        return WEIR_AGAIN;
    }
    if (offset >= reply->fails_at)
        return WEIR_STREAM;
    size_t n = reply->fails_at - (size_t)offset < max ? reply->fails_at - (size_t)offset : max;
    *out = weir_slice_of(reply->bytes, reply->bytes->base + offset, n);
    return WEIR_OK;
}

static inline void reply_release(void *ctx)
{
    struct reply *reply = ctx;
    struct peer *p = reply->peer;
    size_t kept = 0;
    for (size_t i = 0; i < p->blocked_count; i++) {
        if (p->blocked[i] != reply->request)
            p->blocked[kept++] = p->blocked[i];
    }
    p->blocked_count = kept;
    p->replies--;
    p->released++;
    free(reply);
}

static const struct weir_source reply_source = {.read = reply_read, .release = reply_release};

static inline bool path_is(const struct weir_request *r, const char *prefix)
{
    size_t len = strlen(prefix);
    return r->path.len >= len && memcmp(r->path.ptr, prefix, len) == 0;
}

/* The N of ".../path?N". */
static inline size_t path_number(const struct weir_request *r)
{
    size_t n = 0;
    size_t i = 0;
    while (i < r->path.len && r->path.ptr[i] != '?')
        i++;
    for (i++; i < r->path.len && r->path.ptr[i] >= '0' && r->path.ptr[i] <= '9'; i++)
        n = (n * 10 + (size_t)(r->path.ptr[i] - '0')) % 10000000;
    return n;
}

static inline enum weir_err reply_to(struct peer *p, struct weir_request *r)
{
    static char too_long[17000];
    memset(too_long, '~', sizeof(too_long));
    size_t n = path_number(r);
    bool has_body = path_is(r, "/size?") || path_is(r, "/pool?") || path_is(r, "/cut?") ||
                    path_is(r, "/slow?") || path_is(r, "/late?");
    struct reply *reply = calloc(1, sizeof(*reply));
    WEIR_ASSERT(reply != NULL);
    p->replies++;
    reply->peer = p;
    reply->request = r;
    reply->bytes = path_is(r, "/pool?") ? &peer_pool : &peer_map;
    reply->is_slow = path_is(r, "/slow?");
    size_t len = !has_body ? 0 : n < PEER_BODY_MAX ? n : PEER_BODY_MAX;
    reply->fails_at = path_is(r, "/cut?") ? len / 2 : len;
    snprintf(reply->length, sizeof(reply->length), "%zu", len);
    reply->fields[0] = (struct weir_field){WEIR_STR("content-type"), WEIR_STR("text/plain")};
    reply->fields[1] =
        (struct weir_field){WEIR_STR("content-length"), {reply->length, strlen(reply->length)}};
    struct weir_response resp = {
        .status = has_body ? 200 : 404,
        .fields = reply->fields,
        .field_count = 2,
        .fields_id = has_body ? n + 1 : 0,
        .source = &reply_source,
        .ctx = reply,
        .body_len = weir_str_eq(r->method, WEIR_STR("HEAD")) ? 0 : len,
    };
    if (path_is(r, "/none"))
        resp.status = 204;
    if (path_is(r, "/status?"))
        resp.status = (uint16_t)n;
    if (path_is(r, "/long"))
        reply->fields[0].value = (struct weir_str){too_long, sizeof(too_long)};
    return weir_respond(r, &resp);
}

static inline void peer_handler(void *ctx, struct weir_request *r)
{
    struct peer *p = ctx;
    p->requests++;
    if (path_is(r, "/late?") && p->late_count < PEER_LATE_MAX)
        p->late[p->late_count++] = r;
    else
        weir_ignore(reply_to(p, r));
}

/* Answer the oldest of the requests that wait. */
static inline enum weir_err peer_answer(struct peer *p)
{
    WEIR_ASSERT(p->late_count > 0);
    struct weir_request *r = p->late[0];
    memmove(p->late, p->late + 1, --p->late_count * sizeof(p->late[0]));
    return reply_to(p, r);
}

/* The sources that said AGAIN have something.  False if there were none. */
static inline bool peer_resume(struct peer *p)
{
    struct weir_request *blocked[PEER_LATE_MAX];
    size_t n = p->blocked_count;
    memcpy(blocked, p->blocked, n * sizeof(blocked[0]));
    p->blocked_count = 0;
    for (size_t i = 0; i < n; i++)
        weir_response_resume(blocked[i]);
    return n > 0;
}

/* ---- what the client says ---- */

static inline void peer_say(struct peer *p, const void *bytes, size_t len)
{
    if (p->in_len + len > p->in_cap) {
        p->in_cap = 2 * (p->in_len + len);
        p->in = realloc(p->in, p->in_cap);
        WEIR_ASSERT(p->in != NULL);
    }
    if (len > 0)
        memcpy(p->in + p->in_len, bytes, len);
    p->in_len += len;
}

static inline void peer_frame(struct peer *p, unsigned type, unsigned flags, uint32_t id,
                              const void *payload, size_t len)
{
    const uint8_t head[FRAME_HEAD] = {
        (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,
        (uint8_t)type,        (uint8_t)flags,      (uint8_t)(id >> 24),
        (uint8_t)(id >> 16),  (uint8_t)(id >> 8),  (uint8_t)id};
    peer_say(p, head, sizeof(head));
    peer_say(p, payload, len);
}

/* Frames whose payload is one number: RST_STREAM, WINDOW_UPDATE. */
static inline void peer_number(struct peer *p, unsigned type, uint32_t id, uint32_t number)
{
    const uint8_t payload[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16),
                                (uint8_t)(number >> 8), (uint8_t)number};
    peer_frame(p, type, 0, id, payload, sizeof(payload));
}

static inline void peer_setting(struct peer *p, unsigned id, uint32_t value)
{
    const uint8_t payload[6] = {0,
                                (uint8_t)id,
                                (uint8_t)(value >> 24),
                                (uint8_t)(value >> 16),
                                (uint8_t)(value >> 8),
                                (uint8_t)value};
    peer_frame(p, NGHTTP2_SETTINGS, 0, 0, payload, sizeof(payload));
}

static inline void peer_settings_ack(struct peer *p)
{
    peer_frame(p, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
}

static inline nghttp2_nv peer_nv(const char *name, const char *value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name,
        .namelen = strlen(name),
        .value = (uint8_t *)(uintptr_t)value,
        .valuelen = strlen(value),
    };
}

/* A field section, in frames of `cut` bytes. */
static inline void peer_fields(struct peer *p, uint32_t id, unsigned flags, const nghttp2_nv *nva,
                               size_t n, size_t cut)
{
    size_t cap = nghttp2_hd_deflate_bound(p->deflater, nva, n);
    uint8_t *block = malloc(cap + 1);
    WEIR_ASSERT(block != NULL);
    ssize_t len = nghttp2_hd_deflate_hd(p->deflater, block, cap, nva, n);
    WEIR_ASSERT(len >= 0);
    unsigned type = NGHTTP2_HEADERS;
    for (size_t at = 0; at == 0 || at < (size_t)len; at += cut) {
        size_t left = (size_t)len - at;
        if (left <= cut)
            flags |= NGHTTP2_FLAG_END_HEADERS;
        peer_frame(p, type, flags, id, block + at, left < cut ? left : cut);
        type = NGHTTP2_CONTINUATION;
        flags = 0;
    }
    free(block);
}

/* Ask, without END_STREAM unless flags have it. */
static inline void peer_ask(struct peer *p, uint32_t id, unsigned flags, const char *method,
                            const char *path)
{
    const nghttp2_nv nva[] = {peer_nv(":method", method), peer_nv(":scheme", "http"),
                              peer_nv(":authority", "localhost"), peer_nv(":path", path)};
    peer_fields(p, id, flags, nva, 4, 16384);
}

static inline void peer_get(struct peer *p, uint32_t id, const char *path)
{
    peer_ask(p, id, NGHTTP2_FLAG_END_STREAM, "GET", path);
}

/* The preface: magic and empty SETTINGS. */
static inline void peer_hello(struct peer *p)
{
    peer_say(p, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    peer_frame(p, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
}

/* ---- what the client reads ---- */

static inline struct seen *peer_seen(struct peer *p, uint32_t id)
{
    WEIR_ASSERT(id % 2 == 1 && id / 2 < PEER_STREAMS);
    return &p->streams[id / 2];
}

static inline uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline void peer_read_fields(struct peer *p, struct seen *s, const uint8_t *in, size_t len)
{
    bool has_date = false;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(p->inflater, &nv, &flags, in, len, 1);
        WEIR_ASSERT(n >= 0);
        in += n;
        len -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            s->fields++;
            if (nv.namelen == 7 && memcmp(nv.name, ":status", 7) == 0)
                s->status = (unsigned)strtoul((const char *)nv.value, NULL, 10);
            if (nv.namelen == 4 && memcmp(nv.name, "date", 4) == 0)
                has_date = memcmp(nv.value, p->clock.date, CLOCK_DATE_LEN) == 0;
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL)
            break;
    }
    nghttp2_hd_inflate_end_headers(p->inflater);
    WEIR_ASSERT(has_date && s->status != 0);
}

static inline void peer_read_settings(struct peer *p, const uint8_t *payload, size_t len)
{
    for (size_t at = 0; at + 6 <= len; at += 6) {
        size_t id = (size_t)payload[at] << 8 | payload[at + 1];
        WEIR_ASSERT(id < sizeof(p->settings) / sizeof(p->settings[0]));
        p->settings[id] = number_at(payload + at + 2);
    }
}

static inline void peer_read_frame(struct peer *p, const uint8_t *frame, size_t len)
{
    static const char letters[] = "DH.RS.PGW";
    unsigned type = frame[3];
    unsigned flags = frame[4];
    uint32_t id = number_at(frame + 5);
    const uint8_t *payload = frame + FRAME_HEAD;
    WEIR_ASSERT(type < sizeof(letters) - 1 && letters[type] != '.');
    bool is_ack = (type == NGHTTP2_SETTINGS || type == NGHTTP2_PING) && flags == NGHTTP2_FLAG_ACK;
    if (p->trace_len + 1 < sizeof(p->trace))
        p->trace[p->trace_len++] = (char)(letters[type] + (is_ack ? 'a' - 'A' : 0));
    struct seen none = {0};
    struct seen *s = id % 2 == 1 && id / 2 < PEER_STREAMS ? peer_seen(p, id) : &none;
    switch (type) {
    case NGHTTP2_HEADERS:
        WEIR_ASSERT(s->status == 0 && !s->is_reset && (flags & NGHTTP2_FLAG_END_HEADERS) != 0);
        peer_read_fields(p, s, payload, len);
        break;
    case NGHTTP2_DATA:
        WEIR_ASSERT((s == &none || s->status != 0) && !s->has_ended && !s->is_reset);
        if (s != &none)
            WEIR_ASSERT(memcmp(payload, peer_pattern + s->body_len, len) == 0);
        s->body_len += len;
        break;
    case NGHTTP2_RST_STREAM:
        WEIR_ASSERT(!s->is_reset && len == 4);
        s->is_reset = true;
        s->rst_code = number_at(payload);
        break;
    case NGHTTP2_SETTINGS: peer_read_settings(p, payload, len); break;
    case NGHTTP2_PING:
        if (!is_ack)
            memcpy(p->ping, payload, sizeof(p->ping));
        break;
    case NGHTTP2_GOAWAY:
        p->goaways++;
        p->goaway_last = number_at(payload);
        p->goaway_code = number_at(payload + 4);
        break;
    default: /* WINDOW_UPDATE */
        if (id == 0)
            p->window += number_at(payload);
        break;
    }
    if (type <= NGHTTP2_HEADERS && (flags & NGHTTP2_FLAG_END_STREAM) != 0)
        s->has_ended = true;
}

/* Read the frames that are complete. */
static inline void peer_read(struct peer *p)
{
    while (p->wire_len - p->parsed >= FRAME_HEAD) {
        const uint8_t *frame = p->wire + p->parsed;
        size_t len = (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
        WEIR_ASSERT(len <= 16384);
        if (p->wire_len - p->parsed < FRAME_HEAD + len)
            break;
        peer_read_frame(p, frame, len);
        p->parsed += FRAME_HEAD + len;
    }
}

/* Let up to n bytes of output reach the client. */
static inline void peer_take(struct peer *p, size_t n)
{
    n = n < p->out.len ? n : p->out.len;
    if (p->wire_len + n > p->wire_cap) {
        p->wire_cap = 2 * (p->wire_len + n);
        p->wire = realloc(p->wire, p->wire_cap);
        WEIR_ASSERT(p->wire != NULL);
    }
    while (n > 0) {
        struct iovec iov[8];
        size_t bytes = 0;
        size_t count = weir_gather_export(&p->out, iov, 8, n, &bytes);
        for (size_t i = 0; i < count; i++) {
            memcpy(p->wire + p->wire_len, iov[i].iov_base, iov[i].iov_len);
            p->wire_len += iov[i].iov_len;
        }
        weir_gather_consume(&p->out, bytes);
        p->host.sent += bytes;
        n -= bytes;
    }
    peer_read(p);
}

/* ---- the connection between them ---- */

/* Hand over what the client has said, in pieces of `step` bytes, until an error. */
static inline void peer_send_by(struct peer *p, size_t step)
{
    size_t at = 0;
    while (at < p->in_len && p->fed == WEIR_OK) {
        size_t n = p->in_len - at < step ? p->in_len - at : step;
        struct weir_buf *b = block_take(p->mem, BLOCK_LARGE);
        if (b == NULL) {
            p->fed = WEIR_NOMEM;
            break;
        }
        memcpy(b->base, p->in + at, n);
        struct weir_slice s = {b, b->base, n};
        p->fed = h2_protocol.feed(p->session, &s);
        weir_slice_drop(&s);
        at += n;
    }
    p->in_len = 0;
}

static inline void peer_send(struct peer *p)
{
    peer_send_by(p, BLOCK_LARGE_CAP);
}

/* What a connection does with a session that may have output. */
static inline void peer_pull(struct peer *p)
{
    if (p->fed == WEIR_NOMEM || p->fed == WEIR_IO)
        p->pulled = p->fed;
    if (p->pulled == WEIR_AGAIN)
        p->pulled = WEIR_OK;
    while (p->pulled == WEIR_OK) {
        p->pulled = h2_protocol.pull(p->session, &p->out, p->budget);
        if (p->is_slow)
            break;
        peer_take(p, p->out.len);
        if (p->pulled != WEIR_AGAIN)
            break;
        p->pulled = WEIR_OK;
    }
}

/* Send, pull, read. */
static inline void peer_turn(struct peer *p)
{
    peer_send(p);
    peer_pull(p);
}

/* The clock moves on and the connection's timer fires. */
static inline void peer_wait(struct peer *p, uint64_t ms)
{
    p->clock.now_ms += ms;
    p->clock.now_ns += ms * 1000000;
    if (p->fed == WEIR_OK && p->clock.now_ms >= h2_protocol.deadline(p->session))
        p->fed = h2_protocol.timeout(p->session);
    peer_pull(p);
}

/* ---- life ---- */

static inline void peer_on_wake(struct protocol_host *host)
{
    container_of(host, struct peer, host)->wakes++;
}

/* Err: as open().  Borrowed: mem. */
static inline enum weir_err peer_init_in(struct peer *p, struct mem *mem)
{
    *p = (struct peer){.mem = mem, .budget = LIMIT_STAGED_OUTPUT, .window = 65535};
    log_set_level(LV_WARN);
    for (size_t i = 0; peer_pattern[1] == 0 && i < PEER_BODY_MAX; i++)
        peer_pattern[PEER_BODY_MAX - 1 - i] = (uint8_t)((PEER_BODY_MAX - 1 - i) % 251);
    p->clock.now_ms = 1000000;
    p->clock.now_ns = p->clock.now_ms * 1000000;
    p->clock.date_s = 1796056917;
    clock_format_date(p->clock.date_s, p->clock.date);
    p->env = (struct protocol_env){.mem = p->mem,
                                   .clock = &p->clock,
                                   .stats = &p->stats,
                                   .handler = peer_handler,
                                   .handler_ctx = p};
    p->host = (struct protocol_host){.wake = peer_on_wake, .id = 1, .opened_ms = p->clock.now_ms};
    weir_gather_init(&p->out, mem);
    WEIR_ASSERT(nghttp2_hd_deflate_new(&p->deflater, 4096) == 0);
    WEIR_ASSERT(nghttp2_hd_inflate_new(&p->inflater) == 0);
    return h2_protocol.open(&p->env, &p->host, &p->session);
}

/* The same, with memory of its own and the client's preface sent and answered. */
static inline void peer_init(struct peer *p)
{
    struct mem *mem;
    WEIR_ASSERT(mem_new(PEER_MEMORY, &mem) == WEIR_OK);
    WEIR_ASSERT(peer_init_in(p, mem) == WEIR_OK);
}

static inline void peer_start(struct peer *p)
{
    peer_init(p);
    peer_hello(p);
    peer_settings_ack(p);
    peer_turn(p);
    WEIR_ASSERT(p->fed == WEIR_OK && p->pulled == WEIR_OK);
}

/* Close, answer what is owed.  True if nothing is left: no source, no slice, no memory. */
static inline bool peer_end(struct peer *p)
{
    if (p->session != NULL)
        h2_protocol.close(p->session);
    p->session = NULL;
    peer_resume(p); /* too late, and harmless */
    while (p->late_count > 0)
        WEIR_ASSERT(peer_answer(p) == WEIR_CLOSED);
    weir_gather_deinit(&p->out);
    nghttp2_hd_deflate_del(p->deflater);
    nghttp2_hd_inflate_del(p->inflater);
    free(p->in);
    free(p->wire);
    return p->replies == 0 && peer_map.refs == 1 && peer_pool.refs == 1 && mem_live(p->mem) == 0 &&
           mem_blocks_live(p->mem) == 0;
}

/* The same, and give up the memory that peer_init() made. */
static inline bool peer_deinit(struct peer *p)
{
    bool is_clean = peer_end(p);
    mem_free(p->mem);
    return is_clean;
}

#endif
