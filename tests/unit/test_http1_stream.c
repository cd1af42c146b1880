/* Bodies that end where their source says so, and bodies that may be lost before they have left. */
#include "cm.h"

#include "http1_talk.h"

#define DATE "date: Mon, 30 Nov 2026 "
#define CHUNKED_HEAD "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" DATE

/* The only answer there is. */
static struct answer only_answer(const struct peer *p)
{
    size_t at = 0;
    struct answer a;
    struct answer none;
    assert_true(peer_answer_next(p, &at, &a));
    assert_false(peer_answer_next(p, &at, &none));
    return a;
}

/* What of the output lies behind its first head. */
static const char *first_body(const struct peer *p)
{
    const char *end = strstr(p->out, "\r\n\r\n");
    assert_non_null(end);
    return end + 4;
}

/* ---- chunks ---- */

static void a_body_of_unknown_length_comes_in_chunks(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    p->budget = 260; /* so that the source is asked twice */
    turn(p, GET("/stream?300") GET("/x"));

    assert_memory_equal(p->out, CHUNKED_HEAD, strlen(CHUNKED_HEAD));
    peer_unchunk(p);
    size_t at = 0;
    struct answer a;
    for (int i = 0; i < 2; i++) {
        assert_true(peer_answer_next(p, &at, &a));
        assert_true(a.is_whole);
        assert_false(a.says_close);
        assert_int_equal(a.body_len, i == 0 ? 300 : strlen("GET a /x\n"));
    }
    assert_int_equal(p->pulled, WEIR_OK);
    peer_free(p);
}

static void chunks_are_framed_to_the_byte(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/stream?26"));
    assert_string_equal(first_body(p), "1a\r\nabcdefghijklmnopqrstuvwabc\r\n0\r\n\r\n");
    peer_free(p);
}

static void the_bytes_of_a_chunk_are_not_copied(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    peer_feed(p, GET("/stream?5000"), strlen(GET("/stream?5000")));
    struct weir_gather g;
    weir_gather_init(&g, p->mem);
    assert_int_equal(http1_protocol.pull(p->session, &g, 100000), WEIR_OK);
    assert_int_equal(g.count, 3); /* heads, the body, the last chunk */
    assert_int_equal(p->stats.body_pooled, 5000);
    assert_int_equal(p->stats.body_copied, 0);
    weir_gather_deinit(&g);
    peer_free(p);
}

static void a_stream_may_pause(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/drip?26"));
    assert_memory_equal(p->out, CHUNKED_HEAD, strlen(CHUNKED_HEAD)); /* does not wait for a body */
    assert_string_equal(first_body(p), "");

    assert_true(peer_resume(p));
    peer_pull(p);
    assert_string_equal(first_body(p), "1a\r\nabcdefghijklmnopqrstuvwabc");
    assert_true(peer_resume(p));
    peer_pull(p);
    assert_string_equal(first_body(p), "1a\r\nabcdefghijklmnopqrstuvwabc\r\n0\r\n\r\n");
    assert_false(peer_resume(p));
    peer_free(p);
}

static void a_stream_that_pauses_first_may_be_empty(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/drip?0"));
    assert_true(peer_resume(p));
    peer_pull(p);
    assert_string_equal(first_body(p), "0\r\n\r\n");
    peer_free(p);
}

static void a_stream_that_is_known_to_be_empty_has_a_length(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/stream?0"));
    assert_non_null(strstr(p->out, "\r\ncontent-length: 0\r\n"));
    assert_string_equal(first_body(p), "");
    peer_free(p);
}

static void head_of_a_stream_has_neither_framing_nor_body(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "HEAD /stream?30 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_null(strstr(p->out, "transfer-encoding"));
    assert_null(strstr(p->out, "content-length"));
    assert_string_equal(first_body(p), "");
    assert_int_equal(p->pulled, WEIR_OK);
    peer_free(p);
}

static void a_chunked_body_that_breaks_off_has_no_last_chunk(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/break?20") GET("/x"));
    assert_string_equal(first_body(p), "a\r\nabcdefghij");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_stream_that_fails_at_once_is_an_error(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/break?0") GET("/x"));
    assert_memory_equal(p->out, "HTTP/1.1 500 ", 13);
    assert_int_equal(p->pulled, WEIR_OK);
    peer_free(p);
}

/* ---- the end of the connection ---- */

static void http10_reads_a_stream_until_the_end(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "GET /stream?26 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_null(strstr(p->out, "transfer-encoding"));
    assert_null(strstr(p->out, "content-length"));
    struct answer a = only_answer(p);
    assert_true(a.says_close);
    assert_int_equal(a.body_len, 26);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

/* Nothing that follows could be told from the body. */
static void nothing_follows_a_stream_in_http10(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "GET /stream?26 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" GET("/x") GET("/late"));
    assert_int_equal(p->requests, 3);
    assert_int_equal(only_answer(p).body_len, 26);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

/* An orderly end would complete the body. */
static void a_stream_in_http10_that_breaks_off_is_reset(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "GET /break?20 HTTP/1.0\r\n\r\n");
    assert_string_equal(first_body(p), "abcdefghij");
    assert_int_equal(p->pulled, WEIR_IO);
    peer_free(p);
}

/* ---- bodies from file maps ---- */

/* One call of pull(), whose bytes stay in g. */
static enum weir_err pull_into(struct peer *p, struct weir_gather *g)
{
    return http1_protocol.pull(p->session, g, 1000000);
}

/* All that is in g leaves. */
static void leave(struct peer *p, struct weir_gather *g)
{
    peer_take_output(p, g);
}

static void the_last_byte_of_a_map_waits_for_the_others(void **state)
{
    (void)state;
    static const size_t lens[] = {1, 2, 300, 50000};
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct peer *p = peer_new();
        char request[80];
        snprintf(request, sizeof(request), GET("/mapped?%zu") GET("/x"), lens[i]);
        peer_feed(p, request, strlen(request));
        struct weir_gather g;
        weir_gather_init(&g, p->mem);

        assert_int_equal(pull_into(p, &g), WEIR_AGAIN);
        size_t first = g.len;
        assert_int_equal(pull_into(p, &g), WEIR_AGAIN);
        assert_int_equal(g.len, first); /* it is in nobody's hands yet */
        leave(p, &g);
        assert_int_equal(strlen(first_body(p)), lens[i] - 1);
        assert_int_equal(pull_into(p, &g), WEIR_OK);
        leave(p, &g);
        weir_gather_deinit(&g);

        size_t at = 0;
        struct answer a;
        assert_true(peer_answer_next(p, &at, &a));
        assert_int_equal(a.body_len, lens[i]);
        for (size_t n = 0; n < a.body_len; n++)
            assert_int_equal(a.body[n], 'a' + n % 23);
        assert_true(peer_answer_next(p, &at, &a));
        assert_int_equal(p->stats.body_mapped + p->stats.body_copied,
                         lens[i] + strlen("GET a /x\n"));
        peer_free(p);
    }
}

