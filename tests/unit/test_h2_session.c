/* Requests and responses on an HTTP/2 session, with output in plenty and output in drops. */
#include "cm.h"

#include "h2_peer.h"

#define END NGHTTP2_FLAG_END_STREAM

static void requests_are_answered(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);

    peer_get(&p, 1, "/size?100000");
    peer_get(&p, 3, "/pool?20");
    peer_ask(&p, 5, END, "HEAD", "/size?100000");
    peer_get(&p, 7, "/none");
    peer_get(&p, 9, "/elsewhere");
    peer_turn(&p);

    /* The connection's window holds the large one up; the small one has left with its HEADERS. */
    assert_int_equal(peer_seen(&p, 1)->body_len, 65535 - 20);
    peer_number(&p, NGHTTP2_WINDOW_UPDATE, 0, 1000000);
    peer_number(&p, NGHTTP2_WINDOW_UPDATE, 1, 1000000);
    peer_turn(&p);
    static const size_t body_lens[] = {100000, 20, 0, 0, 0};
    static const unsigned statuses[] = {200, 200, 200, 204, 404};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(peer_seen(&p, 2 * i + 1)->status, statuses[i]);
        assert_int_equal(peer_seen(&p, 2 * i + 1)->body_len, body_lens[i]);
        assert_true(peer_seen(&p, 2 * i + 1)->has_ended);
        assert_false(peer_seen(&p, 2 * i + 1)->is_reset);
    }
    assert_int_equal(p.requests, 5);
    assert_int_equal(p.stats.requests, 5);
    assert_int_equal(p.stats.responses[2], 4);
    assert_int_equal(p.stats.responses[4], 1);
    assert_int_equal(p.released, 5);
    assert_true(peer_deinit(&p));
}

static void body_bytes_are_counted_by_their_way(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);

    peer_get(&p, 1, "/size?40000"); /* two frames of 16 KiB, one of 7232 */
    peer_get(&p, 3, "/size?255");
    peer_get(&p, 5, "/size?256");
    peer_get(&p, 7, "/pool?300");
    peer_get(&p, 9, "/pool?1");
    peer_turn(&p);

    assert_int_equal(p.stats.body_mapped, 40000 + 256);
    assert_int_equal(p.stats.body_pooled, 300);
    assert_int_equal(p.stats.body_copied, 255 + 1);
    assert_int_equal(p.stats.streams_reset, 0);
    assert_true(peer_deinit(&p));
}

/* Every byte of uploads that nobody reads goes back to the connection's window. */
static void uploads_that_nobody_reads_do_not_use_up_the_window(void **state)
{
    (void)state;
    static const uint8_t bytes[16384];
    struct peer p;
    peer_start(&p);

    uint64_t sent = 0;
    for (uint32_t id = 1; id < 2 * 100; id += 2) {
        peer_ask(&p, id, 0, "POST", "/size?10");
        for (int i = 0; i < 4; i++) {
            sent += sizeof(bytes);
            assert_true(sent <= p.window);
            peer_frame(&p, NGHTTP2_DATA, 0, id, bytes, sizeof(bytes));
            if (i % 2 == 0)
                peer_turn(&p);
        }
        peer_turn(&p);
        assert_int_equal(p.pulled, WEIR_OK);
        assert_int_equal(peer_seen(&p, id)->status, 200);
        assert_true(peer_seen(&p, id)->has_ended);
        assert_true(peer_seen(&p, id)->is_reset);
        assert_int_equal(peer_seen(&p, id)->rst_code, NGHTTP2_NO_ERROR);
    }

    assert_int_equal(p.requests, 100);
    assert_int_equal(p.stats.streams_reset, 0);
    assert_true(peer_deinit(&p));
}

static void a_body_in_full_before_the_answer_is_not_reset(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);

    peer_ask(&p, 1, 0, "POST", "/late?10");
    peer_frame(&p, NGHTTP2_DATA, END, 1, "hello", 5);
    peer_ask(&p, 3, 0, "POST", "/late?10");
    const nghttp2_nv trailer = peer_nv("x-sum", "1");
    peer_frame(&p, NGHTTP2_DATA, 0, 3, "hello", 5);
    peer_fields(&p, 3, END, &trailer, 1, 16384);
    peer_turn(&p);
    assert_int_equal(peer_answer(&p), WEIR_OK);
    assert_int_equal(peer_answer(&p), WEIR_OK);
    assert_true(p.wakes >= 1);
    peer_pull(&p);

    for (uint32_t id = 1; id <= 3; id += 2) {
        assert_true(peer_seen(&p, id)->has_ended);
        assert_false(peer_seen(&p, id)->is_reset);
    }
    assert_true(peer_deinit(&p));
}

