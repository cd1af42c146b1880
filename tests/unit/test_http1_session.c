/* What an HTTP/1.1 session does over time: order, limits, clocks, bodies, and the end. */
#include "cm.h"

#include "http1_talk.h"

/* `want`: status codes, each followed by '!' if that answer says close. */
static void expect_answers(const struct peer *p, const char *want)
{
    char got[512] = "";
    size_t at = 0;
    struct answer a;
    while (peer_answer_next(p, &at, &a)) {
        size_t len = strlen(got);
        snprintf(got + len, sizeof(got) - len, "%s%u%s", len > 0 ? " " : "", a.status,
                 a.says_close ? "!" : "");
    }
    assert_string_equal(got, want);
}

static void pass_time(struct peer *p, uint64_t ms)
{
    p->clock.now_ms += ms;
    if (p->fed == WEIR_OK && p->clock.now_ms >= http1_protocol.deadline(p->session))
        p->fed = http1_protocol.timeout(p->session);
    peer_pull(p);
}

static uint64_t due_in(const struct peer *p)
{
    uint64_t at = http1_protocol.deadline(p->session);
    return at == PROTOCOL_NO_DEADLINE ? at : at - p->clock.now_ms;
}

/* ---- order ---- */

static void responses_leave_in_the_order_of_requests(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/late1") GET("/b") GET("/late2") GET("/d"));
    assert_int_equal(p->requests, 4);
    assert_int_equal(p->out_len, 0);

    peer_answer(p, 1);
    peer_pull(p);
    assert_int_equal(p->out_len, 0); /* the first one is still owed */
    assert_true(p->wakes > 0);
    peer_answer(p, 0);
    peer_pull(p);

    expect_answers(p, "200 200 200 200");
    const char *at = p->out;
    static const char *const paths[] = {"/late1", "/b", "/late2", "/d"};
    for (size_t i = 0; i < 4; i++) {
        at = strstr(at, paths[i]);
        assert_non_null(at);
    }
    peer_free(p);
}

static void a_full_queue_leaves_input_alone(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    p->answers_late = true;
    for (int i = 0; i < 100; i++)
        send_text(p, GET("/x"));
    peer_pull(p);
    assert_int_equal(p->requests, LIMIT_PIPELINED);
    assert_false(http1_protocol.wants_input(p->session));

    unsigned answered = 0;
    while (p->late_count > 0) {
        peer_answer(p, 0);
        answered++;
        peer_pull(p);
    }

    assert_int_equal(answered, 100);
    assert_int_equal(p->stats.responses[2], 100);
    assert_true(http1_protocol.wants_input(p->session));
    assert_int_equal(p->pulled, WEIR_OK);
    peer_free(p);
}

