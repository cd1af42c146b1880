/*
 * What a peer may not do, and how far it gets: floods, resets, field sections without end.  Every
 * limit is tried just below and just above.
 */
#include "cm.h"

#include "h2_peer.h"

#define END NGHTTP2_FLAG_END_STREAM
#define END_HEADERS NGHTTP2_FLAG_END_HEADERS

/* The connection has ended, and the client knows why. */
static void assert_ended(struct peer *p, uint32_t code)
{
    peer_turn(p);
    assert_int_equal(p->goaways, 1);
    assert_int_equal(p->goaway_code, code);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_true(peer_deinit(p));
}

static void assert_alive(struct peer *p, uint32_t id)
{
    peer_get(p, id, "/size?10");
    peer_turn(p);
    assert_int_equal(p->fed, WEIR_OK);
    assert_int_equal(p->goaways, 0);
    assert_int_equal(peer_seen(p, id)->body_len, 10);
}

/* ---- floods of frames ---- */

struct flood {
    const char *name;
    uint8_t type;
    uint8_t flags;
    uint16_t len;
    uint32_t id;
    unsigned allowed; /* so many, and not one more */
};

static const struct flood floods[] = {
    {"PING", NGHTTP2_PING, 0, 8, 0, LIMIT_CONTROL_FRAMES},
    {"PING ACK", NGHTTP2_PING, NGHTTP2_FLAG_ACK, 8, 0, LIMIT_CONTROL_FRAMES},
    {"SETTINGS", NGHTTP2_SETTINGS, 0, 0, 0, LIMIT_CONTROL_FRAMES},
    {"PRIORITY", NGHTTP2_PRIORITY, 0, 5, 7, LIMIT_CONTROL_FRAMES},
    {"PRIORITY_UPDATE", NGHTTP2_PRIORITY_UPDATE, 0, 7, 0, LIMIT_CONTROL_FRAMES},
    {"PRIORITY_UPDATE, long", NGHTTP2_PRIORITY_UPDATE, 0, 70, 0, LIMIT_CONTROL_FRAMES},
    {"unknown", 0xbb, 0, 0, 1, LIMIT_CONTROL_FRAMES},
    {"unknown, with payload", 0xbb, 0xff, 30, 3, LIMIT_CONTROL_FRAMES},
    {"GOAWAY", NGHTTP2_GOAWAY, 0, 8, 0, LIMIT_CONTROL_FRAMES},
    {"WINDOW_UPDATE", NGHTTP2_WINDOW_UPDATE, 0, 4, 0,
     LIMIT_CONTROL_FRAMES + LIMIT_WINDOW_UPDATES + 2 * LIMIT_WINDOW_UPDATES_PER_STREAM},
    {"empty DATA", NGHTTP2_DATA, 0, 0, 3, LIMIT_EMPTY_FRAMES},
    {"empty DATA for a stream that is gone", NGHTTP2_DATA, 0, 0, 1, LIMIT_EMPTY_FRAMES},
    {"padding", NGHTTP2_DATA, NGHTTP2_FLAG_PADDED, 1, 3, LIMIT_CONTROL_FRAMES},
    {"RST_STREAM for a stream that is gone", NGHTTP2_RST_STREAM, 0, 4, 1, LIMIT_PEER_RESETS},
};

/* Stream 1 is over, stream 3 has a body on its way; `flood` comes n times. */
static void play_flood(struct peer *p, const struct flood *flood, unsigned n, size_t step)
{
    static const uint8_t zeros[80];
    static const uint8_t update[80] = {0, 0, 0, 3, 'u', '=', '1'};
    const uint8_t *payload = flood->type == NGHTTP2_PRIORITY_UPDATE ? update : zeros;
    static const uint8_t one[4] = {0, 0, 0, 1};
    if (flood->type == NGHTTP2_WINDOW_UPDATE)
        payload = one;
    peer_init(p);
    peer_hello(p);
    peer_settings_ack(p);
    peer_get(p, 1, "/none");
    peer_ask(p, 3, 0, "POST", "/late?10");
    peer_turn(p);
    assert_true(peer_seen(p, 1)->has_ended);
    for (unsigned i = 0; i < n; i++) {
        peer_frame(p, flood->type, flood->flags, flood->id, payload, flood->len);
        if (i % 50 == 0) { /* so that acknowledgements do not pile up */
            peer_send_by(p, step);
            peer_pull(p);
        }
    }
    peer_send_by(p, step);
    peer_pull(p);
}

