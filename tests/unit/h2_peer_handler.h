/* The server's half of h2_peer.h: a handler, and sources whose bodies are runs of one pattern. */
#ifndef TESTS_H2_PEER_HANDLER_H
#define TESTS_H2_PEER_HANDLER_H

#include "h2_peer.h"

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
    size_t len;
    bool is_slow;
    bool is_stream; /* the length is not told */
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
    if (reply->is_stream && offset == reply->len)
        return WEIR_CLOSED;
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
    bool is_stream = path_is(r, "/stream?") || path_is(r, "/made?") || path_is(r, "/drip?") ||
                     path_is(r, "/break?");
    bool has_body = path_is(r, "/size?") || path_is(r, "/pool?") || path_is(r, "/cut?") ||
                    path_is(r, "/slow?") || path_is(r, "/late?") || is_stream;
    struct reply *reply = calloc(1, sizeof(*reply));
    WEIR_ASSERT(reply != NULL);
    p->replies++;
    reply->peer = p;
    reply->request = r;
    bool is_pooled = path_is(r, "/pool?") || path_is(r, "/made?");
    reply->bytes = is_pooled ? &peer_pool : &peer_map;
    reply->is_slow = path_is(r, "/slow?") || path_is(r, "/drip?");
    reply->is_stream = is_stream;
    size_t len = !has_body ? 0 : n < PEER_BODY_MAX ? n : PEER_BODY_MAX;
    reply->len = len;
    reply->fails_at = path_is(r, "/cut?") || path_is(r, "/break?") ? len / 2 : len;
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
    if (is_stream) {
        resp.body_len = WEIR_LENGTH_UNKNOWN;
        resp.field_count = 1;
        resp.fields_id = PEER_BODY_MAX + 1;
    }
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
    p->late_count--;
    memmove(p->late, p->late + 1, p->late_count * sizeof(void *));
    return reply_to(p, r);
}

/* The sources that said AGAIN have something.  False if there were none. */
static inline bool peer_resume(struct peer *p)
{
    struct weir_request *blocked[PEER_LATE_MAX];
    size_t n = p->blocked_count;
    memcpy(blocked, p->blocked, n * sizeof(void *));
    p->blocked_count = 0;
    for (size_t i = 0; i < n; i++)
        weir_response_resume(blocked[i]);
    return n > 0;
}

#endif
