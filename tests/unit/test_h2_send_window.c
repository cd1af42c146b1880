/*
 * The windows of what is sent, where small bodies leave with their HEADERS: nothing goes beyond
 * what the client has granted, and all of that can be used.
 */
#include "cm.h"

#include "h2_peer.h"

#define WINDOW 65535 /* of a connection and of a stream, as they begin (RFC 9113 6.9.2) */

/* Body bytes that have come, of all streams. */
static uint64_t received(struct peer *p)
{
    uint64_t n = 0;
    for (size_t i = 0; i < PEER_STREAMS; i++)
        n += p->streams[i].body_len;
    return n;
}

static void grant(struct peer *p, uint32_t id, uint32_t n)
{
    peer_number(p, NGHTTP2_WINDOW_UPDATE, id, n);
}

static void small_bodies_leave_with_their_headers(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    p.trace_len = 0;
    peer_get(&p, 1, "/size?300"); /* of a file map: takes its turn */
    peer_get(&p, 3, "/pool?300");
    peer_get(&p, 5, "/pool?16384");
    peer_get(&p, 7, "/pool?16385"); /* more than a frame holds */
    peer_ask(&p, 9, NGHTTP2_FLAG_END_STREAM, "HEAD", "/pool?300");
    peer_turn(&p);

    p.trace[p.trace_len] = '\0';
    assert_string_equal(p.trace, "HHDHDHHDDDD"); /* the map's end follows on its own */
    for (uint32_t id = 1; id <= 9; id += 2)
        assert_true(peer_seen(&p, id)->has_ended);
    assert_int_equal(p.stats.body_pooled + p.stats.body_copied + p.stats.body_mapped,
                     300 + 300 + 16384 + 16385);
    assert_true(peer_deinit(&p));
}

/* Bodies of both kinds, and grants of any size: what has come is what may come, after each. */
static void windows_are_used_up_and_kept(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    for (unsigned run = 0; run < 40; run++) {
        struct peer p;
        peer_start(&p);
        uint64_t granted = WINDOW;
        uint64_t due = 0;
        uint32_t id = 1;
        for (unsigned i = 0; i < 60; i++) {
            char path[32];
            size_t len = 1 + rng_below(&rng, rng_below(&rng, 3) == 0 ? 20000 : 2000);
            snprintf(path, sizeof(path), rng_below(&rng, 3) == 0 ? "/size?%zu" : "/pool?%zu", len);
            peer_get(&p, id, path);
            id += 2;
            due += len;
            peer_send_by(&p, rng_below(&rng, 2) == 0 ? 1 : 16384);
            peer_pull(&p);
            assert_int_equal(received(&p), due < granted ? due : granted);
            while (due > granted + 2000) {
                uint32_t n = 1 + (uint32_t)rng_below(&rng, 3000);
                granted += n;
                grant(&p, 0, n);
                peer_send_by(&p, rng_below(&rng, 2) == 0 ? 3 : 16384);
                peer_pull(&p);
                assert_int_equal(received(&p), due < granted ? due : granted);
            }
        }
        grant(&p, 0, 3000000);
        peer_turn(&p);
        assert_int_equal(received(&p), due);
        for (uint32_t done = 1; done < id; done += 2)
            assert_true(peer_seen(&p, done)->has_ended && !peer_seen(&p, done)->is_reset);
        assert_true(peer_deinit(&p));
    }
}

/* Lots of small bodies, each granted again: neither side's count runs away. */
static void what_small_bodies_take_is_given_back(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    uint32_t id = 1;
    for (unsigned i = 0; i < 1500; i++, id += 2) {
        peer_get(&p, id, "/pool?10000");
        grant(&p, 0, 10000);
        peer_turn(&p);
        assert_int_equal(peer_seen(&p, id)->body_len, 10000);
    }
    assert_int_equal(p.goaways, 0);
    assert_true(peer_deinit(&p));
}

/* RFC 9113 6.9.1: the limit is that of the true window, to the byte. */
static void grants_beyond_the_maximum_are_an_error(void **state)
{
    (void)state;
    for (uint32_t excess = 0; excess <= 1; excess++) {
        for (size_t step = 1; step < 20; step += 12) {
            struct peer p;
            peer_start(&p);
            peer_get(&p, 1, "/pool?1000");
            peer_turn(&p);
            assert_true(peer_seen(&p, 1)->has_ended);
            grant(&p, 0, 0x7fffffff - (WINDOW - 1000) + excess);
            peer_send_by(&p, step);
            peer_pull(&p);
            assert_int_equal(p.goaways, excess);
            assert_int_equal(p.goaway_code, excess ? NGHTTP2_FLOW_CONTROL_ERROR : 0);
            assert_true(peer_deinit(&p));
        }
    }
}