static void a_hundred_streams_at_once_are_served(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);

    for (unsigned round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < LIMIT_STREAMS; i++)
            peer_get(&p, round * 2 * LIMIT_STREAMS + 2 * i + 1, "/late?50");
        peer_turn(&p);
        assert_int_equal(p.late_count, LIMIT_STREAMS);
        while (p.late_count > 0)
            assert_int_equal(peer_answer(&p), WEIR_OK);
        peer_pull(&p);
    }

    assert_int_equal(p.requests, 5 * LIMIT_STREAMS);
    for (uint32_t id = 1; id < 10 * LIMIT_STREAMS; id += 2)
        assert_int_equal(peer_seen(&p, id)->body_len, 50);
    assert_int_equal(p.stats.streams_refused, 0);
    assert_true(peer_deinit(&p));
}

static void the_next_stream_is_refused_and_the_connection_goes_on(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    for (uint32_t i = 0; i < LIMIT_STREAMS; i++)
        peer_get(&p, 2 * i + 1, "/late?50");

    peer_get(&p, 2 * LIMIT_STREAMS + 1, "/size?50");
    peer_turn(&p);
    const struct seen *s = peer_seen(&p, 2 * LIMIT_STREAMS + 1);
    assert_true(s->is_reset);
    assert_int_equal(s->rst_code, NGHTTP2_REFUSED_STREAM);
    assert_int_equal(p.goaways, 0);
    assert_int_equal(p.requests, LIMIT_STREAMS);

    peer_answer(&p);
    peer_pull(&p);
    peer_get(&p, 2 * LIMIT_STREAMS + 3, "/size?50");
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 2 * LIMIT_STREAMS + 3)->body_len, 50);
    assert_int_equal(p.stats.streams_refused, 1);
    assert_true(peer_deinit(&p));
}

/* A stream counts until its last bytes have left, however it ended. */
static void streams_count_until_their_bytes_have_left(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    p.is_slow = true;
    for (uint32_t i = 0; i < LIMIT_STREAMS; i++)
        peer_get(&p, 2 * i + 1, "/pool?50");
    peer_turn(&p);

    peer_get(&p, 2 * LIMIT_STREAMS + 1, "/pool?50");
    peer_turn(&p);
    peer_take(&p, p.out.len);
    peer_get(&p, 2 * LIMIT_STREAMS + 3, "/pool?50");
    peer_turn(&p);
    peer_take(&p, p.out.len);

    assert_int_equal(peer_seen(&p, 2 * LIMIT_STREAMS + 1)->rst_code, NGHTTP2_REFUSED_STREAM);
    assert_int_equal(peer_seen(&p, 2 * LIMIT_STREAMS + 3)->body_len, 50);
    assert_true(peer_deinit(&p));
}

static void late_answers_find_a_stream_that_is_gone(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/late?50");
    peer_get(&p, 3, "/late?50");
    peer_get(&p, 5, "/late?50");
    peer_number(&p, NGHTTP2_RST_STREAM, 1, NGHTTP2_CANCEL);
    peer_turn(&p);

    assert_int_equal(peer_answer(&p), WEIR_CLOSED);
    assert_int_equal(p.released, 1);
    assert_int_equal(peer_answer(&p), WEIR_OK);
    peer_pull(&p);
    assert_int_equal(peer_seen(&p, 3)->body_len, 50);

    h2_protocol.close(p.session);
    p.session = NULL;
    assert_int_equal(peer_answer(&p), WEIR_CLOSED);
    assert_int_equal(p.released, 3);
    assert_true(peer_deinit(&p));
}

