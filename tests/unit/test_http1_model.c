/*
 * Random pipelines, cut at random places and pulled by random budgets, against the same requests
 * sent one by one: the client must read the same bytes.
 */
#include "cm.h"

#include "http1_peer.h"

#define PIPELINES 300
#define REQUESTS_MAX 40

/* Bytes that grow. */
struct text {
    char *bytes;
    size_t len;
    size_t cap;
};

static void text_add(struct text *t, const char *bytes, size_t len)
{
    if (t->len + len > t->cap) {
        t->cap = 2 * (t->len + len);
        t->bytes = realloc(t->bytes, t->cap);
    }
    if (t->bytes == NULL)
        abort();
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void text_add_str(struct text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

static void add_body_bytes(struct text *t, struct rng *r, size_t len)
{
    static const char alphabet[] = "\r\n0 GET/:;x";
    for (size_t i = 0; i < len; i++)
        text_add(t, &alphabet[rng_below(r, sizeof(alphabet) - 1)], 1);
}

static void add_chunked_body(struct text *t, struct rng *r)
{
    char line[64];
    for (size_t chunks = rng_below(r, 6); chunks > 0; chunks--) {
        size_t len = 1 + rng_below(r, 300);
        if (rng_below(r, 2) == 0)
            snprintf(line, sizeof(line), "%zx\r\n", len);
        else
            snprintf(line, sizeof(line), "0%zX;ext=\"v\"\r\n", len);
        text_add_str(t, line);
        add_body_bytes(t, r, len);
        text_add_str(t, "\r\n");
    }
    text_add_str(t, rng_below(r, 2) ? "0\r\n\r\n" : "0\r\nTrailer-Field: x\r\n\r\n");
}

/* A sound request that leaves the connection open. */
static void add_request(struct text *t, struct rng *r, size_t number)
{
    static const char *const paths[] = {
        "/",         "/x",         "/late",         "/slow",    "/none",     "/unchanged",
        "/large?9",  "/large?300", "/large?20000",  "/cut?1",   "/stream?0", "/stream?9",
        "/drip?700", "/mapped?1",  "/mapped?30000", "/flow?900"};
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE"};
    char line[256];
    if (rng_below(r, 8) == 0)
        text_add_str(t, "\r\n");
    const char *path = paths[rng_below(r, sizeof(paths) / sizeof(paths[0]))];
    bool is_stream = path[1] == 's' || path[1] == 'd' || path[1] == 'f';
    bool is_http10 = rng_below(r, 8) == 0 && !is_stream; /* it would end the connection */
    char target[64];
    if (rng_below(r, 6) == 0)
        snprintf(target, sizeof(target), "http://h%zu%s", number, path);
    else
        snprintf(target, sizeof(target), "%s", path);
    snprintf(line, sizeof(line), "%s %s HTTP/1.%c\r\nHOST: h%zu\r\n", methods[rng_below(r, 5)],
             target, is_http10 ? '0' : '1', number);
    text_add_str(t, line);
    if (is_http10)
        text_add_str(t, "Connection: Keep-Alive\r\n");
    for (size_t fields = rng_below(r, 12); fields > 0; fields--) {
        snprintf(line, sizeof(line), "X-%zu:%.*s\r\n", fields, (int)rng_below(r, 20),
                 " some value to be cut");
        text_add_str(t, line);
    }
    switch (rng_below(r, is_http10 ? 3 : 4)) {
    case 0: {
        size_t len = rng_below(r, 3000);
        snprintf(line, sizeof(line), "Content-Length: %zu\r\n\r\n", len);
        text_add_str(t, line);
        add_body_bytes(t, r, len);
        break;
    }
    case 3:
        text_add_str(t, "Transfer-Encoding: chunked\r\n\r\n");
        add_chunked_body(t, r);
        break;
    default: text_add_str(t, "\r\n");
    }
}

/* Give what the handler owes, in random order, and wake what waits. */
static void settle(struct peer *p, struct rng *r, bool all)
{
    while (p->late_count > 0 && (all || rng_below(r, 2) == 0))
        peer_answer(p, rng_below(r, p->late_count));
}

static void one_by_one(struct peer *p, struct rng *r, const struct text *requests, size_t count)
{
    assert_int_equal(peer_init(p), WEIR_OK);
    for (size_t i = 0; i < count; i++) {
        peer_feed(p, requests[i].bytes, requests[i].len);
        settle(p, r, true);
        do
            peer_pull(p);
        while (peer_resume(p));
    }
}

static void cut_at_random(struct peer *p, struct rng *r, const struct text *all)
{
    assert_int_equal(peer_init(p), WEIR_OK);
    size_t longest = (size_t)1 << (1 + rng_below(r, 14));
    for (size_t at = 0; at < all->len;) {
        size_t n = 1 + rng_below(r, longest);
        n = n < all->len - at ? n : all->len - at;
        peer_feed_once(p, all->bytes + at, n);
        at += n;
        settle(p, r, false);
        p->budget = 1 + rng_below(r, 30000);
        if (rng_below(r, 3) == 0)
            peer_resume(p);
        if (rng_below(r, 3) == 0)
            peer_pull(p);
    }
    bool resumed = true;
    for (int i = 0; i < 2 * REQUESTS_MAX || resumed; i++) { /* answers make room for requests */
        settle(p, r, true);
        resumed = peer_resume(p);
        peer_pull(p);
    }
}

static void random_pipelines_give_what_single_requests_give(void **state)
{
    (void)state;
    struct rng r = rng_new("http1_model");
    for (int pipeline = 0; pipeline < PIPELINES; pipeline++) {
        struct text requests[REQUESTS_MAX] = {0};
        struct text all = {0};
        size_t count = 1 + rng_below(&r, REQUESTS_MAX);
        for (size_t i = 0; i < count; i++) {
            add_request(&requests[i], &r, i);
            text_add(&all, requests[i].bytes, requests[i].len);
        }
        struct peer single;
        struct peer piped;

        one_by_one(&single, &r, requests, count);
        cut_at_random(&piped, &r, &all);

        assert_int_equal(single.fed, WEIR_OK);
        assert_int_equal(single.requests, count);
        assert_int_equal(piped.fed, WEIR_OK);
        assert_int_equal(piped.requests, count);
        peer_unchunk(&piped);
        peer_unchunk(&single);
        assert_int_equal(piped.out_len, single.out_len);
        assert_memory_equal(piped.out, single.out, single.out_len);
        assert_true(peer_deinit(&piped));
        assert_true(peer_deinit(&single));
        for (size_t i = 0; i < count; i++)
            free(requests[i].bytes);
        free(all.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pipelines_give_what_single_requests_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