static void a_grant_of_nothing_is_an_error(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/pool?1000");
    peer_turn(&p);
    grant(&p, 0, 0);
    peer_turn(&p);
    assert_int_equal(p.goaway_code, NGHTTP2_PROTOCOL_ERROR);
    assert_true(peer_deinit(&p));
}

/* The client cancels a stream whose body waits with its HEADERS: others may use the window. */
static void a_body_that_never_leaves_takes_no_window(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    p.is_slow = true;
    p.budget = 1;
    peer_get(&p, 1, "/none"); /* fills the budget */
    for (uint32_t id = 3; id <= 9; id += 2)
        peer_get(&p, id, "/pool?16000");
    peer_get(&p, 11, "/size?65535"); /* finds 1,535 bytes that are not promised */
    peer_turn(&p);
    for (uint32_t id = 5; id <= 9; id += 2)
        peer_number(&p, NGHTTP2_RST_STREAM, id, NGHTTP2_CANCEL);
    p.is_slow = false;
    p.budget = LIMIT_STAGED_OUTPUT;
    peer_take(&p, p.out.len);
    peer_turn(&p);

    assert_int_equal(peer_seen(&p, 3)->body_len, 16000);
    assert_int_equal(peer_seen(&p, 5)->body_len, 0);
    assert_int_equal(peer_seen(&p, 11)->body_len, WINDOW - 16000);
    grant(&p, 0, 16000);
    peer_turn(&p);
    assert_true(peer_seen(&p, 11)->has_ended);
    assert_true(peer_deinit(&p));
}

/* RFC 9113 6.9.2: a smaller window holds for what has not left. */
static void a_body_that_no_longer_fits_is_not_sent(void **state)
{
    (void)state;
    for (uint32_t window = 999; window <= 1000; window++) {
        struct peer p;
        peer_start(&p);
        p.is_slow = true;
        p.budget = 1;
        peer_get(&p, 1, "/none");
        peer_get(&p, 3, "/pool?1000"); /* nghttp2 has it packed and tries again */
        peer_get(&p, 5, "/pool?1000");
        peer_turn(&p);
        peer_setting(&p, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window);
        p.is_slow = false;
        p.budget = LIMIT_STAGED_OUTPUT;
        peer_take(&p, p.out.len);
        peer_turn(&p);
        for (uint32_t id = 3; id <= 5; id += 2) {
            assert_int_equal(peer_seen(&p, id)->is_reset, window < 1000);
            assert_int_equal(peer_seen(&p, id)->body_len, window < 1000 ? 0 : 1000);
        }
        peer_get(&p, 7, "/pool?1000");
        peer_turn(&p);
        assert_int_equal(peer_seen(&p, 7)->body_len, window);
        grant(&p, 7, 1);
        peer_turn(&p);
        assert_true(peer_seen(&p, 7)->has_ended);
        assert_int_equal(p.goaways, 0);
        assert_true(peer_deinit(&p));
    }
}

/* A source that has nothing yet is asked again when it says so, not before. */
static void a_source_that_waits_is_left_alone(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/slow?300");
    peer_turn(&p);
    peer_pull(&p);
    assert_int_equal(p.blocked_count, 1);
    assert_true(peer_resume(&p));
    peer_pull(&p);
    assert_true(peer_seen(&p, 1)->has_ended);
    assert_int_equal(p.blocked_count, 0);
    assert_true(peer_deinit(&p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_bodies_leave_with_their_headers),
        cmocka_unit_test(windows_are_used_up_and_kept),
        cmocka_unit_test(what_small_bodies_take_is_given_back),
        cmocka_unit_test(grants_beyond_the_maximum_are_an_error),
        cmocka_unit_test(a_grant_of_nothing_is_an_error),
        cmocka_unit_test(a_body_that_never_leaves_takes_no_window),
        cmocka_unit_test(a_body_that_no_longer_fits_is_not_sent),
        cmocka_unit_test(a_source_that_waits_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
