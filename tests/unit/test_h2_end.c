/* How a session ends: in two steps, by its clocks, by errors of the peer. */
#include "cm.h"

#include "h2_peer.h"

#define END NGHTTP2_FLAG_END_STREAM
#define END_HEADERS NGHTTP2_FLAG_END_HEADERS
#define ID_MAX 0x7fffffffU

/* ---- in two steps ---- */

static void acknowledge_ping(struct peer *p)
{
    peer_frame(p, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, p->ping, 8);
}

static void a_drain_takes_streams_until_the_ping_is_acknowledged(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/late?10");
    peer_turn(&p);

    unsigned wakes = p.wakes;
    p.trace_len = 0;
    h2_protocol.drain(p.session);
    assert_int_equal(p.wakes, wakes + 1);
    h2_protocol.drain(p.session); /* once is enough */
    peer_pull(&p);
    assert_int_equal(p.trace_len, 2);
    assert_memory_equal(p.trace, "GP", 2); /* a client that has seen the PING has seen the GOAWAY */
    assert_int_equal(p.goaway_last, ID_MAX);
    assert_int_equal(p.goaway_code, NGHTTP2_NO_ERROR);

    peer_get(&p, 3, "/size?10"); /* was under way */
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 3)->body_len, 10);
    assert_int_equal(p.goaways, 1);

    peer_frame(&p, NGHTTP2_PING, NGHTTP2_FLAG_ACK, 0, "anything", 8); /* not the one */
    peer_turn(&p);
    assert_int_equal(p.goaways, 1);
    acknowledge_ping(&p);
    acknowledge_ping(&p);
    peer_turn(&p);
    assert_int_equal(p.goaways, 2);
    assert_int_equal(p.goaway_last, 3);
    assert_int_equal(p.goaway_code, NGHTTP2_NO_ERROR);
    assert_int_equal(p.pulled, WEIR_OK);

    peer_get(&p, 5, "/size?10"); /* too late: ignored */
    peer_turn(&p);
    assert_int_equal(p.requests, 2);
    assert_int_equal(peer_seen(&p, 5)->status, 0);
    assert_int_equal(peer_answer(&p), WEIR_OK);
    peer_pull(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, 10);
    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