static void sources_that_have_nothing_yet_are_resumed(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/slow?60000");
    peer_get(&p, 3, "/slow?10");
    peer_get(&p, 5, "/slow?10");
    peer_get(&p, 7, "/size?10");
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 7)->body_len, 10);
    assert_int_equal(peer_seen(&p, 1)->status, 200);
    assert_int_equal(peer_seen(&p, 1)->body_len, 0);

    peer_number(&p, NGHTTP2_RST_STREAM, 5, NGHTTP2_CANCEL);
    peer_turn(&p);
    assert_int_equal(p.blocked_count, 2);
    unsigned wakes = p.wakes;
    while (peer_resume(&p)) {
        assert_true(p.wakes > wakes);
        wakes = p.wakes;
        peer_pull(&p);
    }

    assert_int_equal(peer_seen(&p, 1)->body_len, 60000);
    assert_true(peer_seen(&p, 1)->has_ended);
    assert_int_equal(peer_seen(&p, 3)->body_len, 10);
    assert_int_equal(p.released, 4);
    assert_true(peer_deinit(&p));
}

static void a_source_that_fails_ends_its_stream_alone(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/size?30000");
    peer_get(&p, 3, "/cut?2000");
    peer_get(&p, 5, "/size?30000");
    peer_turn(&p);

    assert_int_equal(peer_seen(&p, 3)->body_len, 1000);
    assert_false(peer_seen(&p, 3)->has_ended);
    assert_int_equal(peer_seen(&p, 3)->rst_code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(peer_seen(&p, 1)->body_len, 30000);
    assert_int_equal(peer_seen(&p, 5)->body_len, 30000);
    assert_int_equal(p.stats.streams_reset, 1);
    assert_true(peer_deinit(&p));
}

/* What our own disks and handlers do wrong is nothing that a peer can be told to calm down for. */
static void sources_that_fail_are_not_held_against_the_peer(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    uint32_t id = 1;
    for (; id < 2 * 60; id += 2)
        peer_get(&p, id, id % 4 == 1 ? "/cut?2000" : "/status?99");
    peer_get(&p, id, "/size?2000");
    peer_turn(&p);
    peer_number(&p, NGHTTP2_WINDOW_UPDATE, 0, 1000000);
    peer_turn(&p);

    assert_int_equal(p.goaways, 0);
    assert_int_equal(peer_seen(&p, 1)->rst_code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(peer_seen(&p, 3)->rst_code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(peer_seen(&p, id)->body_len, 2000);
    assert_true(peer_deinit(&p));
}

static void unusable_responses_end_their_stream(void **state)
{
    (void)state;
    static const char *const paths[] = {"/status?0", "/status?199", "/status?600", "/status?700"};
    struct peer p;
    peer_start(&p);
    for (uint32_t i = 0; i < 4; i++)
        peer_get(&p, 2 * i + 1, paths[i]);
    peer_get(&p, 9, "/status?599");
    peer_turn(&p);

    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(peer_seen(&p, 2 * i + 1)->rst_code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(peer_seen(&p, 9)->status, 599);
    assert_int_equal(p.released, 5);
    assert_true(peer_deinit(&p));
}

static void flow_control_windows_of_any_size_are_kept(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 7, 16383, 16385};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct peer p;
        peer_start(&p);
        peer_setting(&p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, sizes[i]);
        peer_get(&p, 1, "/size?20000");
        peer_turn(&p);
        size_t granted = sizes[i];
        assert_int_equal(peer_seen(&p, 1)->body_len, granted);

        for (uint32_t more = 1; more < 40; more += 3) {
            granted += more;
            peer_number(&p, NGHTTP2_WINDOW_UPDATE, 1, more);
            peer_turn(&p);
            assert_int_equal(peer_seen(&p, 1)->body_len, granted);
        }
        /* A setting that takes away what was given: nothing until the window is above 0 again. */
        peer_setting(&p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0);
        if (sizes[i] > 0)
            peer_number(&p, NGHTTP2_WINDOW_UPDATE, 1, sizes[i]);
        peer_turn(&p);
        assert_int_equal(peer_seen(&p, 1)->body_len, granted);
        peer_number(&p, NGHTTP2_WINDOW_UPDATE, 1, 1);
        peer_turn(&p);
        assert_int_equal(peer_seen(&p, 1)->body_len, granted + 1);
        peer_number(&p, NGHTTP2_WINDOW_UPDATE, 1, 20000);
        peer_turn(&p);
        assert_int_equal(peer_seen(&p, 1)->body_len, 20000);
        assert_true(peer_deinit(&p));
    }
}

/* A body that uses a window up to the byte ends with it: nobody need ever open it again. */
static void a_window_used_up_holds_no_end_back(void **state)
{
    (void)state;
    static const char *const paths[] = {"/size?20000", "/pool?20000"};
    for (int kind = 0; kind < 4; kind++) {
        struct peer p;
        peer_start(&p);
        bool is_stream = kind / 2 == 0;
        uint32_t id = 1;
        if (is_stream) {
            peer_setting(&p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 20000);
        } else {
            peer_get(&p, id, "/pool?45535"); /* leaves 20000 of the connection's */
            id += 2;
        }
        peer_turn(&p);
        peer_get(&p, id, paths[kind % 2]);
        peer_turn(&p);
        assert_int_equal(peer_seen(&p, id)->body_len, 20000);
        assert_true(peer_seen(&p, id)->has_ended);
        assert_true(peer_deinit(&p));
    }
}

/* Bytes of a map that are lost on their way: the stream is reset, or the connection is cut. */
static void lost_bytes_never_look_whole(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct peer p;
        peer_start(&p);
        p.is_slow = true;
        bool fills_window = kind >= 2; /* and has said its end with its last bytes */
        if (fills_window)
            peer_setting(&p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 5000);
        peer_turn(&p);
        peer_take(&p, p.out.len);
        peer_ask(&p, 1, kind % 2 == 0 ? END : 0, "POST", "/size?5000");
        peer_get(&p, 3, "/pool?10");
        peer_turn(&p);
        enum weir_err err = h2_protocol.lose(p.session, &peer_map);
        assert_int_equal(err, fills_window ? WEIR_IO : WEIR_OK);
        if (err == WEIR_OK) {
            p.is_slow = false;
            peer_take(&p, p.out.len);
            peer_pull(&p);
            assert_false(peer_seen(&p, 1)->has_ended);
            assert_int_equal(peer_seen(&p, 1)->rst_code, NGHTTP2_INTERNAL_ERROR);
            assert_int_equal(peer_seen(&p, 3)->body_len, 10);
        }
        assert_true(peer_deinit(&p));
    }
}

/* What has left is not lost any more, and what is of another map is not concerned. */
static void bytes_that_have_left_cannot_be_lost(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_setting(&p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 5000);
    peer_get(&p, 1, "/size?5000");
    peer_ask(&p, 3, 0, "POST", "/size?5000");
    peer_turn(&p);
    assert_int_equal(h2_protocol.lose(p.session, &peer_map), WEIR_OK);
    peer_pull(&p);
    for (uint32_t id = 1; id <= 3; id += 2)
        assert_true(peer_seen(&p, id)->has_ended);

    /* Nor is a body whose end alone is left to send, beside one of the same map that is lost. */
    p.is_slow = true;
    peer_get(&p, 5, "/size?300");
    peer_turn(&p);
    peer_take(&p, p.out.len);
    peer_get(&p, 7, "/size?300");
    peer_turn(&p);
    assert_int_equal(h2_protocol.lose(p.session, &peer_map), WEIR_OK);
    p.is_slow = false;
    peer_take(&p, p.out.len);
    peer_pull(&p);
    assert_true(peer_seen(&p, 5)->has_ended);
    assert_false(peer_seen(&p, 5)->is_reset);
    assert_false(peer_seen(&p, 7)->has_ended);
    assert_true(peer_seen(&p, 7)->is_reset);
    assert_true(peer_deinit(&p));
}

/* Requests of all kinds, which small budgets hold up at every frame. */
static void say_a_bit_of_everything(struct peer *p)
{
    peer_hello(p);
    peer_settings_ack(p);
    peer_setting(p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1000000);
    peer_number(p, NGHTTP2_WINDOW_UPDATE, 0, 1000000);
    peer_get(p, 1, "/size?40000");
    peer_get(p, 3, "/none");
    peer_ask(p, 5, 0, "POST", "/pool?300");
    peer_get(p, 7, "/cut?40000");
    peer_get(p, 9, "/size?255");
    peer_frame(p, NGHTTP2_PING, 0, 0, "12345678", 8);
    peer_get(p, 11, "/slow?20000");
    peer_ask(p, 13, 0, "POST", "/elsewhere");
    peer_get(p, 15, "/size?40000");
}

/* Where a stream ends depends on when its bytes have left; what it says does not. */
static void assert_same_streams(struct peer *a, struct peer *b)
{
    for (uint32_t id = 1; id <= 15; id += 2) {
        const struct seen *x = peer_seen(a, id);
        const struct seen *y = peer_seen(b, id);
        assert_int_equal(x->status, y->status);
        assert_int_equal(x->fields, y->fields);
        assert_int_equal(x->body_len, y->body_len);
        assert_int_equal(x->has_ended, y->has_ended);
        assert_int_equal(x->is_reset, y->is_reset);
        assert_int_equal(x->rst_code, y->rst_code);
    }
}

static void small_budgets_give_the_same_responses_as_large_ones(void **state)
{
    (void)state;
    struct peer whole;
    peer_init(&whole);
    say_a_bit_of_everything(&whole);
    peer_turn(&whole);
    assert_int_equal(whole.blocked_count, 1);

    static const size_t budgets[] = {1, 2, 9, 10, 100, 1000, 16393, 20000, 65536};
    for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        struct peer p;
        peer_init(&p);
        p.budget = budgets[i];
        say_a_bit_of_everything(&p);
        peer_turn(&p);
        assert_int_equal(p.wire_len, whole.wire_len);
        assert_same_streams(&p, &whole);
        assert_int_equal(p.stats.body_mapped, whole.stats.body_mapped);
        assert_int_equal(p.stats.body_pooled, whole.stats.body_pooled);
        assert_int_equal(p.stats.body_copied, whole.stats.body_copied);
        assert_true(peer_deinit(&p));
    }
    assert_true(peer_deinit(&whole));
}

