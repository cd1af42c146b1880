/* Every limit of a connection's budget, at the last frame allowed and at the next. */
#include "cm.h"

#include <nghttp2/nghttp2.h>
#include <stdbool.h>

#include "budget.h"
#include "internal/limits.h"

#define NOW 5000000

static bool take(struct budget *b, uint8_t type, uint32_t len, uint8_t flags, uint64_t now_ms)
{
    const struct budget_frame f = {len, type, flags};
    return budget_on_frame(b, &f, now_ms);
}

/* How many such frames in a row are allowed. */
static uint32_t count(struct budget *b, uint8_t type, uint32_t len, uint64_t now_ms)
{
    uint32_t n = 0;
    while (n < 100000 && take(b, type, len, 0, now_ms))
        n++;
    return n;
}

static void control_frames_have_one_bucket(void **state)
{
    (void)state;
    static const uint8_t types[] = {NGHTTP2_PING,
                                    NGHTTP2_SETTINGS,
                                    NGHTTP2_PRIORITY,
                                    NGHTTP2_GOAWAY,
                                    NGHTTP2_PRIORITY_UPDATE,
                                    NGHTTP2_PUSH_PROMISE,
                                    0xbb};
    for (size_t i = 0; i < sizeof(types); i++) {
        struct budget b;
        budget_init(&b, NOW);
        assert_int_equal(count(&b, types[i], 8, NOW), LIMIT_CONTROL_FRAMES);
        assert_int_equal(count(&b, NGHTTP2_PING, 8, NOW), 0);
        assert_false(budget_on_idle_section(&b, NOW));
        assert_int_equal(count(&b, NGHTTP2_RST_STREAM, 4, NOW), LIMIT_PEER_RESETS);
    }
}

struct refill {
    uint8_t type; /* NGHTTP2_HEADERS: own resets; NGHTTP2_GOAWAY: refusals */
    uint32_t size;
    uint32_t per_s;
};

static const struct refill refills[] = {
    {NGHTTP2_PING, LIMIT_CONTROL_FRAMES, LIMIT_CONTROL_FRAMES_PER_S},
    {NGHTTP2_RST_STREAM, LIMIT_PEER_RESETS, LIMIT_PEER_RESETS_PER_S},
    {NGHTTP2_HEADERS, LIMIT_OWN_RESETS, LIMIT_OWN_RESETS_PER_S},
    {NGHTTP2_GOAWAY, LIMIT_REFUSED, LIMIT_REFUSED_PER_S},
};

static bool take_one(struct budget *b, const struct refill *r, uint64_t now_ms)
{
    switch (r->type) {
    case NGHTTP2_HEADERS: return budget_on_own_reset(b, now_ms);
    case NGHTTP2_GOAWAY: return budget_on_refused(b, now_ms);
    default: return take(b, r->type, 4, 0, now_ms);
    }
}

static uint32_t take_all(struct budget *b, const struct refill *r, uint64_t now_ms)
{
    uint32_t n = 0;
    while (take_one(b, r, now_ms))
        n++;
    return n;
}

static void buckets_are_refilled_to_the_millisecond(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refills) / sizeof(refills[0]); i++) {
        const struct refill *r = &refills[i];
        uint64_t step = 1000 / r->per_s;
        struct budget b;
        budget_init(&b, NOW);
        assert_int_equal(take_all(&b, r, NOW), r->size);

        assert_int_equal(take_all(&b, r, NOW + step - 1), 0);
        assert_int_equal(take_all(&b, r, NOW + step), 1);
        assert_int_equal(take_all(&b, r, NOW + 2 * step - 1), 0);
        assert_int_equal(take_all(&b, r, NOW + 2 * step), 1);
        /* Never beyond its size, however long nothing is taken. */
        assert_int_equal(take_all(&b, r, NOW + 100000000), r->size);
        assert_int_equal(take_all(&b, r, NOW + 100000000 + 5 * step), 5);
    }
}

/* Asked at any intervals, a bucket gives what its rate says, and loses nothing to rounding. */
static void odd_intervals_lose_nothing(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    for (size_t i = 0; i < sizeof(refills) / sizeof(refills[0]); i++) {
        const struct refill *r = &refills[i];
        struct budget b;
        budget_init(&b, NOW);
        take_all(&b, r, NOW);
        uint64_t now_ms = NOW;
        uint64_t taken = 0;
        for (int round = 0; round < 10000; round++) {
            now_ms += rng_below(&rng, 40);
            taken += take_all(&b, r, now_ms);
        }
        assert_int_equal(taken, (now_ms - NOW) * r->per_s / 1000);
    }
}

static void answers_in_full_give_resets_back(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, NOW);
    budget_on_complete(&b); /* full already */
    assert_int_equal(count(&b, NGHTTP2_RST_STREAM, 4, NOW), LIMIT_PEER_RESETS);
    budget_on_complete(&b);
    budget_on_complete(&b);
    assert_int_equal(count(&b, NGHTTP2_RST_STREAM, 4, NOW), 2);
}

