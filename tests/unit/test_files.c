/* Files as a client sees them. */
#include "files_fake.h"

#include <sys/resource.h>
#include <sys/time.h>

#include "internal/limits.h"
#include "map_guard.h"
#include "window.h"

static struct fake fake;

static int setup(void **state)
{
    (void)state;
    fake_init(&fake);
    fake_put(&fake, "index.html", "<h1>hello</h1>");
    fake_put(&fake, "../secret", "SECRET");
    fake_mkdir(&fake, "sub");
    fake_put(&fake, "sub/page.html", "page");
    fake_put(&fake, "a b.txt", "blank");
    fake_put(&fake, "100%", "percent");
    fake_put(&fake, "%2e", "text");
    fake_put(&fake, "empty", "");
    fake_open(&fake, (struct files_config){.server = WEIR_STR("weir")});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_deinit(&fake);
    return 0;
}

static void a_file_comes_with_its_fields(void **state)
{
    (void)state;
    char path[512];
    fake_path(&fake, "index.html", path);
    struct timespec times[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);

    assert_int_equal(fake_get(&fake, "/index.html")->status, 200);

    assert_body(&fake, "<h1>hello</h1>");
    assert_field(&fake, "server", "weir");
    assert_field(&fake, "content-type", "text/html; charset=utf-8");
    assert_field(&fake, "content-length", "14");
    assert_field(&fake, "last-modified", "Tue, 14 Nov 2023 22:13:20 GMT");
    assert_int_equal(fake_field(&fake, "etag").ptr[0], '"');
}

static void head_has_the_fields_of_get_and_no_body(void **state)
{
    (void)state;
    char text[FAKE_TEXT_MAX];
    size_t count = fake_get(&fake, "/index.html")->field_count;
    memcpy(text, fake.answer.text, sizeof(text));

    assert_int_equal(fake_ask(&fake, "HEAD", "/index.html")->status, 200);

    assert_int_equal(fake.answer.body_len, 0);
    assert_int_equal(fake.answer.field_count, count);
    assert_memory_equal(fake.answer.text, text, sizeof(text));
}

static void an_empty_file_is_a_200_without_body(void **state)
{
    (void)state;
    assert_int_equal(fake_get(&fake, "/empty")->status, 200);

    assert_int_equal(fake.answer.body_len, 0);
    assert_field(&fake, "content-length", "0");
    assert_int_equal(fake.stats.calls.mmap, 0);
}

static void a_directory_means_its_index(void **state)
{
    (void)state;
    assert_int_equal(fake_get(&fake, "/")->status, 200);
    assert_body(&fake, "<h1>hello</h1>");
    assert_field(&fake, "content-type", "text/html; charset=utf-8");
    assert_int_equal(fake_get(&fake, "/sub/")->status, 404);
}

static void other_methods_are_told_which_are_allowed(void **state)
{
    (void)state;
    static const char *const methods[] = {"POST", "PUT", "DELETE", "TRACE", "get", "G", ""};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        assert_int_equal(fake_ask(&fake, methods[i], "/")->status, 405);
        assert_field(&fake, "allow", "GET, HEAD, OPTIONS");
    }
}

static void a_path_leads_to_its_file_whatever_its_spelling(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        unsigned status;
        const char *body;
    } rows[] = {
        {"/sub/page.html", 200, "page"},
        {"/sub//page.html", 200, "page"},
        {"/sub/./page.html", 200, "page"},
        {"/x/../sub/page.html", 200, "page"},
        {"/%73ub/page.html", 200, "page"},
        {"/sub/page.html?a=/../b", 200, "page"},
        {"/a%20b.txt", 200, "blank"},
        {"/100%25", 200, "percent"},
        {"/100%", 400, NULL},
        {"/%252e", 200, "text"},
        {"/%2e", 200, "<h1>hello</h1>"},
        {"/?", 200, "<h1>hello</h1>"},
        {"/a b.txt", 400, NULL},
        {"/sub/page.html/", 404, NULL},
        {"/missing", 404, NULL},
        {"/missing/x", 404, NULL},
        {"", 400, NULL},
        {"*", 400, NULL},
        {"/../secret", 400, NULL},
        {"/%2e%2e/secret", 400, NULL},
        {"/..%2fsecret", 400, NULL},
        {"/sub/../../secret", 400, NULL},
        {"/%252e%252e/secret", 404, NULL},
        {"/..%5csecret", 400, NULL},
        {"/a%00b", 400, NULL},
        {"/secret", 404, NULL},
    };
    for (int round = 0; round < 2; round++) { /* cold, then from the cache */
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            const struct fake_answer *a = fake_get(&fake, rows[i].target);
            if (a->status != rows[i].status)
                fail_msg("%s: %u", rows[i].target, a->status);
            if (rows[i].body != NULL)
                assert_body(&fake, rows[i].body);
            else
                assert_null(strstr(a->body, "SECRET"));
        }
    }
}