/* What a client that sent `request` has got when the file was overwritten under way. */
static struct peer *overwritten(const char *request)
{
    struct peer *p = peer_new();
    peer_feed(p, request, strlen(request));
    struct weir_gather g;
    weir_gather_init(&g, p->mem);
    assert_int_equal(pull_into(p, &g), WEIR_AGAIN);
    leave(p, &g);
    p->is_overwritten = true;
    p->pulled = pull_into(p, &g);
    leave(p, &g);
    weir_gather_deinit(&g);
    return p;
}

static void a_map_that_was_overwritten_does_not_look_whole(void **state)
{
    (void)state;
    struct peer *p = overwritten(GET("/mapped?50000") GET("/x"));
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_int_equal(strlen(first_body(p)), 49999);
    peer_free(p);

    p = overwritten(GET("/flow?50000") GET("/x"));
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_unchunk(p);
    assert_false(only_answer(p).is_whole);
    peer_free(p);

    p = overwritten("GET /flow?50000 HTTP/1.0\r\n\r\n");
    assert_int_equal(p->pulled, WEIR_IO);
    peer_free(p);
}

/* Bytes that wait to be sent are gone: what lies before them is sent, and then the end. */
static void a_map_that_is_lost_ends_the_connection(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        enum weir_err err;
    } rows[] = {
        {GET("/x") GET("/mapped?50000") GET("/x"), WEIR_CLOSED},
        {GET("/x") GET("/flow?50000") GET("/x"), WEIR_CLOSED},
        {"GET /flow?50000 HTTP/1.0\r\n\r\n", WEIR_IO},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct peer *p = peer_new();
        peer_feed(p, rows[i].request, strlen(rows[i].request));
        struct weir_gather g;
        weir_gather_init(&g, p->mem);
        assert_int_equal(pull_into(p, &g), WEIR_AGAIN);
        struct weir_slice last[8];
        size_t bytes;
        size_t n = weir_gather_peek(&g, last, 8, SIZE_MAX, &bytes);
        const struct weir_buf *lost = last[n - 1].buf;
        assert_int_equal(lost->origin, WEIR_ORIGIN_MAPPED);

        assert_int_equal(http1_protocol.lose(p->session, lost), rows[i].err);
        weir_gather_cut(&g, lost);
        if (rows[i].err == WEIR_CLOSED)
            assert_int_equal(pull_into(p, &g), WEIR_CLOSED);
        leave(p, &g);
        weir_gather_deinit(&g);
        if (rows[i].err == WEIR_CLOSED)
            assert_non_null(strstr(p->out, "GET a /x\n"));
        peer_free(p);
    }
}

static void a_stream_from_a_map_ends_when_it_has_left(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/flow?50000") GET("/mapped?5"));
    peer_unchunk(p);
    size_t at = 0;
    struct answer a;
    assert_true(peer_answer_next(p, &at, &a));
    assert_true(a.is_whole);
    assert_int_equal(a.body_len, 50000);
    assert_true(peer_answer_next(p, &at, &a));
    assert_int_equal(a.body_len, 5);
    assert_int_equal(p->pulled, WEIR_OK);
    peer_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_of_unknown_length_comes_in_chunks),
        cmocka_unit_test(chunks_are_framed_to_the_byte),
        cmocka_unit_test(the_bytes_of_a_chunk_are_not_copied),
        cmocka_unit_test(a_stream_may_pause),
        cmocka_unit_test(a_stream_that_pauses_first_may_be_empty),
        cmocka_unit_test(a_stream_that_is_known_to_be_empty_has_a_length),
        cmocka_unit_test(head_of_a_stream_has_neither_framing_nor_body),
        cmocka_unit_test(a_chunked_body_that_breaks_off_has_no_last_chunk),
        cmocka_unit_test(a_stream_that_fails_at_once_is_an_error),
        cmocka_unit_test(http10_reads_a_stream_until_the_end),
        cmocka_unit_test(nothing_follows_a_stream_in_http10),
        cmocka_unit_test(a_stream_in_http10_that_breaks_off_is_reset),
        cmocka_unit_test(the_last_byte_of_a_map_waits_for_the_others),
        cmocka_unit_test(a_map_that_was_overwritten_does_not_look_whole),
        cmocka_unit_test(a_map_that_is_lost_ends_the_connection),
        cmocka_unit_test(a_stream_from_a_map_ends_when_it_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