static void input_that_nobody_holds_back_is_limited(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    p->answers_late = true;
    while (p->fed == WEIR_OK)
        send_text(p, GET("/x"));
    assert_int_equal(p->fed, WEIR_LIMIT);
    assert_int_equal(p->requests, LIMIT_PIPELINED);

    while (p->late_count > 0)
        peer_answer(p, 0);
    peer_pull(p);

    expect_answers(p, "200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200!");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void pipelined_answers_leave_in_one_list(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    send_text(p, GET("/a") GET("/b") GET("/c"));
    struct weir_gather g;
    weir_gather_init(&g, p->mem);

    assert_int_equal(http1_protocol.pull(p->session, &g, p->budget), WEIR_OK);

    assert_int_equal(g.count, 1); /* all of it was small enough to be copied into one block */
    peer_take_output(p, &g);
    expect_answers(p, "200 200 200");
    peer_free(p);
}

static void a_large_body_is_handed_out_by_budget_and_by_reference(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    send_text(p, GET("/large?100000"));
    struct weir_gather g;
    weir_gather_init(&g, p->mem);
    size_t pulls = 0;
    enum weir_err err;
    do {
        err = http1_protocol.pull(p->session, &g, 10000);
        assert_true(g.len <= 10000 + 1000); /* the budget and a head */
        peer_take_output(p, &g);
        pulls++;
    } while (err == WEIR_AGAIN);

    assert_int_equal(err, WEIR_OK);
    assert_true(pulls >= 10 && pulls <= 12);
    expect_answers(p, "200");
    assert_int_equal(p->stats.body_pooled + p->stats.body_copied, 100000);
    assert_true(p->stats.body_copied < WEIR_GATHER_INLINE_MAX);
    struct answer a;
    size_t at = 0;
    assert_true(peer_answer_next(p, &at, &a));
    assert_int_equal(a.body_len, 100000);
    for (size_t i = 0; i < a.body_len; i++)
        assert_int_equal(a.body[i], 'a' + i % 23);
    peer_free(p);
}

static void a_source_that_has_nothing_yet_is_asked_again_when_it_says_so(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/slow"));
    assert_int_equal(p->out_len, 0);
    unsigned wakes = p->wakes;

    assert_true(peer_resume(p));
    assert_int_equal(p->wakes, wakes + 1);
    peer_pull(p);

    expect_answers(p, "200");
    peer_free(p);
}

static void a_body_that_breaks_off_cuts_the_connection(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/cut?10000") GET("/next"));

    struct answer a;
    size_t at = 0;
    assert_true(peer_answer_next(p, &at, &a));
    assert_int_equal(a.status, 200);
    assert_false(a.is_whole); /* and the client can tell */
    assert_int_equal(a.body_len, 5000);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_response_that_would_split_is_not_sent(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/split"));
    expect_answers(p, "500");
    assert_null(strstr(p->out, "cookie"));
    peer_free(p);
}

static void head_has_the_length_but_no_body(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n" GET("/y"));
    expect_answers(p, "200 200");
    assert_non_null(strstr(p->out, "content-length: 10\r\n")); /* "HEAD a /x\n" */
    assert_null(strstr(p->out, "HEAD a"));
    peer_free(p);
}

/* ---- sizes ---- */

/* A text of `len` bytes in front of, and behind it, other texts. */
static void send_sized(struct peer *p, const char *before, size_t len, const char *after)
{
    char *filler = malloc(len + 1);
    assert_non_null(filler);
    memset(filler, 'x', len);
    filler[len] = '\0';
    char *bytes = NULL;
    assert_true(asprintf(&bytes, "%s%s%s", before, filler, after) > 0);
    turn(p, bytes);
    free(bytes);
    free(filler);
}

static void a_target_may_have_so_many_bytes(void **state)
{
    (void)state;
    static const char *const wants[] = {"200", "200", "414!"};
    for (size_t i = 0; i < 3; i++) {
        struct peer *p = peer_new();
        send_sized(p, "GET /", LIMIT_PATH_LEN - 2 + i, " HTTP/1.1\r\nHost: a\r\n\r\n");
        expect_answers(p, wants[i]);
        peer_free(p);
    }
}

static void a_field_may_have_so_many_bytes(void **state)
{
    (void)state;
    static const char *const wants[] = {"200", "200", "431!"};
    for (size_t i = 0; i < 3; i++) {
        struct peer *p = peer_new();
        send_sized(p, "GET / HTTP/1.1\r\nHost: a\r\nX: ", LIMIT_FIELD_LINE - 4 + i, "\r\n\r\n");
        expect_answers(p, wants[i]);
        peer_free(p);
    }
}

static void a_request_may_have_so_many_fields(void **state)
{
    (void)state;
    for (size_t fields = LIMIT_FIELDS - 1; fields <= LIMIT_FIELDS + 1; fields++) {
        struct peer *p = peer_new();
        send_text(p, "GET / HTTP/1.1\r\nHost: a\r\n");
        for (size_t i = 1; i < fields; i++)
            send_text(p, "a:\r\n");
        turn(p, "\r\n");
        expect_answers(p, fields <= LIMIT_FIELDS ? "200" : "431!");
        peer_free(p);
    }
}

static void a_head_may_have_so_many_bytes(void **state)
{
    (void)state;
    for (size_t len = LIMIT_HEAD_BYTES - 1; len <= LIMIT_HEAD_BYTES + 1; len++) {
        struct peer *p = peer_new();
        char line[4096 + 1];
        memset(line, 'x', sizeof(line));
        line[1] = ':';
        line[4094] = '\r';
        line[4095] = '\n';
        line[4096] = '\0';
        static const char start[] = "GET / HTTP/1.1\r\nHost: a\r\n";
        send_text(p, start);
        size_t sent = sizeof(start) - 1;
        for (; sent + 4096 + 100 < len; sent += 4096)
            send_text(p, line);
        send_sized(p, "x: ", len - sent - 3 - 4, "\r\n\r\n");

        expect_answers(p, len <= LIMIT_HEAD_BYTES ? "200" : "431!");
        peer_free(p);
    }
}

static void the_memory_of_a_head_under_way_is_bounded(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    size_t before = mem_live(p->mem);
    send_text(p, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    for (int i = 0; i < 5000; i++)
        send_text(p, "y");
    assert_int_equal(mem_live(p->mem), before + 1); /* the stored head, and no block */
    peer_free(p);
}

/* ---- bodies ---- */

static void a_body_of_the_limit_is_read(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    p->answers_late = true;
    char *body = calloc(1, LIMIT_BODY_BYTES);
    assert_non_null(body);
    send_text(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
    peer_feed(p, body, LIMIT_BODY_BYTES);
    send_text(p, GET("/next"));
    free(body);
    assert_int_equal(p->late_count, 2);
    peer_answer(p, 0);
    peer_answer(p, 0);
    peer_pull(p);
    expect_answers(p, "200 200");
    peer_free(p);
}

static void a_long_body_is_not_read_behind_its_answer(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    expect_answers(p, "200!");
    assert_int_equal(p->pulled, WEIR_CLOSED);

    turn(p, GET("/canary"));

    assert_false(p->saw_canary);
    peer_free(p);
}

static void a_short_body_is_read_behind_its_answer(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 34\r\n\r\n");
    expect_answers(p, "200");
    turn(p, "GET /canary HTTP/1.1\r\nHost: b\r\n\r\n"); /* 33 bytes of body */
    assert_int_equal(p->requests, 1);

    turn(p, "x" GET("/next"));

    expect_answers(p, "200 200");
    assert_false(p->saw_canary);
    peer_free(p);
}

static void a_short_body_that_does_not_come_ends_the_connection(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 34\r\n\r\n");
    assert_int_equal(due_in(p), LIMIT_LINGER_MS);

    pass_time(p, LIMIT_LINGER_MS);

    expect_answers(p, "200"); /* it has had its answer */
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_chunked_body_behind_its_answer_is_limited(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect_answers(p, "200");
    size_t sent = 0;
    while (p->pulled == WEIR_OK) {
        turn(p, "5\r\nhello\r\n");
        sent += 10;
        assert_true(sent < LIMIT_LINGER_BYTES + 100);
    }
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_true(sent > LIMIT_LINGER_BYTES);
    peer_free(p);
}

static void who_waits_for_100_gets_the_answer_and_the_end(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    expect_answers(p, "200!");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_bad_chunk_replaces_an_answer_that_is_not_sent(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "POST /late HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz");
    expect_answers(p, "400!");
    assert_int_equal(p->fed, WEIR_PROTO);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_int_equal(p->late_count, 1); /* the handler's answer goes nowhere */
    peer_answer(p, 0);
    peer_free(p);
}

static void an_answer_that_was_replaced_comes_too_late(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/late1") "POST /late2 HTTP/1.1\r\nHost: a\r\n"
                          "Transfer-Encoding: chunked\r\n\r\nzz");
    assert_int_equal(p->late_count, 2);

    peer_answer(p, 1); /* the 400 is in its place, and waits behind the first answer */
    assert_int_equal(p->replies, 0);
    peer_answer(p, 0);
    peer_pull(p);

    expect_answers(p, "200 400!");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_bad_chunk_behind_the_answer_just_ends_the_connection(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    turn(p, "zz\r\n" GET("/canary"));
    expect_answers(p, "200");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_false(p->saw_canary);
    peer_free(p);
}

static void an_error_comes_behind_the_answers_that_are_owed(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/late") GET("/b") "junk\r\n" GET("/canary"));
    assert_int_equal(p->fed, WEIR_PROTO);
    assert_int_equal(p->out_len, 0);
    assert_int_equal(p->stats.protocol_errors, 1);

    peer_answer(p, 0);
    peer_pull(p);

    expect_answers(p, "200 200 400!");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_false(p->saw_canary);
    peer_free(p);
}

/* ---- clocks ---- */

static void an_idle_connection_is_closed_without_a_word(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    assert_int_equal(due_in(p), LIMIT_IDLE_MS);
    pass_time(p, LIMIT_IDLE_MS - 1);
    assert_int_equal(p->pulled, WEIR_OK);
    turn(p, GET("/x"));
    assert_int_equal(due_in(p), LIMIT_IDLE_MS); /* anew */

    pass_time(p, LIMIT_IDLE_MS);

    expect_answers(p, "200");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_head_has_to_be_complete_in_time(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    pass_time(p, 60000);
    turn(p, "GET / HTTP/1.1\r\n");
    assert_int_equal(due_in(p), LIMIT_HEADER_MS);
    pass_time(p, LIMIT_HEADER_MS - 1);
    turn(p, "Host: a\r\n"); /* a line is not progress */
    assert_int_equal(due_in(p), 1);

    pass_time(p, 1);

    expect_answers(p, "408!");
    assert_int_equal(p->fed, WEIR_LIMIT);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_int_equal(p->stats.limit_breaches, 1);
    peer_free(p);
}

static void a_body_has_to_keep_its_rate(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    p->answers_late = true;
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n");
    assert_int_equal(due_in(p), LIMIT_BODY_GRACE_MS);
    char bytes[2 * LIMIT_BODY_RATE + 1];
    memset(bytes, 'x', sizeof(bytes));
    bytes[sizeof(bytes) - 1] = '\0';
    turn(p, bytes);
    assert_int_equal(due_in(p), LIMIT_BODY_GRACE_MS + 2000); /* two seconds' worth */
    pass_time(p, LIMIT_BODY_GRACE_MS + 1999);
    assert_int_equal(p->out_len, 0);

    pass_time(p, 1);

    expect_answers(p, "408!");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_body_has_to_end_at_last(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    p->answers_late = true;
    turn(p, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    char *bytes = calloc(1, 500000);
    assert_non_null(bytes);
    peer_feed(p, bytes, 500000);
    free(bytes);
    assert_int_equal(due_in(p), LIMIT_BODY_MS);
    pass_time(p, LIMIT_BODY_MS);
    expect_answers(p, "408!");
    peer_free(p);
}

static void a_handler_that_thinks_stops_the_idle_clock(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/late"));
    assert_int_equal(due_in(p), PROTOCOL_NO_DEADLINE);
    pass_time(p, 500000);
    peer_answer(p, 0);
    peer_pull(p);
    expect_answers(p, "200");
    assert_int_equal(due_in(p), LIMIT_IDLE_MS);
    peer_free(p);
}

/* ---- the end ---- */

static void drain_ends_an_idle_connection_at_once(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/x") "GET /half");
    http1_protocol.drain(p->session);
    peer_pull(p);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    expect_answers(p, "200");
    peer_free(p);
}

static void drain_finishes_what_is_open_and_says_close_last(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/late1") GET("/late2"));
    http1_protocol.drain(p->session);
    turn(p, GET("/canary"));
    assert_int_equal(p->pulled, WEIR_OK);

    peer_answer(p, 0);
    peer_answer(p, 0);
    peer_pull(p);

    expect_answers(p, "200 200!");
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_false(p->saw_canary);
    peer_free(p);
}

static void a_half_closed_client_gets_its_answers(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    p->answers_late = true;
    for (int i = 0; i < 20; i++)
        send_text(p, GET("/x"));
    http1_protocol.feed_end(p->session);
    while (p->late_count > 0) {
        peer_answer(p, 0);
        peer_pull(p);
    }
    assert_int_equal(p->stats.responses[2], 20);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void a_half_request_before_the_end_is_forgotten(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    send_text(p, "GET / HTTP/1.1\r\nHost: a\r\n\r");
    http1_protocol.feed_end(p->session);
    peer_pull(p);
    assert_int_equal(p->out_len, 0);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    peer_free(p);
}

static void close_may_come_at_any_time(void **state)
{
    (void)state;
    static const char *const starts[] = {
        "",
        "GET",
        GET("/late"),
        GET("/late") "GET /",
        GET("/large?100000"),
        "POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe",
        "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
        GET("/slow"),
        "bad\r\n",
        GET("/late") "bad\r\n",
    };
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        for (int pulls = 0; pulls < 2; pulls++) {
            struct peer *p = peer_new();
            send_text(p, starts[i]);
            struct weir_gather g;
            weir_gather_init(&g, p->mem);
            if (pulls == 1)
                weir_ignore(http1_protocol.pull(p->session, &g, 1000));
            http1_protocol.close(p->session);
            p->session = NULL;
            weir_gather_deinit(&g);
            peer_free(p); /* a handler that responds now is told that it is too late */
        }
    }
}

static void requests_are_counted(void **state)
{
    (void)state;
    struct peer *p = peer_new();
    turn(p, GET("/x") GET("/unchanged") GET("/none") "bad\r\n");
    assert_int_equal(p->stats.requests, 3);
    assert_int_equal(p->stats.responses[2], 2);
    assert_int_equal(p->stats.responses[3], 1);
    assert_int_equal(p->stats.responses[4], 1);
    peer_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_leave_in_the_order_of_requests),
        cmocka_unit_test(a_full_queue_leaves_input_alone),
        cmocka_unit_test(input_that_nobody_holds_back_is_limited),
        cmocka_unit_test(pipelined_answers_leave_in_one_list),
        cmocka_unit_test(a_large_body_is_handed_out_by_budget_and_by_reference),
        cmocka_unit_test(a_source_that_has_nothing_yet_is_asked_again_when_it_says_so),
        cmocka_unit_test(a_body_that_breaks_off_cuts_the_connection),
        cmocka_unit_test(a_response_that_would_split_is_not_sent),
        cmocka_unit_test(head_has_the_length_but_no_body),
        cmocka_unit_test(a_target_may_have_so_many_bytes),
        cmocka_unit_test(a_field_may_have_so_many_bytes),
        cmocka_unit_test(a_request_may_have_so_many_fields),
        cmocka_unit_test(a_head_may_have_so_many_bytes),
        cmocka_unit_test(the_memory_of_a_head_under_way_is_bounded),
        cmocka_unit_test(a_body_of_the_limit_is_read),
        cmocka_unit_test(a_long_body_is_not_read_behind_its_answer),
        cmocka_unit_test(a_short_body_is_read_behind_its_answer),
        cmocka_unit_test(a_short_body_that_does_not_come_ends_the_connection),
        cmocka_unit_test(a_chunked_body_behind_its_answer_is_limited),
        cmocka_unit_test(who_waits_for_100_gets_the_answer_and_the_end),
        cmocka_unit_test(a_bad_chunk_replaces_an_answer_that_is_not_sent),
        cmocka_unit_test(an_answer_that_was_replaced_comes_too_late),
        cmocka_unit_test(a_bad_chunk_behind_the_answer_just_ends_the_connection),
        cmocka_unit_test(an_error_comes_behind_the_answers_that_are_owed),
        cmocka_unit_test(an_idle_connection_is_closed_without_a_word),
        cmocka_unit_test(a_head_has_to_be_complete_in_time),
        cmocka_unit_test(a_body_has_to_keep_its_rate),
        cmocka_unit_test(a_body_has_to_end_at_last),
        cmocka_unit_test(a_handler_that_thinks_stops_the_idle_clock),
        cmocka_unit_test(drain_ends_an_idle_connection_at_once),
        cmocka_unit_test(drain_finishes_what_is_open_and_says_close_last),
        cmocka_unit_test(a_half_closed_client_gets_its_answers),
        cmocka_unit_test(a_half_request_before_the_end_is_forgotten),
        cmocka_unit_test(close_may_come_at_any_time),
        cmocka_unit_test(requests_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
