/* How many workers a quota is worth. */
#include "cm.h"

#include <ftw.h>
#include <sys/stat.h>

#include "cpus.h"
#include "text.h"

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
        {"-1 100000", 8, 8},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(cpus_from_quota(rows[i].cpu_max, rows[i].none), rows[i].worth);
}

static char mount[64];

static int setup(void **state)
{
    (void)state;
    text_set(mount, sizeof(mount), "/tmp/weir-cgroups-XXXXXX");
    assert_non_null(mkdtemp(mount));
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
    return nftw(mount, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *name, const char *text)
{
    char path[128] = "";
    text_add(path, sizeof(path), "%s/%s", mount, name);
    for (char *slash = path + strlen(mount) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static size_t worth(const char *groups)
{
    char path[128] = "";
    text_add(path, sizeof(path), "%s/groups", mount);
    put("groups", groups);
    return cpus_from_cgroups(path, mount, 16);
}

static void the_tightest_quota_above_a_group_counts(void **state)
{
    (void)state;
    put("a/cpu.max", "200000 100000\n");
    put("a/b/cpu.max", "max 100000\n");
    put("a/b/c/cpu.max", "300000 100000\n");
    put("tight/cpu.max", "100000 100000\n");

    assert_int_equal(worth("0::/a/b/c\n"), 2);
    assert_int_equal(worth("0::/a\n"), 2);
    assert_int_equal(worth("0::/tight\n"), 1);
    assert_int_equal(worth("0::/elsewhere\n"), 16);
    assert_int_equal(worth("0::/\n"), 16);
    assert_int_equal(worth(""), 16);
    assert_int_equal(worth("nonsense"), 16);
}

static void the_root_of_a_container_has_the_quota_of_its_group(void **state)
{
    (void)state;
    put("cpu.max", "400000 100000\n");

    assert_int_equal(worth("0::/../../as/the/host/names/it\n"), 4);
    assert_int_equal(worth("0::/"), 4);
}

static void the_controller_may_have_a_hierarchy_of_its_own(void **state)
{
    (void)state;
    put("cpu/a/cpu.cfs_quota_us", "-1\n");
    put("cpu/a/cpu.cfs_period_us", "100000\n");
    put("cpu/a/b/cpu.cfs_quota_us", "150000\n");
    put("cpu/a/b/cpu.cfs_period_us", "100000\n");

    assert_int_equal(worth("5:memory:/x\n4:cpu:/a/b\n1:cpuset:/\n0::/\n"), 2);
    assert_int_equal(worth("2:cpu,cpuacct:/a/b\n"), 2);
    assert_int_equal(worth("2:cpuacct,cpu:/a/b\n"), 2);
    assert_int_equal(worth("2:cpu:/a\n"), 16);
    assert_int_equal(worth("2:cpuacct:/a/b\n"), 16);
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
        cmocka_unit_test_setup_teardown(the_tightest_quota_above_a_group_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(the_root_of_a_container_has_the_quota_of_its_group, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_controller_may_have_a_hierarchy_of_its_own, setup,
                                        teardown),
        cmocka_unit_test(there_is_at_least_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