static void floods_end_the_connection_at_their_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
        const struct flood *f = &floods[i];
        /* Before the flood one SETTINGS and its acknowledgement have been counted. */
        unsigned before = f->allowed >= LIMIT_CONTROL_FRAMES ? 2 : 0;
        for (size_t step = 9; step <= 10000; step += 9991) {
            struct peer p;
            play_flood(&p, f, f->allowed - before, step);
            if (p.goaways != 0)
                fail_msg("%s: ended by %u frames", f->name, f->allowed - before);
            assert_int_equal(p.fed, WEIR_OK);
            assert_true(peer_deinit(&p));

            play_flood(&p, f, f->allowed - before + 1, step);
            if (p.goaways != 1 || p.goaway_code != NGHTTP2_ENHANCE_YOUR_CALM)
                fail_msg("%s: goaways=%u code=%u", f->name, p.goaways, p.goaway_code);
            assert_int_equal(p.fed, WEIR_LIMIT);
            assert_int_equal(p.stats.limit_breaches, 1);
            assert_int_equal(p.pulled, WEIR_CLOSED);
            assert_true(peer_deinit(&p));
        }
    }
}

static void budgets_come_back_with_time(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    for (unsigned i = 0; i < 20 * LIMIT_CONTROL_FRAMES; i++) {
        p.clock.now_ms += 1000 / LIMIT_CONTROL_FRAMES_PER_S;
        peer_frame(&p, NGHTTP2_PING, 0, 0, "12345678", 8);
        if (i % 50 == 0)
            peer_turn(&p);
    }
    assert_alive(&p, 1);
    assert_true(peer_deinit(&p));
}

/* Acknowledgements that nobody reads. */
static void floods_end_although_nothing_is_read(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    p.is_slow = true;
    p.budget = 1;
    for (unsigned i = 0; i < 2000 && p.fed == WEIR_OK; i++) {
        peer_frame(&p, NGHTTP2_PING, 0, 0, "12345678", 8);
        peer_turn(&p);
    }
    assert_int_equal(p.fed, WEIR_LIMIT);
    p.is_slow = false;
    p.budget = LIMIT_STAGED_OUTPUT;
    assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* ---- field sections ---- */

/* A request of n fields in all, each of them of `len` bytes beside the overhead. */
static void ask_with_fields(struct peer *p, uint32_t id, size_t n, size_t len)
{
    nghttp2_nv nva[300];
    static char name[] = "x";
    static char value[40000];
    memset(value, 'v', sizeof(value));
    nva[0] = peer_nv(":method", "GET");
    nva[1] = peer_nv(":scheme", "http");
    nva[2] = peer_nv(":authority", "localhost");
    nva[3] = peer_nv(":path", "/size?10");
    for (size_t i = 4; i < n; i++)
        nva[i] =
            (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, 1, len - 1, NGHTTP2_NV_FLAG_NO_INDEX};
    peer_fields(p, id, END, nva, n, 16384);
}

/* RFC 9113 6.5.2: bytes of the four pseudo-header fields above. */
#define PSEUDO_BYTES (7 + 3 + 7 + 4 + 10 + 9 + 5 + 8 + 4 * LIMIT_FIELD_OVERHEAD)

static void fields_are_limited_by_count(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    ask_with_fields(&p, 1, LIMIT_FIELDS, 2);
    ask_with_fields(&p, 3, LIMIT_FIELDS + 1, 2);
    ask_with_fields(&p, 5, LIMIT_FIELDS_HARD, 2);
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->status, 200);
    assert_int_equal(peer_seen(&p, 3)->status, 431);
    assert_int_equal(peer_seen(&p, 5)->status, 431);
    assert_int_equal(p.requests, 1); /* a handler has not seen the others */
    assert_alive(&p, 7);

    ask_with_fields(&p, 9, LIMIT_FIELDS_HARD + 1, 2);
    assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void fields_are_limited_by_size(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    ask_with_fields(&p, 1, 5, LIMIT_FIELD_BYTES - PSEUDO_BYTES - LIMIT_FIELD_OVERHEAD);
    ask_with_fields(&p, 3, 5, LIMIT_FIELD_BYTES - PSEUDO_BYTES - LIMIT_FIELD_OVERHEAD + 1);
    ask_with_fields(&p, 5, 6, (LIMIT_FIELD_BYTES_HARD - PSEUDO_BYTES) / 2 - LIMIT_FIELD_OVERHEAD);
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->status, 200);
    assert_int_equal(peer_seen(&p, 3)->status, 431);
    assert_int_equal(peer_seen(&p, 5)->status, 431);
    assert_alive(&p, 7);

    ask_with_fields(&p, 9, 6, (LIMIT_FIELD_BYTES_HARD - PSEUDO_BYTES) / 2 - 31);
    assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
}

