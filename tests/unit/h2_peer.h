/*
 * Both ends of an HTTP/2 session for tests: a client that says whatever it is told to, frame by
 * frame, and reads the answers; a clock that is set by hand; a handler for these paths:
 *
 *     /size?N         200 with N bytes of a file map
 *     /pool?N         200 with N bytes of pool memory
 *     /cut?N          200 that promises N bytes, of which the source gives half, then fails
 *     /slow?N         as /size?N, but the source says AGAIN at first, and after every third read
 *     /late?N         as /size?N, when peer_answer() is called
 *     /stream?N       as /size?N, but the length is not told beforehand
 *     /made?N         as /pool?N, in the same way
 *     /drip?N         as /slow?N, in the same way
 *     /break?N        what /stream?N gives, until the source fails after half of it
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
    bool is_overwritten;    /* no source is intact: what it gave has changed since */
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

#include "h2_peer_handler.h"

#include "h2_peer_frames.h"

/* ---- the connection between them ---- */

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
    if (p->out.len == 0)
        h2_protocol.rest(p->session);
    peer_read(p);
}

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

/* Memory that a peer has left clean, for the next one: to make and clear it anew takes longer than
 * most tests do. */
static struct mem *peer_spare;

static inline struct mem *peer_memory(void)
{
    struct mem *mem = peer_spare;
    peer_spare = NULL;
    if (mem == NULL)
        WEIR_ASSERT(mem_new(PEER_MEMORY, &mem) == WEIR_OK);
    return mem;
}

/* The same, with memory that no other peer has. */
static inline void peer_init(struct peer *p)
{
    WEIR_ASSERT(peer_init_in(p, peer_memory()) == WEIR_OK);
}

/* And the client's preface sent and answered. */
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
    if (is_clean && peer_spare == NULL)
        peer_spare = p->mem;
    else
        mem_free(p->mem);
    return is_clean;
}

#endif
