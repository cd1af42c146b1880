/*
 * A whole client, nghttp2's, against a session: requests of all kinds at random, cancelled at
 * random, over a connection that takes output in pieces of random size.
 */
#include "cm.h"

#include "h2_peer.h"

#define OPEN_MAX 60
#define REQUESTS 1500

enum kind {
    GET_SIZE,
    GET_POOL,
    GET_SLOW,
    GET_LATE,
    GET_CUT,
    HEAD_SIZE,
    POST_SIZE,
    POST_LATE,
    KINDS
};

struct call {
    enum kind kind;
    size_t upload_len; /* of the body that is left to send */
    bool has_trailers;
    size_t len; /* of the response's body */
    size_t received;
    unsigned status;
    bool is_cancelled;
    bool is_closed;
    uint32_t code;
};

struct client {
    nghttp2_session *ng;
    struct peer peer;
    struct rng rng;
    size_t given; /* of peer.wire: to nghttp2 */
    struct call calls[REQUESTS];
    size_t count;
    size_t open;
};

static struct call *call_of(struct client *c, int32_t id)
{
    return nghttp2_session_get_stream_user_data(c->ng, id);
}

static ssize_t on_upload(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t max, uint32_t *flags,
                         nghttp2_data_source *source, void *opaque)
{
    (void)opaque;
    struct call *call = source->ptr;
    size_t n = call->upload_len < max ? call->upload_len : max;
    memset(buf, 'u', n);
    call->upload_len -= n;
    if (call->upload_len > 0)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (call->has_trailers) {
        const nghttp2_nv trailer = peer_nv("x-sum", "1");
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        assert_int_equal(nghttp2_submit_trailer(ng, id, &trailer, 1), 0);
    }
    return (ssize_t)n;
}

static int on_field(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                    size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                    void *opaque)
{
    (void)ng;
    (void)value_len;
    (void)flags;
    struct call *call = call_of(opaque, frame->hd.stream_id);
    if (name_len == 7 && memcmp(name, ":status", 7) == 0)
        call->status = (unsigned)strtoul((const char *)value, NULL, 10);
    return 0;
}

static int on_chunk(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *bytes,
                    size_t len, void *opaque)
{
    (void)ng;
    (void)flags;
    struct call *call = call_of(opaque, id);
    assert_memory_equal(bytes, peer_pattern + call->received, len);
    call->received += len;
    return 0;
}

static int on_close(nghttp2_session *ng, int32_t id, uint32_t code, void *opaque)
{
    (void)ng;
    struct client *c = opaque;
    struct call *call = call_of(c, id);
    assert_false(call->is_closed);
    call->is_closed = true;
    call->code = code;
    c->open--;
    return 0;
}

static void client_init(struct client *c, struct rng rng)
{
    *c = (struct client){.rng = rng};
    peer_init(&c->peer);
    nghttp2_session_callbacks *callbacks;
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_field);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_chunk);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    assert_int_equal(nghttp2_session_client_new(&c->ng, callbacks, c), 0);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 + (uint32_t)rng_below(&c->rng, 100000)},
        {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, (uint32_t)rng_below(&c->rng, 4097)},
    };
    assert_int_equal(nghttp2_submit_settings(c->ng, 0, settings, 2), 0);
}

static void client_ask(struct client *c)
{
    static const char *const methods[KINDS] = {"GET", "GET",  "GET",  "GET",
                                               "GET", "HEAD", "POST", "POST"};
    static const char *const paths[KINDS] = {"/size", "/pool", "/slow", "/late",
                                             "/cut",  "/size", "/size", "/late"};
    struct call *call = &c->calls[c->count++];
    call->kind = (enum kind)rng_below(&c->rng, KINDS);
    call->len = 1 + rng_below(&c->rng, rng_below(&c->rng, 4) == 0 ? 100000 : 600);
    char path[32];
    snprintf(path, sizeof(path), "%s?%zu", paths[call->kind], call->len);
    if (call->kind == HEAD_SIZE)
        call->len = 0;
    const nghttp2_nv nva[] = {peer_nv(":method", methods[call->kind]), peer_nv(":scheme", "http"),
                              peer_nv(":authority", "localhost"), peer_nv(":path", path)};
    nghttp2_data_provider body = {.source = {.ptr = call}, .read_callback = on_upload};
    bool has_body = call->kind == POST_SIZE || call->kind == POST_LATE;
    call->upload_len = 1 + rng_below(&c->rng, 150000);
    call->has_trailers = rng_below(&c->rng, 3) == 0;
    int32_t id = nghttp2_submit_request(c->ng, NULL, nva, 4, has_body ? &body : NULL, call);
    assert_true(id > 0);
    c->open++;
    if (rng_below(&c->rng, 12) == 0) {
        call->is_cancelled = true;
        if (rng_below(&c->rng, 2) == 0)
            return; /* later */
        nghttp2_submit_rst_stream(c->ng, 0, id, NGHTTP2_CANCEL);
    }
}