/* Pull up to budgets that stop at every frame; there the peer resets every stream. */
static void resets_find_frames_that_wait_for_room(void **state)
{
    (void)state;
    bool at_end = false;
    for (size_t budget = 1; !at_end; budget += budget < 400 ? 1 : 97) {
        struct peer p;
        peer_init(&p);
        p.is_slow = true;
        p.budget = budget;
        say_a_bit_of_everything(&p);
        peer_turn(&p);
        at_end = p.out.len < budget; /* all there was went in */
        for (uint32_t id = 1; id <= 15; id += 2)
            peer_number(&p, NGHTTP2_RST_STREAM, id, NGHTTP2_CANCEL);
        peer_get(&p, 17, "/size?10");
        peer_send(&p);
        p.is_slow = false;
        p.budget = LIMIT_STAGED_OUTPUT;
        peer_pull(&p);

        assert_int_equal(p.pulled, WEIR_OK);
        assert_int_equal(p.goaways, 0);
        assert_int_equal(peer_seen(&p, 17)->body_len, 10);
        assert_int_equal(p.released, 9);
        assert_true(peer_deinit(&p));
    }
}

/* The client's bytes, however they are cut, lead to the same answers. */
static void cuts_of_the_input_change_nothing(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    struct peer whole;
    peer_init(&whole);
    say_a_bit_of_everything(&whole);
    peer_turn(&whole);

    for (int round = 0; round < 100; round++) {
        struct peer p;
        peer_init(&p);
        say_a_bit_of_everything(&p);
        peer_send_by(&p, 1 + rng_below(&rng, round < 50 ? 12 : 200));
        peer_pull(&p);
        assert_int_equal(p.wire_len, whole.wire_len);
        assert_memory_equal(p.wire, whole.wire, p.wire_len);
        assert_true(peer_deinit(&p));
    }
    assert_true(peer_deinit(&whole));
}