static void a_path_that_is_too_long_is_414(void **state)
{
    (void)state;
    static char path[LIMIT_PATH_LEN + 2];
    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';

    assert_int_equal(fake_get(&fake, path)->status, 414);
    path[LIMIT_PATH_LEN] = '\0';
    assert_int_equal(fake_get(&fake, path)->status, 404); /* longer than any name */
}

static void links_are_followed_inside_the_root_only(void **state)
{
    (void)state;
    char absolute[512];
    fake_path(&fake, "index.html", absolute);
    fake_symlink(&fake, "index.html", "inside");
    fake_symlink(&fake, "sub", "subdir");
    fake_symlink(&fake, "../index.html", "sub/up");
    fake_symlink(&fake, "../secret", "outside");
    fake_symlink(&fake, "..", "parent");
    fake_symlink(&fake, "/etc/passwd", "passwd");
    fake_symlink(&fake, absolute, "absolute");
    fake_symlink(&fake, "loop", "loop");
    fake_symlink(&fake, "sub/../../root/index.html", "reenter");
    fake_symlink(&fake, "/proc/self/cwd", "magic");

    assert_int_equal(fake_get(&fake, "/inside")->status, 200);
    assert_body(&fake, "<h1>hello</h1>");
    assert_int_equal(fake_get(&fake, "/subdir/page.html")->status, 200);
    assert_int_equal(fake_get(&fake, "/sub/up")->status, 200);
    assert_int_equal(fake_get(&fake, "/absolute")->status, 200);
    assert_body(&fake, "<h1>hello</h1>");
    static const char *const outside[] = {"/outside", "/parent/secret", "/passwd",
                                          "/loop",    "/reenter",       "/magic"};
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
        assert_int_equal(fake_get(&fake, outside[i])->status, 404);
}

static void a_link_that_turns_outside_is_not_served_any_more(void **state)
{
    (void)state;
    char path[512];
    fake_path(&fake, "link", path);
    fake_symlink(&fake, "index.html", "link");
    assert_int_equal(fake_get(&fake, "/link")->status, 200);

    assert_int_equal(unlink(path), 0);
    fake_symlink(&fake, "../secret", "link");
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;

    assert_int_equal(fake_get(&fake, "/link")->status, 404);
}

static void what_is_no_file_is_404_and_does_not_block(void **state)
{
    (void)state;
    char path[512];
    fake_path(&fake, "fifo", path);
    assert_int_equal(mkfifo(path, 0644), 0);

    assert_int_equal(fake_get(&fake, "/fifo")->status, 404);
    assert_int_not_equal(fake_get(&fake, "/sub")->status, 200);
}

static void a_file_that_may_not_be_read_is_403(void **state)
{
    (void)state;
    char path[512];
    uid_t user = geteuid();
    fake_path(&fake, "index.html", path);
    assert_int_equal(chmod(path, 0), 0);
    if (user == 0)
        assert_int_equal(seteuid(65534), 0); /* root may read everything */

    fake_get(&fake, "/index.html");
    if (user == 0)
        assert_int_equal(seteuid(0), 0);

    assert_int_equal(fake.answer.status, 403);
}

static void want_of_descriptors_is_503_never_404(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    struct rlimit none = {.rlim_cur = (rlim_t)next, .rlim_max = before.rlim_max};
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);

    fake_get(&fake, "/index.html");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);

    assert_int_equal(fake.answer.status, 503);
    assert_int_not_equal(fake_field(&fake, "retry-after").len, 0);
    assert_int_equal(fake_get(&fake, "/index.html")->status, 200);
}

#define LARGE ((size_t)3 * 1024 * 1024 + 123)

static void large_setup(char *bytes)
{
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (char)(i * 31 >> 7);
    fake_write(&fake, "large", bytes, LARGE);
}

static void a_large_file_comes_whole_from_its_map(void **state)
{
    (void)state;
    char *bytes = malloc(LARGE);
    large_setup(bytes);
    fake.read_max = SIZE_MAX;

    assert_int_equal(fake_get(&fake, "/large")->status, 200);

    assert_int_equal(fake.answer.body_read, LARGE);
    assert_memory_equal(fake.answer.body, bytes, LARGE);
    assert_int_equal(fake.answer.slices, (LARGE + CHUNK_LEN - 1) / CHUNK_LEN);
    free(bytes);
}

