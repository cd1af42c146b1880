/* Bodies that end where their source says so (RFC 9113 8.1). */
#include "cm.h"

#include "h2_peer.h"

/* What a client gets for a path, all of whose pauses end. */
static struct seen get(const char *path)
{
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, path);
    do
        peer_turn(&p);
    while (peer_resume(&p));
    assert_int_equal(p.pulled, WEIR_OK);
    struct seen seen = *peer_seen(&p, 1);
    assert_true(peer_deinit(&p));
    return seen;
}

static void a_body_of_unknown_length_ends_with_its_source(void **state)
{
    (void)state;
    static const char *const paths[] = {"/stream?", "/made?", "/drip?"};
    static const size_t lens[] = {0, 1, 300, 16384, 16385, 65535};
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        for (size_t j = 0; j < sizeof(lens) / sizeof(lens[0]); j++) {
            char path[40];
            snprintf(path, sizeof(path), "%s%zu", paths[i], lens[j]);
            struct seen seen = get(path);
            assert_int_equal(seen.status, 200);
            assert_int_equal(seen.body_len, lens[j]);
            /* A body that fills the window ends when another one opens. */
            assert_int_equal(seen.has_ended, lens[j] < 65535);
            assert_false(seen.is_reset);
        }
    }
}

static void the_end_follows_when_the_window_opens(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_get(&p, 1, "/made?65535");
    peer_turn(&p);
    assert_false(peer_seen(&p, 1)->has_ended);
    static const uint8_t more[4] = {0, 0, 0, 1};
    peer_frame(&p, NGHTTP2_WINDOW_UPDATE, 0, 0, more, 4);
    peer_frame(&p, NGHTTP2_WINDOW_UPDATE, 0, 1, more, 4);
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->body_len, 65535);
    assert_true(peer_seen(&p, 1)->has_ended);
    assert_true(peer_deinit(&p));
}

static void head_of_a_stream_has_no_body(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    peer_ask(&p, 1, NGHTTP2_FLAG_END_STREAM, "HEAD", "/stream?30");
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 1)->status, 200);
    assert_int_equal(peer_seen(&p, 1)->body_len, 0);
    assert_true(peer_seen(&p, 1)->has_ended);
    assert_true(peer_deinit(&p));
}

static void a_stream_that_breaks_off_is_reset(void **state)
{
    (void)state;
    struct seen seen = get("/break?3000");
    assert_int_equal(seen.body_len, 1500);
    assert_false(seen.has_ended);
    assert_true(seen.is_reset);
    assert_int_equal(seen.rst_code, NGHTTP2_INTERNAL_ERROR);
}

/* The end of what comes from a file map waits until it has left, and is not said if it changed. */
static void a_stream_from_a_map_that_was_overwritten_is_reset(void **state)
{
    (void)state;
    for (int is_overwritten = 0; is_overwritten <= 1; is_overwritten++) {
        struct peer p;
        peer_start(&p);
        p.is_slow = true;
        peer_get(&p, 1, "/stream?3000");
        peer_turn(&p);
        assert_int_equal(p.pulled, WEIR_AGAIN);
        peer_take(&p, p.out.len);
        assert_int_equal(peer_seen(&p, 1)->body_len, 3000);
        assert_false(peer_seen(&p, 1)->has_ended);

        p.is_overwritten = is_overwritten;
        peer_pull(&p);
        peer_take(&p, p.out.len);
        assert_int_equal(peer_seen(&p, 1)->has_ended, !is_overwritten);
        assert_int_equal(peer_seen(&p, 1)->is_reset, is_overwritten);
        assert_true(peer_deinit(&p));
    }
}

/* Bytes of memory cannot change: their end waits for nothing. */
static void a_stream_from_memory_ends_at_once(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    p.is_slow = true;
    peer_get(&p, 1, "/made?3000");
    peer_turn(&p);
    assert_int_equal(p.pulled, WEIR_OK);
    peer_take(&p, p.out.len);
    assert_true(peer_seen(&p, 1)->has_ended);
    assert_true(peer_deinit(&p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_of_unknown_length_ends_with_its_source),
        cmocka_unit_test(the_end_follows_when_the_window_opens),
        cmocka_unit_test(head_of_a_stream_has_no_body),
        cmocka_unit_test(a_stream_that_breaks_off_is_reset),
        cmocka_unit_test(a_stream_from_a_map_that_was_overwritten_is_reset),
        cmocka_unit_test(a_stream_from_memory_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