/* Responses are blocks of one HPACK stream: a frame that waits must not run ahead of the peer. */
static void table_sizes_take_effect_with_their_acknowledgement(void **state)
{
    (void)state;
    for (size_t budget = 1; budget < 200; budget++) {
        struct peer p;
        peer_start(&p);
        peer_setting(&p, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0);
        peer_get(&p, 1, "/size?10");
        peer_turn(&p);
        assert_int_equal(nghttp2_hd_inflate_change_table_size(p.inflater, 0), 0);

        /* HEADERS wait for room while the new size arrives. */
        p.is_slow = true;
        p.budget = budget;
        peer_get(&p, 3, "/size?10");
        peer_get(&p, 5, "/size?10");
        peer_turn(&p);
        peer_setting(&p, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096);
        peer_get(&p, 7, "/size?10");
        peer_send(&p);
        /* Read up to the acknowledgement with the old size, and what follows with the new one. */
        size_t acks = 0;
        while (acks < 1 && p.pulled != WEIR_NOMEM) {
            p.budget = p.out.len + 1;
            p.trace_len = 0;
            peer_pull(&p);
            peer_take(&p, p.out.len);
            acks += memchr(p.trace, 's', p.trace_len) != NULL;
        }
        assert_int_equal(nghttp2_hd_inflate_change_table_size(p.inflater, 4096), 0);
        p.is_slow = false;
        p.budget = LIMIT_STAGED_OUTPUT;
        peer_pull(&p);

        for (uint32_t id = 1; id <= 7; id += 2)
            assert_int_equal(peer_seen(&p, id)->body_len, 10);
        assert_true(peer_deinit(&p));
    }
}