/* It may be all that there is in such a frame. */
static void padding_is_taken_from_the_control_frames(void **state)
{
    (void)state;
    static const uint32_t lens[] = {1, 2, 256};
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct budget b;
        budget_init(&b, NOW);
        for (int n = 0; n < LIMIT_CONTROL_FRAMES; n++)
            assert_true(take(&b, NGHTTP2_DATA, lens[i], NGHTTP2_FLAG_PADDED, NOW));
        assert_false(take(&b, NGHTTP2_DATA, lens[i], NGHTTP2_FLAG_PADDED, NOW));
        assert_int_equal(count(&b, NGHTTP2_PING, 8, NOW), 0);
        /* What has a length of its own, or ends something, costs nothing. */
        assert_true(take(&b, NGHTTP2_DATA, 257, NGHTTP2_FLAG_PADDED, NOW));
        assert_true(take(&b, NGHTTP2_DATA, lens[i], 0, NOW));
        assert_true(
            take(&b, NGHTTP2_DATA, lens[i], NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_END_STREAM, NOW));
        assert_true(take(&b, NGHTTP2_HEADERS, lens[i],
                         NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_END_HEADERS, NOW));
    }
}

static void padding_does_not_hide_empty_frames(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, NOW);
    for (int i = 0; i < LIMIT_EMPTY_FRAMES; i++) {
        assert_true(take(&b, NGHTTP2_DATA, 0, 0, NOW));
        assert_true(take(&b, NGHTTP2_DATA, 9, NGHTTP2_FLAG_PADDED, NOW));
    }
    assert_false(take(&b, NGHTTP2_DATA, 0, 0, NOW));
}

static void window_updates_are_earned(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, NOW);
    assert_int_equal(count(&b, NGHTTP2_PING, 8, NOW), LIMIT_CONTROL_FRAMES);
    assert_int_equal(count(&b, NGHTTP2_WINDOW_UPDATE, 4, NOW), LIMIT_WINDOW_UPDATES);

    /* Those refused are counted as well, so each stage starts anew. */
    budget_init(&b, NOW);
    count(&b, NGHTTP2_PING, 8, NOW);
    assert_true(take(&b, NGHTTP2_HEADERS, 10, NGHTTP2_FLAG_END_HEADERS, NOW));
    assert_int_equal(count(&b, NGHTTP2_WINDOW_UPDATE, 4, NOW),
                     LIMIT_WINDOW_UPDATES + LIMIT_WINDOW_UPDATES_PER_STREAM);
    budget_init(&b, NOW);
    count(&b, NGHTTP2_PING, 8, NOW);
    budget_on_data_sent(&b);
    assert_int_equal(count(&b, NGHTTP2_WINDOW_UPDATE, 4, NOW),
                     LIMIT_WINDOW_UPDATES + LIMIT_WINDOW_UPDATES_PER_DATA);
    /* What goes beyond is taken from the control frames. */
    budget_init(&b, NOW);
    assert_int_equal(count(&b, NGHTTP2_WINDOW_UPDATE, 4, NOW),
                     LIMIT_WINDOW_UPDATES + LIMIT_CONTROL_FRAMES);
}

static void empty_frames_in_a_row_are_few(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, NOW);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < LIMIT_EMPTY_FRAMES; i++)
            assert_true(take(&b, i % 2 ? NGHTTP2_DATA : NGHTTP2_HEADERS, 0, 0, NOW));
        switch (round) { /* what ends the row */
        case 0: assert_true(take(&b, NGHTTP2_DATA, 1, 0, NOW)); break;
        case 1: assert_true(take(&b, NGHTTP2_DATA, 0, NGHTTP2_FLAG_END_STREAM, NOW)); break;
        default: assert_true(take(&b, NGHTTP2_HEADERS, 0, NGHTTP2_FLAG_END_HEADERS, NOW)); break;
        }
    }
    assert_int_equal(count(&b, NGHTTP2_DATA, 0, NOW), LIMIT_EMPTY_FRAMES);
}

static void continuations_are_counted_by_field_section(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, NOW);
    for (int round = 0; round < 3; round++) {
        assert_true(take(&b, NGHTTP2_HEADERS, 10, 0, NOW));
        assert_int_equal(count(&b, NGHTTP2_CONTINUATION, 10, NOW), LIMIT_CONTINUATIONS);
    }
    assert_true(take(&b, NGHTTP2_HEADERS, 10, 0, NOW));
    assert_false(take(&b, NGHTTP2_CONTINUATION, 0, 0, NOW));
    assert_true(take(&b, NGHTTP2_CONTINUATION, 0, NGHTTP2_FLAG_END_HEADERS, NOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_frames_have_one_bucket),
        cmocka_unit_test(buckets_are_refilled_to_the_millisecond),
        cmocka_unit_test(odd_intervals_lose_nothing),
        cmocka_unit_test(answers_in_full_give_resets_back),
        cmocka_unit_test(padding_is_taken_from_the_control_frames),
        cmocka_unit_test(padding_does_not_hide_empty_frames),
        cmocka_unit_test(window_updates_are_earned),
        cmocka_unit_test(empty_frames_in_a_row_are_few),
        cmocka_unit_test(continuations_are_counted_by_field_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
