/* A directory that is not in memory when it is to be watched is watched as soon as it is. */
#include "files_fake.h"

#include <errno.h>

#include "internal/limits.h"
#include "root.h"

/* Together less than it takes until what cannot be watched is tried once more. */
#define LOOKS 4

static_assert(2 * LOOKS * LIMIT_CACHE_FRESH_MS < LIMIT_CACHE_WATCHED_MS, "tried at once");

static bool is_cold;

/* NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): linker's names */
int __real_root_open_dir(const struct root *root, const char *path);
int __wrap_root_open_dir(const struct root *root, const char *path);

/* As the kernel says it of one that it would have to read from the disk. */
int __wrap_root_open_dir(const struct root *root, const char *path)
{
    if (!is_cold)
        return __real_root_open_dir(root, path);
    errno = EAGAIN;
    return -1;
}
/* NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier) */

static struct fake fake;

static int set_up(void **state)
{
    (void)state;
    fake_init(&fake);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_deinit(&fake);
    return 0;
}

static void get_for_a_while(void)
{
    for (int i = 0; i < LOOKS; i++) {
        fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
        assert_int_equal(fake_get(&fake, "/dir/a")->status, 200);
    }
}

static void a_directory_is_watched_once_it_is_in_memory(void **state)
{
    (void)state;
    fake_mkdir(&fake, "dir");
    fake_put(&fake, "dir/a", "one");
    fake_open(&fake, (struct files_config){0});
    is_cold = true;
    get_for_a_while();
    assert_int_equal(fake.stats.calls.inotify_add_watch, 0);
    is_cold = false;
    get_for_a_while();
    assert_int_equal(fake.stats.calls.inotify_add_watch, 2); /* of the root and of the directory */
    fake_put(&fake, "dir/a", "two");
    fake.clock.now_ms++;
    fake_get(&fake, "/dir/a");
    assert_body(&fake, "two");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_directory_is_watched_once_it_is_in_memory, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