static void large_cut(struct fake *f, uint64_t offset)
{
    char path[512];
    fake_path(f, "large", path);
    if (offset == (uint64_t)1024 * 1024)
        assert_int_equal(truncate(path, 100), 0);
}

static void a_file_that_shrinks_under_a_response_resets_it(void **state)
{
    (void)state;
    char *bytes = malloc(LARGE);
    large_setup(bytes);
    fake.read_max = SIZE_MAX;
    fake.before_read = large_cut;

    fake_get(&fake, "/large");

    assert_true(fake.answer.is_broken);
    assert_int_equal(fake.answer.body_read, 1024 * 1024);
    fake.before_read = NULL;
    assert_int_equal(fake_get(&fake, "/large")->body_len, 100); /* not from the cache */
    free(bytes);
}

static void cut_short(struct fake *f, uint64_t offset)
{
    char path[512];
    fake_path(f, "large", path);
    if (offset == 0)
        assert_int_equal(truncate(path, 100), 0);
}

static void bytes_that_are_lost_while_read_reset_the_response(void **state)
{
    (void)state;
    assert_int_equal(map_guard_install(), WEIR_OK);
    char *bytes = malloc(LARGE);
    large_setup(bytes);
    fake_write(&fake, "large", bytes, 60000); /* a map of less than a chunk */
    fake.before_read = cut_short;

    fake_get(&fake, "/large");

    assert_true(fake.answer.is_broken);
    fake.before_read = NULL;
    assert_int_equal(fake_get(&fake, "/large")->body_len, 100);
    free(bytes);
}

static void what_is_missing_is_not_looked_for_twice(void **state)
{
    (void)state;
    fake_get(&fake, "/none");
    uint64_t opened = fake.stats.calls.openat2;
    uint64_t looked = fake.stats.calls.newfstatat;

    for (int i = 0; i < 100; i++)
        assert_int_equal(fake_get(&fake, "/none")->status, 404);
    assert_int_equal(fake.stats.calls.openat2, opened);
    assert_int_equal(fake.stats.calls.newfstatat, looked);

    fake_put(&fake, "none", "there");
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    assert_int_equal(fake_get(&fake, "/none")->status, 200);
}

static void a_map_that_was_edited_is_opened_anew(void **state)
{
    (void)state;
    char *bytes = malloc(LARGE);
    large_setup(bytes);
    assert_int_equal(fake_get(&fake, "/large")->body_len, LARGE);

    bytes[5]++;
    fake.clock.now_ms++;
    fake_write(&fake, "large", bytes, LARGE - 1);

    assert_int_equal(fake_get(&fake, "/large")->body_len, LARGE - 1);
    assert_memory_equal(fake.answer.body, bytes, LARGE - 1);
    free(bytes);
}

static void a_warm_request_makes_no_system_call(void **state)
{
    (void)state;
    fake_get(&fake, "/index.html");
    struct stats before = fake.stats;
    size_t live = mem_live(fake.mem);

    for (int i = 0; i < 1000; i++)
        assert_int_equal(fake_get(&fake, "/index.html")->status, 200);

    assert_memory_equal(&before, &fake.stats, sizeof(before));
    assert_int_equal(mem_live(fake.mem), live);
}

static void a_root_that_cannot_be_read_is_refused(void **state)
{
    (void)state;
    struct files *files;
    struct files_config config = {.root = "/nonexistent"};

    assert_int_equal(files_new(&config, fake.mem, &fake.clock, &fake.stats, &files), WEIR_CONFIG);
    assert_null(files);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_file_comes_with_its_fields),
        CASE(head_has_the_fields_of_get_and_no_body),
        CASE(an_empty_file_is_a_200_without_body),
        CASE(a_directory_means_its_index),
        CASE(other_methods_are_told_which_are_allowed),
        CASE(a_path_leads_to_its_file_whatever_its_spelling),
        CASE(a_path_that_is_too_long_is_414),
        CASE(links_are_followed_inside_the_root_only),
        CASE(a_link_that_turns_outside_is_not_served_any_more),
        CASE(what_is_no_file_is_404_and_does_not_block),
        CASE(a_file_that_may_not_be_read_is_403),
        CASE(want_of_descriptors_is_503_never_404),
        CASE(a_large_file_comes_whole_from_its_map),
        CASE(a_file_that_shrinks_under_a_response_resets_it),
        CASE(bytes_that_are_lost_while_read_reset_the_response),
        CASE(what_is_missing_is_not_looked_for_twice),
        CASE(a_map_that_was_edited_is_opened_anew),
        CASE(a_warm_request_makes_no_system_call),
        CASE(a_root_that_cannot_be_read_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