static void a_drain_without_acknowledgement_goes_on_by_its_clock(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/late?10");
    peer_turn(&p);
    h2_protocol.drain(p.session);
    peer_pull(&p);

    peer_wait(&p, LIMIT_GOAWAY_STEP_MS - 1);
    assert_int_equal(p.goaways, 1);
    peer_wait(&p, 1);
    assert_int_equal(p.goaways, 2);
    assert_int_equal(p.goaway_last, 1);
    assert_int_equal(peer_answer(&p), WEIR_OK);
    peer_pull(&p);
    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

static void a_drain_of_an_idle_connection_closes_it(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    h2_protocol.drain(p.session);
    peer_pull(&p);
    acknowledge_ping(&p);
    peer_turn(&p);
    assert_int_equal(p.goaways, 2);
    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

/* Whatever the second GOAWAY does not name, no handler has seen: the client may try it again. */
static void requests_behind_the_last_one_are_not_handled(void **state)
{
    (void)state;
    for (int by_clock = 0; by_clock <= 1; by_clock++) {
        struct peer p;
        peer_start(&p);
        peer_get(&p, 1, "/late?10");
        peer_turn(&p);
        h2_protocol.drain(p.session);
        peer_pull(&p);

        /* A pull may be far off: the output before is still on its way. */
        if (by_clock) {
            p.clock.now_ms += LIMIT_GOAWAY_STEP_MS;
            assert_int_equal(h2_protocol.timeout(p.session), WEIR_OK);
        } else {
            acknowledge_ping(&p);
        }
        peer_get(&p, 3, "/size?10");
        peer_send(&p);
        peer_pull(&p);
        assert_int_equal(p.goaways, 2);
        assert_int_equal(p.goaway_last, p.requests == 1 ? 1 : 3);
        assert_true(p.requests == 1 || peer_seen(&p, 3)->has_ended);
        assert_true(peer_deinit(&p));
    }
}

/* ---- clocks ---- */

static void a_preface_that_does_not_come_ends_without_a_word(void **state)
{
    (void)state;
    struct peer p;
    peer_init(&p);
    peer_say(&p, NGHTTP2_CLIENT_MAGIC, 20);
    peer_turn(&p);
    peer_wait(&p, LIMIT_PREFACE_MS - 1);
    assert_int_equal(p.fed, WEIR_OK);
    peer_wait(&p, 1);
    assert_int_equal(p.fed, WEIR_CLOSED);
    assert_int_equal(p.goaways, 0);
    assert_true(peer_deinit(&p));
}

static void settings_that_are_not_acknowledged_end_the_connection(void **state)
{
    (void)state;
    struct peer p;
    peer_init(&p);
    peer_hello(&p);
    peer_get(&p, 1, "/late?10");
    peer_turn(&p);
    for (int i = 0; i < 9; i++) { /* PING is no acknowledgement */
        peer_frame(&p, NGHTTP2_PING, 0, 0, "12345678", 8);
        peer_turn(&p);
        peer_wait(&p, LIMIT_SETTINGS_ACK_MS / 10);
        assert_int_equal(p.goaways, 0);
    }
    peer_wait(&p, LIMIT_SETTINGS_ACK_MS / 10);
    assert_int_equal(p.goaway_code, NGHTTP2_SETTINGS_TIMEOUT);
    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

static void a_field_section_has_to_end_in_time(void **state)
{
    (void)state;
    for (int cut = 0; cut < 3; cut++) {
        struct peer p;
        peer_start(&p);
        if (cut == 0) /* in the middle of HEADERS */
            peer_say(&p, "\0\0\x05\x01\x05\0\0\0\x01\x82\x86", 11);
        else /* in front of CONTINUATION, and in the middle of one */
            peer_say(&p, "\0\0\x01\x01\x01\0\0\0\x01\x82\0\0\x03\x09\x04\0\0\0\x01\x86",
                     cut == 1 ? 10 : 20);
        peer_turn(&p);
        peer_wait(&p, LIMIT_HEADER_MS - 1);
        assert_int_equal(p.goaways, 0);
        peer_wait(&p, 1);
        assert_int_equal(p.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
        assert_int_equal(p.pulled, WEIR_CLOSED);
        assert_true(peer_deinit(&p));
    }
}

/* Field sections that lead to no request are over as well when their last byte has come. */
static void field_sections_that_are_not_taken_leave_no_clock_behind(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct peer p;
        peer_start(&p);
        uint32_t id = 1;
        for (; id < 2 * LIMIT_STREAMS - 2; id += 2)
            peer_get(&p, id, "/late?10");
        if (kind == 0) { /* refused */
            peer_get(&p, id, "/late?10");
            peer_get(&p, id + 2, "/late?10");
            peer_get(&p, id + 4, "/late?10");
        } else if (kind == 1) { /* malformed, seen in the middle */
            const nghttp2_nv nva[] = {peer_nv(":bad", "GET"), peer_nv("x", "y")};
            peer_fields(&p, id, END, nva, 2, 16384);
        } else if (kind == 2) { /* malformed, seen at the end */
            const nghttp2_nv nva[] = {peer_nv(":method", "GET")};
            peer_fields(&p, id, END, nva, 1, 16384);
        } else { /* trailers of a stream that we have reset */
            peer_ask(&p, id, 0, "POST", "/size?10");
            peer_turn(&p);
            assert_true(peer_seen(&p, id)->is_reset);
            const nghttp2_nv nva[] = {peer_nv("x", "y")};
            peer_fields(&p, id, END, nva, 1, 16384);
        }
        peer_turn(&p);
        peer_wait(&p, LIMIT_HEADER_MS + 1);
        assert_int_equal(p.fed, WEIR_OK);
        assert_int_equal(p.goaways, 0);
        assert_true(peer_deinit(&p));
    }
}

static void an_idle_connection_is_drained(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    p.clock.now_ms += LIMIT_IDLE_MS / 2;
    peer_get(&p, 1, "/size?10");
    peer_turn(&p);
    assert_true(peer_seen(&p, 1)->has_ended);

    /* From the answer on, whatever frames without a stream come. */
    assert_int_equal(h2_protocol.deadline(p.session), p.clock.now_ms + LIMIT_IDLE_MS);
    peer_wait(&p, LIMIT_IDLE_MS / 2);
    peer_frame(&p, NGHTTP2_PING, 0, 0, "12345678", 8);
    peer_turn(&p);
    peer_wait(&p, LIMIT_IDLE_MS / 2 - 1);
    assert_int_equal(p.goaways, 0);
    peer_wait(&p, 1);
    assert_int_equal(p.goaways, 1);
    assert_int_equal(p.goaway_code, NGHTTP2_NO_ERROR);
    peer_wait(&p, LIMIT_GOAWAY_STEP_MS);
    assert_int_equal(p.goaways, 2);
    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

static void streams_and_output_on_its_way_are_not_idle(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/late?10");
    peer_turn(&p);
    assert_int_equal(h2_protocol.deadline(p.session), PROTOCOL_NO_DEADLINE);
    p.clock.now_ms += 5000;
    assert_int_equal(peer_answer(&p), WEIR_OK);
    p.is_slow = true;
    peer_pull(&p);
    uint64_t progress_ms = p.clock.now_ms + LIMIT_PROGRESS_MS; /* the response's own clock */
    assert_int_equal(h2_protocol.deadline(p.session), progress_ms);

    peer_take(&p, p.out.len);
    assert_int_equal(h2_protocol.deadline(p.session), progress_ms);
    peer_pull(&p); /* the end of a body from a map follows when the body has left */
    peer_take(&p, p.out.len);
    assert_int_equal(h2_protocol.deadline(p.session), p.clock.now_ms + LIMIT_IDLE_MS);
    assert_true(peer_deinit(&p));
}

/* ---- errors of the peer ---- */

struct fault {
    const char *name;
    uint32_t code;
    const char *bytes; /* behind the preface and a request on stream 5 that is over */
    size_t len;
};

#define FAULT(name, code, bytes)                                                                   \
    {                                                                                              \
        name, code, bytes, sizeof(bytes) - 1                                                       \
    }
#define GET_1 "\x82\x86\x84\x01\x01\x61" /* GET http / a */

static const struct fault faults[] = {
    FAULT("HEADERS on an identifier passed over", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x06\x01\x05\0\0\0\x03" GET_1),
    FAULT("HEADERS on a closed stream", NGHTTP2_STREAM_CLOSED, "\0\0\x06\x01\x05\0\0\0\x05" GET_1),
    FAULT("HEADERS on an identifier that was only prioritised", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x07\x10\0\0\0\0\0\0\0\0\x07u=1"
          "\0\0\x06\x01\x05\0\0\0\x09" GET_1 "\0\0\x06\x01\x05\0\0\0\x07" GET_1),
    FAULT("HEADERS on stream 0", NGHTTP2_PROTOCOL_ERROR, "\0\0\x06\x01\x05\0\0\0\0" GET_1),
    FAULT("HEADERS on an even stream", NGHTTP2_PROTOCOL_ERROR, "\0\0\x06\x01\x05\0\0\0\x08" GET_1),
    FAULT("DATA on stream 0", NGHTTP2_PROTOCOL_ERROR, "\0\0\0\0\0\0\0\0\0"),
    FAULT("DATA on an idle stream", NGHTTP2_PROTOCOL_ERROR, "\0\0\0\0\0\0\0\0\x09"),
    FAULT("DATA behind END_STREAM", NGHTTP2_STREAM_CLOSED,
          "\0\0\x0e\x01\x05\0\0\0\x07\x82\x86\x04\x07/late?1\x01\x01\x61"
          "\0\0\0\0\0\0\0\0\x07"),
    FAULT("padding beyond the frame", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x07\x01\x0d\0\0\0\x07\x10" GET_1),
    FAULT("RST_STREAM on an idle stream", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x04\x03\0\0\0\0\x09\0\0\0\0"),
    FAULT("RST_STREAM of three bytes", NGHTTP2_FRAME_SIZE_ERROR, "\0\0\x03\x03\0\0\0\0\x05\0\0\0"),
    FAULT("PRIORITY of four bytes", NGHTTP2_FRAME_SIZE_ERROR, "\0\0\x04\x02\0\0\0\0\x05\0\0\0\0"),
    FAULT("PRIORITY on stream 0", NGHTTP2_PROTOCOL_ERROR, "\0\0\x05\x02\0\0\0\0\0\0\0\0\0\0"),
    FAULT("PRIORITY_UPDATE of stream 0", NGHTTP2_PROTOCOL_ERROR, "\0\0\x04\x10\0\0\0\0\0\0\0\0\0"),
    FAULT("PRIORITY_UPDATE on a stream", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x04\x10\0\0\0\0\x05\0\0\0\x05"),
    FAULT("SETTINGS on a stream", NGHTTP2_PROTOCOL_ERROR, "\0\0\0\x04\0\0\0\0\x05"),
    FAULT("SETTINGS of five bytes", NGHTTP2_FRAME_SIZE_ERROR, "\0\0\x05\x04\0\0\0\0\0\0\0\0\0\0"),
    FAULT("SETTINGS_ENABLE_PUSH of 2", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x06\x04\0\0\0\0\0\0\x02\0\0\0\x02"),
    FAULT("SETTINGS_INITIAL_WINDOW_SIZE beyond 2^31-1", NGHTTP2_FLOW_CONTROL_ERROR,
          "\0\0\x06\x04\0\0\0\0\0\0\x04\x80\0\0\0"),
    FAULT("SETTINGS_INITIAL_WINDOW_SIZE that overflows a stream", NGHTTP2_FLOW_CONTROL_ERROR,
          "\0\0\x0e\x01\x05\0\0\0\x07\x82\x86\x04\x07/late?1\x01\x01\x61"
          "\0\0\x04\x08\0\0\0\0\x07\x7f\xff\0\0\0\0\x06\x04\0\0\0\0\0\0\x04\0\x01\0\0"),
    FAULT("SETTINGS_MAX_FRAME_SIZE of 16383", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x3f\xff"),
    FAULT("PUSH_PROMISE", NGHTTP2_PROTOCOL_ERROR, "\0\0\x0a\x05\x04\0\0\0\x05\0\0\0\x02" GET_1),
    FAULT("PING on a stream", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x08\x06\0\0\0\0\x05"
          "12345678"),
    FAULT("GOAWAY on a stream", NGHTTP2_PROTOCOL_ERROR, "\0\0\x08\x07\0\0\0\0\x05\0\0\0\0\0\0\0\0"),
    FAULT("WINDOW_UPDATE of 0", NGHTTP2_PROTOCOL_ERROR, "\0\0\x04\x08\0\0\0\0\0\0\0\0\0"),
    FAULT("WINDOW_UPDATE beyond 2^31-1", NGHTTP2_FLOW_CONTROL_ERROR,
          "\0\0\x04\x08\0\0\0\0\0\x7f\xff\xff\xff"),
    FAULT("CONTINUATION without HEADERS", NGHTTP2_PROTOCOL_ERROR, "\0\0\x01\x09\x04\0\0\0\x07\x82"),
    FAULT("CONTINUATION of another stream", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x01\x01\x01\0\0\0\x07\x82\0\0\x01\x09\x04\0\0\0\x09\x86"),
    FAULT("a frame amid a field section", NGHTTP2_PROTOCOL_ERROR,
          "\0\0\x01\x01\x01\0\0\0\x07\x82\0\0\0\x04\x01\0\0\0\0"),
    FAULT("a frame of 16385 bytes", NGHTTP2_FRAME_SIZE_ERROR, "\0\x40\x01\0\0\0\0\0\x07"),
    FAULT("HPACK: an index beyond the table", NGHTTP2_COMPRESSION_ERROR,
          "\0\0\x01\x01\x05\0\0\0\x07\xff"),
    FAULT("HPACK: a size update beyond the setting", NGHTTP2_COMPRESSION_ERROR,
          "\0\0\x03\x01\x05\0\0\0\x07\x3f\xe2\x1f"),
};

static void faults_end_the_connection_with_their_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const struct fault *f = &faults[i];
        for (size_t step = 1; step <= 64; step += 21) {
            struct peer p;
            peer_start(&p);
            peer_get(&p, 5, "/none");
            peer_turn(&p);
            assert_true(peer_seen(&p, 5)->has_ended);

            peer_say(&p, f->bytes, f->len);
            peer_send_by(&p, step);
            peer_pull(&p);
            if (p.goaways != 1 || p.goaway_code != f->code)
                fail_msg("%s, by %zu: goaways=%u code=%u", f->name, step, p.goaways, p.goaway_code);
            assert_int_equal(p.pulled, WEIR_CLOSED);
            assert_int_equal(p.stats.protocol_errors, 1);
            assert_true(peer_deinit(&p));
        }
    }
}

/* RFC 9113 5.4.2: what was sent before a reset was seen is no error. */
static void trailers_for_streams_that_we_have_reset_are_tolerated(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    for (uint32_t id = 1; id < 2 * LIMIT_STREAMS; id += 2)
        peer_ask(&p, id, 0, "POST", "/size?10");
    peer_turn(&p);
    const nghttp2_nv nva[] = {peer_nv("x", "y")};
    for (uint32_t id = 1; id < 2 * LIMIT_STREAMS; id += 2) {
        assert_true(peer_seen(&p, id)->is_reset);
        peer_frame(&p, NGHTTP2_DATA, 0, id, "hello", 5);
        peer_fields(&p, id, END, nva, 1, 16384);
    }
    peer_get(&p, 2 * LIMIT_STREAMS + 1, "/size?10");
    peer_turn(&p);

    assert_int_equal(p.goaways, 0);
    assert_int_equal(peer_seen(&p, 2 * LIMIT_STREAMS + 1)->body_len, 10);
    assert_true(peer_deinit(&p));
}

/* They cost work, though, and lead nowhere. */
static void a_flood_of_such_trailers_is_not_tolerated(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct peer p;
        peer_start(&p);
        uint32_t id = 1;
        peer_ask(&p, id, 0, "POST", kind == 0 ? "/size?10" : "/late?10");
        peer_turn(&p);
        const nghttp2_nv nva[] = {peer_nv(":x", "y")};
        /* Behind END_STREAM there could be nothing: one that waits to be reset goes without. */
        unsigned flags = kind == 1 ? 0 : END;
        if (kind == 1) { /* the reset waits for room */
            p.is_slow = true;
            p.budget = 1;
            peer_get(&p, 3, "/size?10");
            peer_turn(&p);
        } else if (kind == 2) { /* new streams behind the last one */
            h2_protocol.drain(p.session);
            peer_pull(&p);
            peer_wait(&p, LIMIT_GOAWAY_STEP_MS);
            assert_int_equal(p.goaways, 2);
        }
        for (unsigned i = 0; i < LIMIT_CONTROL_FRAMES - 10; i++, id += kind == 2 ? 2 : 0)
            peer_fields(&p, kind == 2 ? id + 2 : id, flags, nva, 1, 16384);
        peer_send(&p);
        assert_int_equal(p.fed, WEIR_OK);
        for (unsigned i = 0; i < 20; i++, id += kind == 2 ? 2 : 0)
            peer_fields(&p, kind == 2 ? id + 2 : id, flags, nva, 1, 16384);
        peer_send(&p);

        assert_int_equal(p.fed, WEIR_LIMIT);
        p.is_slow = false;
        peer_pull(&p);
        assert_int_equal(p.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
        assert_true(peer_deinit(&p));
    }
}

static void what_is_not_http2_is_told_so(void **state)
{
    (void)state;
    static const char *const words[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                        "PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n",
                                        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\0\0\0\0\0\0"};
    for (size_t i = 0; i < 3; i++) {
        struct peer p;
        peer_init(&p);
        peer_say(&p, words[i], i == 2 ? 33 : strlen(words[i]));
        peer_turn(&p);
        assert_int_equal(p.goaway_code, NGHTTP2_PROTOCOL_ERROR);
        assert_int_equal(p.pulled, WEIR_CLOSED);
        assert_true(peer_deinit(&p));
    }
}

/* The client vanishes at any byte. */
static void a_session_can_be_closed_at_any_byte(void **state)
{
    (void)state;
    size_t len = 1;
    for (size_t at = 0; at < len; at++) {
        struct peer p;
        peer_init(&p);
        peer_hello(&p);
        peer_get(&p, 1, "/size?20000");
        peer_ask(&p, 3, 0, "POST", "/late?10");
        peer_frame(&p, NGHTTP2_DATA, END, 3, "hello", 5);
        peer_get(&p, 5, "/slow?10");
        peer_number(&p, NGHTTP2_RST_STREAM, 3, NGHTTP2_CANCEL);
        len = p.in_len;
        p.in_len = at;
        p.is_slow = at % 2 == 0;
        p.budget = at % 3 == 0 ? 10 : LIMIT_STAGED_OUTPUT;
        peer_turn(&p);
        assert_true(peer_deinit(&p));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drain_takes_streams_until_the_ping_is_acknowledged),
        cmocka_unit_test(a_drain_without_acknowledgement_goes_on_by_its_clock),
        cmocka_unit_test(a_drain_of_an_idle_connection_closes_it),
        cmocka_unit_test(requests_behind_the_last_one_are_not_handled),
        cmocka_unit_test(a_preface_that_does_not_come_ends_without_a_word),
        cmocka_unit_test(settings_that_are_not_acknowledged_end_the_connection),
        cmocka_unit_test(a_field_section_has_to_end_in_time),
        cmocka_unit_test(field_sections_that_are_not_taken_leave_no_clock_behind),
        cmocka_unit_test(an_idle_connection_is_drained),
        cmocka_unit_test(streams_and_output_on_its_way_are_not_idle),
        cmocka_unit_test(faults_end_the_connection_with_their_code),
        cmocka_unit_test(trailers_for_streams_that_we_have_reset_are_tolerated),
        cmocka_unit_test(a_flood_of_such_trailers_is_not_tolerated),
        cmocka_unit_test(what_is_not_http2_is_told_so),
        cmocka_unit_test(a_session_can_be_closed_at_any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