static void a_path_is_limited_in_length(void **state)
{
    (void)state;
    static char path[LIMIT_PATH_LEN + 2];
    struct peer p;
    peer_start(&p);
    memset(path, 'x', sizeof(path) - 1);
    memcpy(path, "/size?10", 8);
    peer_get(&p, 3, path); /* one too long */
    path[LIMIT_PATH_LEN] = '\0';
    peer_get(&p, 5, path);
    peer_turn(&p);

    assert_int_equal(peer_seen(&p, 3)->status, 414);
    assert_int_equal(peer_seen(&p, 5)->status, 200);
    assert_true(peer_deinit(&p));
}

/* HEADERS for `id` in n CONTINUATION frames; its field section is the bytes of one request. */
static void ask_in_pieces(struct peer *p, uint32_t id, unsigned n)
{
    static const uint8_t block[] = {0x82, 0x86, 0x84, 0x01, 0x01, 'a'}; /* GET http / a */
    peer_frame(p, NGHTTP2_HEADERS, END | (n == 0 ? END_HEADERS : 0), id, block, 2);
    for (unsigned i = 1; i < n; i++)
        peer_frame(p, NGHTTP2_CONTINUATION, 0, id, "\x0f\x2d\x01x", 4); /* a literal, not indexed */
    if (n > 0)
        peer_frame(p, NGHTTP2_CONTINUATION, END_HEADERS, id, block, 0);
}

