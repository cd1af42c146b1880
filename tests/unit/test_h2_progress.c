/* Clients that keep windows closed, or open them by drops, and those that are merely slow. */
#include "cm.h"

#include "h2_peer.h"

#define WINDOW_DEFAULT 65535

static void say_window(struct peer *p, uint32_t id, uint32_t n)
{
    const uint8_t more[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    peer_frame(p, NGHTTP2_WINDOW_UPDATE, 0, id, more, sizeof(more));
}

/* The windows of new streams. */
static void say_initial_window(struct peer *p, uint32_t n)
{
    const uint8_t entry[6] = {0,
                              NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                              (uint8_t)(n >> 24),
                              (uint8_t)(n >> 16),
                              (uint8_t)(n >> 8),
                              (uint8_t)n};
    peer_frame(p, NGHTTP2_SETTINGS, 0, 0, entry, sizeof(entry));
}

static void start_with_window(struct peer *p, uint32_t n)
{
    peer_start(p);
    say_initial_window(p, n);
    peer_turn(p);
}

static void assert_calmed(struct peer *p)
{
    peer_pull(p);
    assert_int_equal(p->goaways, 1);
    assert_int_equal(p->goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_int_equal(p->pulled, WEIR_CLOSED);
    assert_true(peer_deinit(p));
}

/* Time passes, in steps, and something is said at each. */
static void pass(struct peer *p, uint64_t ms, uint64_t step_ms, void (*say)(struct peer *p))
{
    for (uint64_t at = 0; at < ms && p->fed == WEIR_OK; at += step_ms) {
        if (say != NULL)
            say(p);
        peer_turn(p);
        peer_wait(p, step_ms);
    }
}

static void say_ping(struct peer *p)
{
    peer_frame(p, NGHTTP2_PING, 0, 0, "12345678", 8);
}

static void say_drop(struct peer *p)
{
    say_window(p, 1, 1);
}

static void a_window_that_stays_closed_ends_the_connection(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/size?1000");
    peer_turn(&p);
    peer_wait(&p, LIMIT_PROGRESS_MS - 1);
    assert_int_equal(p.goaways, 0);
    peer_wait(&p, 1);
    assert_int_equal(p.stats.limit_breaches, 1);
    assert_calmed(&p);
}

static void frames_that_open_no_window_extend_nothing(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/size?1000");
    pass(&p, LIMIT_PROGRESS_MS - 5000, 5000, say_ping);
    assert_int_equal(p.goaways, 0);
    pass(&p, 5000, 5000, say_ping);
    assert_calmed(&p);
}

static void a_window_that_opens_by_drops_does_not_count(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/size?1000");
    pass(&p, LIMIT_PROGRESS_MS, 5000, say_drop);
    assert_int_equal(peer_seen(&p, 1)->body_len, LIMIT_PROGRESS_MS / 5000);
    assert_calmed(&p);
}

static void the_window_of_the_connection_counts_as_well(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 1000000);
    peer_get(&p, 1, "/size?200000");
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, WINDOW_DEFAULT);
    peer_wait(&p, LIMIT_PROGRESS_MS); /* of which the first part was taken */
    assert_int_equal(p.goaways, 0);
    peer_wait(&p, LIMIT_PROGRESS_MS);
    assert_calmed(&p);
}

static void the_last_byte_counts_too(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 999);
    peer_get(&p, 1, "/pool?1000");
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, 999);
    peer_wait(&p, LIMIT_PROGRESS_MS);
    assert_calmed(&p);
}

static void a_window_that_opens_in_time_is_fine(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/size?60000");
    peer_turn(&p);
    peer_wait(&p, LIMIT_PROGRESS_MS - 1);
    say_window(&p, 1, 60000);
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, 60000);
    assert_true(peer_seen(&p, 1)->has_ended);
    peer_wait(&p, LIMIT_PROGRESS_MS);
    assert_int_equal(p.goaways, 0);
    assert_true(peer_deinit(&p));
}

