/* The timer wheel against a plain array of due times. */
#include "cm.h"

#include "internal/assert.h"
#include "wheel.h"

#define TIMERS 200

struct model_timer {
    struct timer timer;
    uint64_t due_ms;   /* what the model expects; WHEEL_NEVER when not armed */
    uint64_t fired_at; /* 0 when it has not fired since armed */
};

static struct wheel wheel;
static struct model_timer timers[TIMERS];

static void on_fire(struct timer *t)
{
    struct model_timer *m = container_of(t, struct model_timer, timer);
    assert_true(m->due_ms <= wheel.now_ms); /* never early */
    m->fired_at = wheel.now_ms;
    m->due_ms = WHEEL_NEVER;
}

static void reset(uint64_t now_ms)
{
    wheel_init(&wheel, now_ms);
    for (size_t i = 0; i < TIMERS; i++)
        timers[i] = (struct model_timer){.timer = {.fn = on_fire}, .due_ms = WHEEL_NEVER};
}

static void a_timer_fires_in_the_tick_it_is_due(void **state)
{
    (void)state;
    static const uint64_t delays[] = {1,    2,     63,     64,       65,       4095,
                                      4096, 10000, 262143, 16777215, 16777216, 100000000};
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        reset(12345);

        wheel_arm(&wheel, &timers[0].timer, timers[0].due_ms = 12345 + delays[i]);
        wheel_advance(&wheel, 12345 + delays[i] - 1);
        assert_int_equal(timers[0].fired_at, 0);
        wheel_advance(&wheel, 12345 + delays[i]);

        assert_int_equal(timers[0].fired_at, 12345 + delays[i]);
        assert_false(timer_is_armed(&timers[0].timer));
    }
}

static void a_timer_in_the_past_fires_at_the_next_advance(void **state)
{
    (void)state;
    reset(1000);

    wheel_arm(&wheel, &timers[0].timer, timers[0].due_ms = 10);
    wheel_advance(&wheel, 1001);

    assert_int_equal(timers[0].fired_at, 1001);
}

/* ---- functions that arm and disarm ---- */

static struct model_timer *chained; /* what on_chain() arms */
static uint64_t chain_ms;           /* how much later */

static void on_chain(struct timer *t)
{
    on_fire(t);
    wheel_arm(&wheel, &chained->timer, chained->due_ms = wheel.now_ms + chain_ms);
}

static void a_timer_armed_by_a_timer_fires_in_the_same_advance_if_due(void **state)
{
    (void)state;
    static const uint64_t delays[] = {0, 1, 63, 64, 5000, 300000};
    for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
        reset(1000);
        timers[0].timer.fn = on_chain;
        chained = &timers[1];
        chain_ms = delays[i];

        wheel_arm(&wheel, &timers[0].timer, timers[0].due_ms = 1100);
        wheel_advance(&wheel, 1000000);

        assert_int_equal(timers[0].fired_at, 1100);
        assert_int_equal(timers[1].fired_at, 1100 + (delays[i] > 0 ? delays[i] : 1));
    }
}

static void a_timer_may_arm_itself_again(void **state)
{
    (void)state;
    reset(0);
    timers[0].timer.fn = on_chain;
    chained = &timers[0];
    chain_ms = 70;

    wheel_arm(&wheel, &timers[0].timer, timers[0].due_ms = 70);
    wheel_advance(&wheel, 700);

    assert_int_equal(timers[0].fired_at, 700);
    assert_int_equal(timers[0].due_ms, 770);
    assert_true(timer_is_armed(&timers[0].timer));
}

static void on_disarm_all(struct timer *t)
{
    on_fire(t);
    for (size_t i = 0; i < TIMERS; i++)
        wheel_disarm(&wheel, &timers[i].timer);
}

static void a_timer_may_disarm_others_of_its_tick(void **state)
{
    (void)state;
    reset(0);
    for (size_t i = 0; i < TIMERS; i++) {
        timers[i].timer.fn = on_disarm_all;
        wheel_arm(&wheel, &timers[i].timer, timers[i].due_ms = 200);
    }

    wheel_advance(&wheel, 1000);

    size_t fired = 0;
    for (size_t i = 0; i < TIMERS; i++)
        fired += timers[i].fired_at != 0;
    assert_int_equal(fired, 1);
    assert_true(wheel_next_ms(&wheel) == WHEEL_NEVER);
}

static uint64_t model_next(void)
{
    uint64_t next = WHEEL_NEVER;
    for (size_t i = 0; i < TIMERS; i++) {
        if (timers[i].due_ms < next)
            next = timers[i].due_ms;
    }
    return next;
}

static void random_operations_agree_with_a_model(void **state)
{
    (void)state;
    struct rng r = rng_new("wheel");
    reset(rng_below(&r, 100000000));
    for (int step = 0; step < 100000; step++) {
        struct model_timer *m = &timers[rng_below(&r, TIMERS)];
        switch (rng_below(&r, 4)) {
        case 0:
        case 1:
            /* exponents spread the delays over all levels and beyond */
            m->due_ms = wheel.now_ms + 1 + rng_below(&r, (size_t)1 << (1 + rng_below(&r, 27)));
            m->fired_at = 0;
            wheel_arm(&wheel, &m->timer, m->due_ms);
            break;
        case 2:
            wheel_disarm(&wheel, &m->timer);
            m->due_ms = WHEEL_NEVER;
            break;
        default: {
            uint64_t to = wheel.now_ms + rng_below(&r, (size_t)1 << rng_below(&r, 22));
            wheel_advance(&wheel, to);
            assert_int_equal(wheel.now_ms, to);
        }
        }
        assert_true(model_next() > wheel.now_ms); /* what was due has fired */
        assert_true(wheel_next_ms(&wheel) <= model_next());
        assert_true(wheel_next_ms(&wheel) > wheel.now_ms);
        assert_int_equal(timer_is_armed(&m->timer), m->due_ms != WHEEL_NEVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_fires_in_the_tick_it_is_due),
        cmocka_unit_test(a_timer_in_the_past_fires_at_the_next_advance),
        cmocka_unit_test(a_timer_armed_by_a_timer_fires_in_the_same_advance_if_due),
        cmocka_unit_test(a_timer_may_arm_itself_again),
        cmocka_unit_test(a_timer_may_disarm_others_of_its_tick),
        cmocka_unit_test(random_operations_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