static void a_peer_that_has_sent_its_last_still_gets_answers(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/late?10");
    peer_get(&p, 3, "/slow?10");
    peer_turn(&p);
    h2_protocol.feed_end(p.session);
    peer_pull(&p);
    assert_int_equal(p.pulled, WEIR_OK);

    peer_answer(&p);
    peer_pull(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, 10);
    assert_int_equal(p.pulled, WEIR_OK); /* the other's source has yet to come up */
    peer_resume(&p);
    peer_pull(&p);

    assert_int_equal(peer_seen(&p, 3)->body_len, 10);
    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

/* What waits for a window waits for nothing any more. */
static void a_peer_that_has_sent_its_last_opens_no_window(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/size?100000");
    peer_get(&p, 3, "/slow?100000");
    peer_number(&p, NGHTTP2_RST_STREAM, 3, NGHTTP2_CANCEL);
    peer_turn(&p);
    h2_protocol.feed_end(p.session);
    peer_pull(&p);

    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

static void fields_that_no_frame_holds_end_the_connection(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/size?10");
    peer_get(&p, 3, "/long");
    peer_get(&p, 5, "/size?10");
    peer_turn(&p);

    assert_int_equal(p.pulled, WEIR_IO);
    assert_int_equal(peer_seen(&p, 1)->body_len, 0);
    assert_true(peer_deinit(&p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(body_bytes_are_counted_by_their_way),
        cmocka_unit_test(uploads_that_nobody_reads_do_not_use_up_the_window),
        cmocka_unit_test(a_body_in_full_before_the_answer_is_not_reset),
        cmocka_unit_test(a_hundred_streams_at_once_are_served),
        cmocka_unit_test(the_next_stream_is_refused_and_the_connection_goes_on),
        cmocka_unit_test(streams_count_until_their_bytes_have_left),
        cmocka_unit_test(late_answers_find_a_stream_that_is_gone),
        cmocka_unit_test(sources_that_have_nothing_yet_are_resumed),
        cmocka_unit_test(a_source_that_fails_ends_its_stream_alone),
        cmocka_unit_test(sources_that_fail_are_not_held_against_the_peer),
        cmocka_unit_test(unusable_responses_end_their_stream),
        cmocka_unit_test(flow_control_windows_of_any_size_are_kept),
        cmocka_unit_test(a_window_used_up_holds_no_end_back),
        cmocka_unit_test(lost_bytes_never_look_whole),
        cmocka_unit_test(bytes_that_have_left_cannot_be_lost),
        cmocka_unit_test(small_budgets_give_the_same_responses_as_large_ones),
        cmocka_unit_test(resets_find_frames_that_wait_for_room),
        cmocka_unit_test(cuts_of_the_input_change_nothing),
        cmocka_unit_test(table_sizes_take_effect_with_their_acknowledgement),
        cmocka_unit_test(a_peer_that_has_sent_its_last_still_gets_answers),
        cmocka_unit_test(a_peer_that_has_sent_its_last_opens_no_window),
        cmocka_unit_test(fields_that_no_frame_holds_end_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