/* Only the stream that is held back is reset. */
static void other_streams_go_on(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/size?1000");
    peer_get(&p, 3, "/late?10");
    peer_turn(&p);
    peer_wait(&p, LIMIT_PROGRESS_MS);
    assert_true(peer_seen(&p, 1)->is_reset);
    assert_int_equal(peer_seen(&p, 1)->rst_code, NGHTTP2_CANCEL);
    assert_int_equal(p.goaways, 0);
    assert_int_equal(p.stats.limit_breaches, 0); /* the connection goes on */

    assert_int_equal(peer_answer(&p), WEIR_OK);
    say_window(&p, 3, 10);
    peer_turn(&p);
    assert_true(peer_seen(&p, 3)->has_ended);
    assert_true(peer_deinit(&p));
}

/* The reset is sent once, however long the transport takes. */
static void a_reset_that_cannot_be_sent_is_not_repeated(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/size?1000");
    peer_get(&p, 3, "/late?10");
    peer_turn(&p);
    p.clock.now_ms += LIMIT_PROGRESS_MS;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(h2_protocol.timeout(p.session), WEIR_OK);
        p.clock.now_ms += LIMIT_PROGRESS_MS;
    }
    p.trace_len = 0;
    peer_pull(&p);
    assert_int_equal(p.trace_len, 1);
    assert_int_equal(p.trace[0], 'R');
    assert_true(peer_deinit(&p));
}

static void say_slowly(struct peer *p)
{
    say_window(p, 0, 1200);
    say_window(p, 1, 1200);
}

/* 240 bytes a second, for as long as it takes. */
static void a_client_at_the_least_pace_gets_everything(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/size?200000");
    pass(&p, 200000 / 1200 * 5000 + 5000, 5000, say_slowly);
    assert_int_equal(peer_seen(&p, 1)->body_len, 200000);
    assert_true(peer_seen(&p, 1)->has_ended);
    assert_int_equal(p.goaways, 0);
    assert_true(peer_deinit(&p));
}

static void say_connection_slowly(struct peer *p)
{
    say_window(p, 0, 1024);
}

/* Ten streams share what a slow client takes: those that others are preferred to just wait. */
static void streams_that_wait_for_others_are_not_blamed(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 1000000);
    for (uint32_t id = 1; id < 20; id += 2)
        peer_get(&p, id, "/size?50000");
    pass(&p, 430000, 1000, say_connection_slowly); /* seven periods */
    size_t ended = 0;
    for (uint32_t id = 1; id < 20; id += 2) {
        assert_false(peer_seen(&p, id)->is_reset);
        ended += peer_seen(&p, id)->has_ended;
    }
    assert_int_equal(ended, 10);
    assert_int_equal(p.goaways, 0);
    assert_true(peer_deinit(&p));
}

/* Its client waits as well; when it goes on, the client has all its time. */
static void a_source_that_pauses_is_not_the_clients_fault(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 0);
    peer_get(&p, 1, "/slow?1000");
    say_window(&p, 1, 1);
    peer_turn(&p);
    peer_wait(&p, (uint64_t)3 * LIMIT_PROGRESS_MS);
    assert_int_equal(p.goaways, 0);
    assert_true(peer_resume(&p));
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, 1);
    peer_wait(&p, LIMIT_PROGRESS_MS - 1);
    assert_int_equal(p.goaways, 0);
    peer_wait(&p, 1);
    assert_calmed(&p);
}

static void a_body_of_unknown_length_is_no_exception(void **state)
{
    (void)state;
    struct peer p;
    start_with_window(&p, 1000);
    peer_get(&p, 1, "/made?1000"); /* only its end is left to be said */
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, 1000);
    peer_wait(&p, LIMIT_PROGRESS_MS);
    assert_calmed(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_that_stays_closed_ends_the_connection),
        cmocka_unit_test(frames_that_open_no_window_extend_nothing),
        cmocka_unit_test(a_window_that_opens_by_drops_does_not_count),
        cmocka_unit_test(the_window_of_the_connection_counts_as_well),
        cmocka_unit_test(the_last_byte_counts_too),
        cmocka_unit_test(a_window_that_opens_in_time_is_fine),
        cmocka_unit_test(other_streams_go_on),
        cmocka_unit_test(a_reset_that_cannot_be_sent_is_not_repeated),
        cmocka_unit_test(a_client_at_the_least_pace_gets_everything),
        cmocka_unit_test(streams_that_wait_for_others_are_not_blamed),
        cmocka_unit_test(a_source_that_pauses_is_not_the_clients_fault),
        cmocka_unit_test(a_body_of_unknown_length_is_no_exception),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
