/* How many workers a quota is worth. */
#include "cm.h"

#include "cpus.h"

static void a_quota_is_worth_its_cpus_rounded_up(void **state)
{
    (void)state;
    static const struct {
        const char *cpu_max;
        size_t none;
        size_t worth;
    } rows[] = {
        {"max 100000\n", 8, 8},                           /* no quota */
        {"100000 100000\n", 8, 1},                        /* one CPU */
        {"150000 100000\n", 8, 2},                        /* one and a half */
        {"50000 100000\n", 8, 1},                         /* half of one is still a worker */
        {"1600000 100000\n", 8, 8},                       /* more than there are */
        {"400000 50000\n", 16, 8},  {"0 100000\n", 8, 8}, /* what cannot be is no quota */
        {"100000 0\n", 8, 8},       {"100000", 8, 8},     {"", 8, 8}, {"many", 8, 8},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(cpus_from_quota(rows[i].cpu_max, rows[i].none), rows[i].worth);
}

static void there_is_at_least_one(void **state)
{
    (void)state;
    struct cpus cpus;

    cpus_find(&cpus);

    assert_true(cpus.worth >= 1);
    assert_true(cpus.count == 0 || cpus.worth <= cpus.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quota_is_worth_its_cpus_rounded_up),
        cmocka_unit_test(there_is_at_least_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
