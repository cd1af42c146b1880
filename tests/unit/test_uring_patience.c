/* For how many requests a wait is, when they come quickly, rarely, and never. */
#include "cm.h"

#include "uring_patience.h"

#define QUICK_NS 10000 /* between two requests */
#define MANY 1000      /* sockets */

struct loop {
    struct uring_patience patience;
    uint64_t now_ns;
};

static struct loop loop_new(void)
{
    struct loop l = {.now_ns = 1000000000};
    uring_patience_init(&l.patience);
    return l;
}

/* A wait in which as many come as are waited for, but no more than `most`, gap_ns one after
 * another. Gives the completions that were waited for. */
static unsigned run(struct loop *l, unsigned sends, size_t sockets, unsigned most, uint64_t gap_ns)
{
    unsigned count = uring_patience_begin(&l->patience, sends, sockets);
    unsigned come = l->patience.goal < most ? l->patience.goal : most;
    l->now_ns += come * gap_ns;
    uring_patience_end(&l->patience, l->now_ns, sends, sends + come);
    return count;
}

/* As many waits as it takes to learn anything; gives the goal that was found. */
static unsigned learn(struct loop *l, size_t sockets, unsigned most, uint64_t gap_ns)
{
    for (int i = 0; i < 400; i++)
        run(l, 0, sockets, most, gap_ns);
    return l->patience.goal;
}

static void at_first_any_completion_ends_the_wait(void **state)
{
    (void)state;
    struct loop l = loop_new();

    assert_int_equal(run(&l, 5, MANY, 1, QUICK_NS), 1);
    assert_false(l.patience.is_patient);
}

static void requests_that_come_quickly_are_gathered(void **state)
{
    (void)state;
    struct loop l = loop_new();

    assert_int_equal(learn(&l, MANY, UINT32_MAX, QUICK_NS), URING_PATIENCE_GOAL_MAX);

    assert_int_equal(uring_patience_begin(&l.patience, 3, MANY), 3 + URING_PATIENCE_GOAL_MAX);
    assert_true(l.patience.is_patient);
}

static void requests_that_come_rarely_never_wait(void **state)
{
    (void)state;
    struct loop l = loop_new();

    for (int i = 0; i < 400; i++)
        assert_int_equal(run(&l, 1, MANY, 1, URING_PATIENCE_GAP_NS), 1);
}

static void after_a_pause_nobody_waits_for_those_that_stopped(void **state)
{
    (void)state;
    struct loop l = loop_new();
    learn(&l, MANY, UINT32_MAX, QUICK_NS);

    run(&l, 0, MANY, 1, 1000000000);

    assert_int_equal(uring_patience_begin(&l.patience, 0, MANY), 1);
    assert_false(l.patience.is_patient);
}

static void few_connections_do_not_wait_for_each_other(void **state)
{
    (void)state;
    static const struct {
        size_t sockets;
        unsigned goal;
    } rows[] = {
        {0, 1},
        {1, 1},
        {URING_PATIENCE_SOCKETS * 2 - 1, 1},
        {URING_PATIENCE_SOCKETS * 2, 2},
        {50, 50 / URING_PATIENCE_SOCKETS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct loop l = loop_new();
        assert_int_equal(learn(&l, rows[i].sockets, UINT32_MAX, QUICK_NS), rows[i].goal);
    }
}

static void connections_that_have_gone_are_not_waited_for(void **state)
{
    (void)state;
    struct loop l = loop_new();
    learn(&l, MANY, UINT32_MAX, QUICK_NS);

    assert_int_equal(run(&l, 0, 1, 1, QUICK_NS), 1);
}

static void of_many_connections_those_that_ask_are_counted(void **state)
{
    (void)state;
    struct loop l = loop_new();

    learn(&l, MANY, 3, QUICK_NS);

    unsigned in_vain = 0;
    for (int i = 0; i < 100; i++)
        in_vain += run(&l, 0, MANY, 3, QUICK_NS) > 3;
    assert_in_range(in_vain, 0, 100 / 16 + 1);
}

static void sends_that_have_not_ended_are_no_requests(void **state)
{
    (void)state;
    struct loop l = loop_new();
    learn(&l, MANY, UINT32_MAX, QUICK_NS);

    assert_int_equal(uring_patience_begin(&l.patience, 4, MANY), 4 + URING_PATIENCE_GOAL_MAX);
    uring_patience_end(&l.patience, l.now_ns + QUICK_NS, 4, 2);

    assert_int_equal(l.patience.goal, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_first_any_completion_ends_the_wait),
        cmocka_unit_test(requests_that_come_quickly_are_gathered),
        cmocka_unit_test(requests_that_come_rarely_never_wait),
        cmocka_unit_test(after_a_pause_nobody_waits_for_those_that_stopped),
        cmocka_unit_test(few_connections_do_not_wait_for_each_other),
        cmocka_unit_test(connections_that_have_gone_are_not_waited_for),
        cmocka_unit_test(of_many_connections_those_that_ask_are_counted),
        cmocka_unit_test(sends_that_have_not_ended_are_no_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