/* Cancel those that are to be, wherever they have come. */
static void client_cancel(struct client *c)
{
    for (size_t i = 0; i < c->count; i++) {
        int32_t id = (int32_t)(2 * i + 1);
        bool is_open = nghttp2_session_find_stream(c->ng, id) != NULL;
        if (c->calls[i].is_cancelled && is_open && rng_below(&c->rng, 6) == 0)
            nghttp2_submit_rst_stream(c->ng, 0, id, NGHTTP2_CANCEL);
    }
}

static void client_send(struct client *c)
{
    const uint8_t *bytes;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(c->ng, &bytes)) > 0)
        peer_say(&c->peer, bytes, (size_t)n);
    assert_int_equal(n, 0);
    peer_send_by(&c->peer, 1 + rng_below(&c->rng, BLOCK_LARGE_CAP));
    assert_int_equal(c->peer.fed, WEIR_OK);
}

static void client_receive(struct client *c)
{
    struct peer *p = &c->peer;
    size_t n = p->wire_len - c->given;
    assert_int_equal(nghttp2_session_mem_recv(c->ng, p->wire + c->given, n), (ssize_t)n);
    c->given = p->wire_len;
}

/* The server's half of a turn. */
static void serve(struct client *c)
{
    struct peer *p = &c->peer;
    p->clock.now_ms += 20;
    while (p->late_count > 0 && rng_below(&c->rng, 3) > 0)
        weir_ignore(peer_answer(p));
    if (rng_below(&c->rng, 2) == 0)
        peer_resume(p);
    p->budget = 1 + rng_below(&c->rng, rng_below(&c->rng, 2) == 0 ? 100 : 300000);
    p->is_slow = true;
    if (p->out.len == 0)
        peer_pull(p);
    assert_true(p->pulled == WEIR_OK || p->pulled == WEIR_AGAIN);
    peer_take(p, rng_below(&c->rng, 4) == 0 ? rng_below(&c->rng, 1000) : p->out.len);
}

static void assert_call(const struct call *call)
{
    assert_true(call->is_closed);
    if (call->is_cancelled)
        return;
    assert_int_equal(call->status, 200);
    if (call->kind == GET_CUT) {
        assert_int_equal(call->code, NGHTTP2_INTERNAL_ERROR);
        assert_int_equal(call->received, call->len / 2);
    } else {
        assert_int_equal(call->code, NGHTTP2_NO_ERROR);
        assert_int_equal(call->received, call->len);
    }
}

static void a_busy_client_gets_all_it_asks_for(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    for (int round = 0; round < 4; round++) {
        static struct client c;
        client_init(&c, rng);
        while (c.count < REQUESTS || c.open > 0) {
            while (c.count < REQUESTS && c.open < OPEN_MAX && rng_below(&c.rng, 4) > 0)
                client_ask(&c);
            client_cancel(&c);
            client_send(&c);
            serve(&c);
            client_receive(&c);
        }
        for (size_t i = 0; i < c.count; i++)
            assert_call(&c.calls[i]);
        assert_int_equal(c.peer.goaways, 0);
        assert_int_equal(c.peer.stats.streams_refused, 0);
        rng = c.rng;
        nghttp2_session_del(c.ng);
        assert_true(peer_deinit(&c.peer));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_client_gets_all_it_asks_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