static void continuations_are_limited(void **state)
{
    (void)state;
    for (size_t step = 1; step <= 100; step += 11) {
        struct peer p;
        peer_start(&p);
        ask_in_pieces(&p, 1, LIMIT_CONTINUATIONS);
        peer_send_by(&p, step);
        peer_pull(&p);
        assert_int_equal(p.fed, WEIR_OK);
        assert_int_equal(p.goaways, 0);

        ask_in_pieces(&p, 3, LIMIT_CONTINUATIONS + 1);
        peer_send_by(&p, step);
        assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

static void an_empty_continuation_has_to_be_the_last(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_frame(&p, NGHTTP2_HEADERS, END, 1, "\x82\x86\x84\x01\x01\x61", 6);
    peer_frame(&p, NGHTTP2_CONTINUATION, 0, 1, NULL, 0);
    assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* The field section of a refused stream is decoded, and thrown away, and limited all the same. */
static void continuations_of_refused_streams_are_limited(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    for (uint32_t i = 0; i < LIMIT_STREAMS; i++)
        peer_get(&p, 2 * i + 1, "/late?10");
    peer_turn(&p);
    peer_frame(&p, NGHTTP2_HEADERS, END, 2 * LIMIT_STREAMS + 1, "\x82\x86\x84\x01\x01\x61", 6);
    for (unsigned i = 0; i < LIMIT_CONTINUATIONS; i++)
        peer_frame(&p, NGHTTP2_CONTINUATION, 0, 2 * LIMIT_STREAMS + 1, "\x82", 1);
    peer_turn(&p);
    assert_int_equal(p.goaways, 0);
    peer_frame(&p, NGHTTP2_CONTINUATION, 0, 2 * LIMIT_STREAMS + 1, "\x82", 1);
    assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* ---- resets ---- */

static void rapid_resets_end_the_connection(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    for (uint32_t i = 0; i < LIMIT_PEER_RESETS; i++) {
        peer_get(&p, 2 * i + 1, "/size?100000");
        peer_number(&p, NGHTTP2_RST_STREAM, 2 * i + 1, NGHTTP2_CANCEL);
        if (i % 50 == 0)
            peer_turn(&p);
    }
    peer_turn(&p);
    assert_int_equal(p.goaways, 0);

    peer_get(&p, 2 * LIMIT_PEER_RESETS + 1, "/size?10");
    peer_number(&p, NGHTTP2_RST_STREAM, 2 * LIMIT_PEER_RESETS + 1, NGHTTP2_CANCEL);
    assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* A proxy whose clients go away now and then; all others are answered in full. */
static void resets_among_answers_are_no_attack(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    unsigned resets = 0;
    for (uint32_t round = 0; round < 15; round++) {
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t id = 2 * (round * 100 + i) + 1;
            peer_get(&p, id, i % 2 == 0 ? "/none" : "/late?10");
            if (i % 2 == 0)
                continue;
            peer_number(&p, NGHTTP2_RST_STREAM, id, NGHTTP2_CANCEL);
            resets++;
        }
        peer_turn(&p);
        while (p.late_count > 0)
            assert_int_equal(peer_answer(&p), WEIR_CLOSED);
    }
    /* Twice over what nghttp2 would allow by itself: the same client goes on. */
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t id = 2 * (1500 + i) + 1;
        peer_get(&p, id, "/none");
        peer_number(&p, NGHTTP2_RST_STREAM, 1, NGHTTP2_CANCEL);
        resets++;
        if (i % 50 == 49)
            peer_turn(&p);
    }
    assert_true(resets > 1000 + 33 * 5);
    assert_alive(&p, 2 * 2000 + 1);
    assert_true(peer_deinit(&p));
}

/* Frames that make a server reset a stream it has taken on (MadeYouReset). */
enum trigger {
    WINDOW_OVERFLOW,
    LENGTH_MISMATCH,
    BAD_TRAILERS,
    TRAILERS_WITHOUT_END,
    UPPER_CASE,
    CONNECTION_FIELD,
    NO_PATH,
    TOO_MUCH_DATA,
    TRIGGERS
};

static void pull_trigger(struct peer *p, enum trigger trigger, uint32_t id)
{
    static const uint8_t bytes[16384];
    nghttp2_nv nva[5] = {peer_nv(":method", "POST"), peer_nv(":scheme", "http"),
                         peer_nv(":authority", "a"), peer_nv(":path", "/late?10"),
                         peer_nv("content-length", "5")};
    switch (trigger) {
    case WINDOW_OVERFLOW:
        peer_get(p, id, "/late?10");
        peer_number(p, NGHTTP2_WINDOW_UPDATE, id, 0x7fffffff);
        break;
    case LENGTH_MISMATCH:
        peer_fields(p, id, 0, nva, 5, 16384);
        peer_frame(p, NGHTTP2_DATA, END, id, "toolong", 7);
        break;
    case BAD_TRAILERS:
        peer_ask(p, id, 0, "POST", "/late?10");
        nva[0] = peer_nv(":path", "/");
        peer_fields(p, id, END, nva, 1, 16384);
        break;
    case TRAILERS_WITHOUT_END:
        peer_ask(p, id, 0, "POST", "/late?10");
        nva[0] = peer_nv("x", "y");
        peer_fields(p, id, 0, nva, 1, 16384);
        break;
    case UPPER_CASE:
        nva[4] = peer_nv("X", "y");
        peer_fields(p, id, END, nva, 5, 16384);
        break;
    case CONNECTION_FIELD:
        nva[4] = peer_nv("connection", "close");
        peer_fields(p, id, END, nva, 5, 16384);
        break;
    case NO_PATH: peer_fields(p, id, END, nva, 3, 16384); break;
    case TOO_MUCH_DATA:
        peer_ask(p, id, 0, "POST", "/late?10");
        for (int i = 0; i < 5; i++)
            peer_frame(p, NGHTTP2_DATA, 0, id, bytes, sizeof(bytes));
        break;
    case TRIGGERS: break;
    }
}

static void resets_that_a_peer_provokes_end_the_connection(void **state)
{
    (void)state;
    for (enum trigger trigger = 0; trigger < TRIGGERS; trigger++) {
        struct peer p;
        peer_start(&p);
        uint32_t id = 1;
        for (; p.pulled == WEIR_OK && id < 2 * 40; id += 2) {
            pull_trigger(&p, trigger, id);
            peer_turn(&p);
        }
        assert_int_equal(id, 2 * (LIMIT_OWN_RESETS + 1) + 1);
        assert_true(peer_seen(&p, 1)->is_reset);
        assert_int_equal(p.stats.limit_breaches, 1);
        assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

static void a_window_that_settings_overflow_resets_no_end_of_streams(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    for (uint32_t id = 1; id < 2 * LIMIT_STREAMS; id += 2) {
        peer_get(&p, id, "/late?10");
        peer_number(&p, NGHTTP2_WINDOW_UPDATE, id, 0x7fffffff - 65535);
    }
    peer_setting(&p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65536);
    peer_turn(&p);
    assert_int_equal(p.goaways, 1);
    assert_int_equal(p.pulled, WEIR_CLOSED);
    assert_true(peer_deinit(&p));
}

/* The limit is reached in pull(), whose output is held up by something large; then more comes. */
static void a_breach_behind_blocked_output_is_no_reason_to_fall_over(void **state)
{
    (void)state;
    for (size_t budget = 1; budget < 70000; budget += 997) {
        struct peer p;
        peer_start(&p);
        peer_get(&p, 1, "/size?100000");
        for (uint32_t id = 3; id <= 2 * LIMIT_OWN_RESETS + 3; id += 2)
            pull_trigger(&p, NO_PATH, id);
        p.is_slow = true;
        p.budget = budget;
        peer_turn(&p);

        for (uint32_t id = 101; id < 121; id += 2) {
            peer_get(&p, id, "/size?10");
            peer_turn(&p);
            peer_take(&p, p.out.len);
        }
        p.is_slow = false;
        p.budget = LIMIT_STAGED_OUTPUT;
        assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

static void refusals_without_end_end_the_connection(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    uint32_t id = 1;
    for (; id < 2 * LIMIT_STREAMS; id += 2)
        peer_get(&p, id, "/late?10");
    for (unsigned i = 0; i < LIMIT_REFUSED; i++, id += 2) {
        peer_get(&p, id, "/late?10");
        if (i % 7 == 0)
            peer_turn(&p);
    }
    peer_turn(&p);
    assert_int_equal(p.goaways, 0);
    assert_int_equal(p.requests, LIMIT_STREAMS);
    peer_get(&p, id, "/late?10");
    assert_ended(&p, NGHTTP2_ENHANCE_YOUR_CALM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floods_end_the_connection_at_their_limit),
        cmocka_unit_test(budgets_come_back_with_time),
        cmocka_unit_test(floods_end_although_nothing_is_read),
        cmocka_unit_test(fields_are_limited_by_count),
        cmocka_unit_test(fields_are_limited_by_size),
        cmocka_unit_test(a_path_is_limited_in_length),
        cmocka_unit_test(continuations_are_limited),
        cmocka_unit_test(an_empty_continuation_has_to_be_the_last),
        cmocka_unit_test(continuations_of_refused_streams_are_limited),
        cmocka_unit_test(rapid_resets_end_the_connection),
        cmocka_unit_test(resets_among_answers_are_no_attack),
        cmocka_unit_test(resets_that_a_peer_provokes_end_the_connection),
        cmocka_unit_test(a_window_that_settings_overflow_resets_no_end_of_streams),
        cmocka_unit_test(a_breach_behind_blocked_output_is_no_reason_to_fall_over),
        cmocka_unit_test(refusals_without_end_end_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
