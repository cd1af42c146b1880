/* Peers that stop, that drip, and that are merely slow. */
#include "cm.h"

#include "internal/limits.h"
#include "pace.h"

#define NOW 1000000

/* Deadlines are met one after the other until `until_ms`, the peer taking `rate` bytes a second.
 * Gives when it was found too slow, or 0. */
static uint64_t run(struct pace *p, uint64_t now_ms, uint64_t until_ms, uint64_t rate)
{
    uint64_t begin_ms = now_ms;
    while ((now_ms = pace_deadline(p)) <= until_ms) {
        if (!pace_look(p, now_ms, 5000 + (now_ms - begin_ms) * rate / 1000))
            return now_ms;
    }
    return 0;
}

static void nothing_due_is_never_late(void **state)
{
    (void)state;
    struct pace p = {0};
    assert_int_equal(pace_deadline(&p), PACE_NEVER);
    pace_begin(&p, NOW);
    assert_int_equal(pace_deadline(&p), NOW + LIMIT_PACE_LOOK_MS);
    pace_rest(&p);
    assert_int_equal(pace_deadline(&p), PACE_NEVER);
}

static void a_peer_that_takes_nothing_is_stalled(void **state)
{
    (void)state;
    struct pace p = {0};
    pace_begin(&p, NOW);
    assert_int_equal(run(&p, NOW, NOW + 1000000, 0),
                     NOW + LIMIT_PACE_LOOK_MS + LIMIT_WRITE_STALL_MS);
}

static void a_peer_that_drips_is_too_slow(void **state)
{
    (void)state;
    static const uint64_t rates[] = {1, 10, 239};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct pace p = {0};
        pace_begin(&p, NOW);
        assert_int_equal(run(&p, NOW, NOW + 1000000, rates[i]),
                         NOW + LIMIT_PACE_LOOK_MS + LIMIT_PROGRESS_MS);
    }
}

static void a_slow_peer_is_fine(void **state)
{
    (void)state;
    static const uint64_t rates[] = {LIMIT_PROGRESS_BYTES * 1000 / LIMIT_PROGRESS_MS, 1024,
                                     10000000};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct pace p = {0};
        pace_begin(&p, NOW);
        assert_int_equal(run(&p, NOW, NOW + 3600000, rates[i]), 0);
    }
}

/* Each send begins anew, which says nothing about the peer's rate. */
static void sends_do_not_hide_a_drip(void **state)
{
    (void)state;
    struct pace p = {0};
    uint64_t now_ms = NOW;
    uint64_t acknowledged = 0;
    bool is_fine = true;
    while (is_fine && now_ms < NOW + 1000000) {
        pace_begin(&p, now_ms);
        now_ms += 1000;
        acknowledged += 100;
        if (now_ms >= pace_deadline(&p))
            is_fine = pace_look(&p, now_ms, acknowledged);
    }
    assert_false(is_fine);
    assert_int_equal(now_ms, NOW + LIMIT_PACE_LOOK_MS + LIMIT_PROGRESS_MS);
}

/* What was acknowledged before does not count for what is due now. */
static void a_peer_that_was_fast_may_stall(void **state)
{
    (void)state;
    struct pace p = {0};
    pace_begin(&p, NOW);
    assert_int_equal(run(&p, NOW, NOW + 300000, 100000), 0);
    pace_rest(&p);
    pace_begin(&p, NOW + 400000);
    assert_int_equal(run(&p, NOW, NOW + 1000000, 0),
                     NOW + 400000 + LIMIT_PACE_LOOK_MS + LIMIT_WRITE_STALL_MS);
}

static void a_look_before_the_deadline_changes_nothing(void **state)
{
    (void)state;
    struct pace p = {0};
    pace_begin(&p, NOW);
    for (int i = 0; i < 10; i++)
        assert_true(pace_look(&p, NOW + 1, 0));
    assert_int_equal(pace_deadline(&p), NOW + LIMIT_PACE_LOOK_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_due_is_never_late),
        cmocka_unit_test(a_peer_that_takes_nothing_is_stalled),
        cmocka_unit_test(a_peer_that_drips_is_too_slow),
        cmocka_unit_test(a_slow_peer_is_fine),
        cmocka_unit_test(sends_do_not_hide_a_drip),
        cmocka_unit_test(a_peer_that_was_fast_may_stall),
        cmocka_unit_test(a_look_before_the_deadline_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
