/* Changes that the kernel tells of are seen at once, without a look until then; others in time. */
#include "files_fake.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "internal/limits.h"
#include "text.h"

/* Events that are lost: more than the kernel keeps of one instance (fs.inotify.max_queued_events).
 */
#define EVENTS_MANY 40000

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

/* System calls about what is on disk. */
static uint64_t questions(void)
{
    return fake.stats.calls.openat2 + fake.stats.calls.newfstatat + fake.stats.calls.fstat +
           fake.stats.calls.preadv2 + fake.stats.calls.pread64;
}

/* Ask for a path until it was looked at and found as it was, so that somebody may vouch for it. */
static void settle(const char *path)
{
    uint64_t opened;
    int tries = 0;
    fake_get(&fake, path);
    do {
        opened = fake.stats.calls.close;
        fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
        fake_get(&fake, path);
        assert_true(++tries < 10000000); /* what has changed just now is opened once more */
    } while (fake.stats.calls.close != opened);
}

/* The next request sees what has changed. */
static void assert_seen(const char *path, unsigned status, const char *body)
{
    fake.clock.now_ms++;
    assert_int_equal(fake_get(&fake, path)->status, status);
    if (body != NULL)
        assert_body(&fake, body);
}

static void move(const char *from, const char *to)
{
    char old[512];
    char new[512];
    fake_path(&fake, from, old);
    fake_path(&fake, to, new);
    assert_int_equal(rename(old, new), 0);
}

static void delete (const char *name)
{
    char path[512];
    fake_path(&fake, name, path);
    assert_int_equal(remove(path), 0);
}

/* ---- no question ---- */

static void assert_not_asked(const char *path, unsigned status)
{
    uint64_t asked = questions();
    /* Whoever settled it may have asked once since it was looked at. */
    for (int ms = 0; ms < LIMIT_CACHE_WATCHED_MS - 2 * LIMIT_CACHE_FRESH_MS; ms += 50) {
        fake.clock.now_ms += 50;
        assert_int_equal(fake_get(&fake, path)->status, status);
    }
    assert_int_equal(questions(), asked);
    fake.clock.now_ms += LIMIT_CACHE_WATCHED_MS;
    fake_get(&fake, path);
    assert_true(questions() > asked);
}

static void what_is_watched_is_not_asked_about(void **state)
{
    (void)state;
    fake_mkdir(&fake, "dir");
    fake_put(&fake, "dir/a.txt", "one");
    fake_put(&fake, "dir/index.html", "page");
    fake_open(&fake, (struct files_config){0});
    settle("/dir/a.txt");
    assert_not_asked("/dir/a.txt", 200);
    settle("/dir/");
    assert_not_asked("/dir/", 200);
    settle("/dir/none");
    assert_not_asked("/dir/none", 404);
    assert_int_equal(fake.stats.calls.inotify_add_watch, 2); /* of the root and of the directory */
}

/* ---- seen at once ---- */

static void changes_of_a_file_are_seen_at_once(void **state)
{
    (void)state;
    fake_mkdir(&fake, "dir");
    fake_put(&fake, "dir/a", "one");
    fake_open(&fake, (struct files_config){0});
    settle("/dir/a");
    fake_put(&fake, "dir/a", "edited");
    assert_seen("/dir/a", 200, "edited");
    settle("/dir/a");
    fake_put(&fake, "b", "replaced");
    move("b", "dir/a");
    assert_seen("/dir/a", 200, "replaced");
    settle("/dir/a");
    delete ("dir/a");
    assert_seen("/dir/a", 404, NULL);
    settle("/dir/a");
    fake_put(&fake, "dir/a", "again");
    assert_seen("/dir/a", 200, "again");
}

static void a_change_soon_after_the_first_request_is_seen_at_once_too(void **state)
{
    (void)state;
    fake_put(&fake, "watched", "");
    fake_put(&fake, "a", "one");
    fake_open(&fake, (struct files_config){0});
    settle("/watched");
    fake_get(&fake, "/a");
    fake_put(&fake, "a", "other");
    assert_seen("/a", 200, "other");
}

/* In the same tick as the change before: no look at it could tell. */
static void what_is_opened_just_after_a_change_is_vouched_for(void **state)
{
    (void)state;
    fake_put(&fake, "a", "one");
    fake_open(&fake, (struct files_config){0});
    settle("/a");
    fake_put(&fake, "a", "two");
    assert_seen("/a", 200, "two");
    uint64_t asked = questions();
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    assert_seen("/a", 200, "two");
    assert_int_equal(questions(), asked);
    fake_put(&fake, "a", "six");
    assert_seen("/a", 200, "six");
}

static void an_index_that_comes_and_changes_is_seen_at_once(void **state)
{
    (void)state;
    fake_mkdir(&fake, "dir");
    fake_open(&fake, (struct files_config){0});
    settle("/dir/");
    fake_put(&fake, "dir/index.html", "one");
    assert_seen("/dir/", 200, "one");
    settle("/dir/");
    fake_put(&fake, "dir/index.html", "two, longer");
    assert_seen("/dir/", 200, "two, longer");
}

static void a_sibling_that_comes_and_goes_is_seen_at_once(void **state)
{
    (void)state;
    fake_put(&fake, "a.js", "original");
    fake_open(&fake, (struct files_config){0});
    settle("/a.js");
    fake_put(&fake, "a.js.gz", "packed");
    fake.clock.now_ms++;
    fake_add_field(&fake, "accept-encoding", "gzip");
    fake_get(&fake, "/a.js");
    assert_body(&fake, "packed");
    settle("/a.js");
    delete ("a.js.gz");
    fake.clock.now_ms++;
    fake_add_field(&fake, "accept-encoding", "gzip");
    fake_get(&fake, "/a.js");
    assert_body(&fake, "original");
}

static void a_directory_above_that_is_moved_is_seen_at_once(void **state)
{
    (void)state;
    fake_mkdir(&fake, "a");
    fake_mkdir(&fake, "a/b");
    fake_mkdir(&fake, "a/b/c");
    fake_put(&fake, "a/b/c/file", "one");
    fake_open(&fake, (struct files_config){0});
    settle("/a/b/c/file");
    move("a", "away");
    assert_seen("/a/b/c/file", 404, NULL);
    assert_seen("/away/b/c/file", 200, "one");
    move("away", "a");
    assert_seen("/a/b/c/file", 200, "one");
    settle("/a/b/c/file");
    move("a/b", "a/old");
    fake_symlink(&fake, "old", "a/b");
    assert_seen("/a/b/c/file", 200, "one");
}

/* ---- seen in time ---- */

static void assert_seen_in_time(const char *path, const char *body)
{
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    assert_int_equal(fake_get(&fake, path)->status, 200);
    assert_body(&fake, body);
}

static void what_lies_behind_a_link_is_looked_at(void **state)
{
    (void)state;
    fake_mkdir(&fake, "far");
    fake_put(&fake, "far/file", "one");
    fake_symlink(&fake, "far/file", "link");
    fake_symlink(&fake, "far", "near");
    fake_open(&fake, (struct files_config){0});
    settle("/link");
    settle("/near/file");
    fake_put(&fake, "far/file", "other");
    assert_seen_in_time("/link", "other");
    assert_seen_in_time("/near/file", "other");
    fake_put(&fake, "far/file", "the third"); /* of what has been opened once more, too */
    assert_seen_in_time("/link", "the third");
    assert_seen_in_time("/near/file", "the third");
}

static void what_has_another_name_is_looked_at(void **state)
{
    (void)state;
    char old[512];
    char new[512];
    fake_put(&fake, "a", "one");
    fake_path(&fake, "a", old);
    fake_path(&fake, "../outside", new);
    assert_int_equal(link(old, new), 0);
    fake_open(&fake, (struct files_config){0});
    settle("/a");
    fake_put(&fake, "../outside", "other");
    assert_seen_in_time("/a", "other");
    fake_put(&fake, "../outside", "the third");
    assert_seen_in_time("/a", "the third");
}

/* Whoever watches the directory of the first name is told neither of the second nor of its use. */
static void another_name_that_comes_late_is_seen_after_the_longer_time(void **state)
{
    (void)state;
    char old[512];
    char new[512];
    fake_put(&fake, "a", "one");
    fake_path(&fake, "a", old);
    fake_path(&fake, "../late", new);
    fake_open(&fake, (struct files_config){0});
    settle("/a");
    assert_int_equal(link(old, new), 0);
    fake_put(&fake, "../late", "other");
    fake.clock.now_ms += LIMIT_CACHE_WATCHED_MS - LIMIT_CACHE_FRESH_MS;
    assert_seen_in_time("/a", "other");
    fake_put(&fake, "../late", "the third");
    assert_seen_in_time("/a", "the third");
}

static void a_link_that_leads_nowhere_is_looked_at(void **state)
{
    (void)state;
    fake_mkdir(&fake, "far");
    fake_symlink(&fake, "far/file", "link");
    fake_open(&fake, (struct files_config){0});
    settle("/link");
    assert_int_equal(fake.answer.status, 404);
    fake_put(&fake, "far/file", "there");
    assert_seen_in_time("/link", "there");
}

/* Nobody is told of it. */
static void a_store_into_a_map_is_seen_after_the_longer_time(void **state)
{
    (void)state;
    char path[512];
    fake_put(&fake, "a", "one");
    fake_open(&fake, (struct files_config){0});
    fake_path(&fake, "a", path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char *map = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    close(fd);
    settle("/a");
    for (int i = 0; i < 3; i++)
        map[i] = "two"[i];
    assert_int_equal(msync(map, 3, MS_SYNC), 0);
    munmap(map, 3);
    fake.clock.now_ms += LIMIT_CACHE_WATCHED_MS;
    fake_get(&fake, "/a");
    assert_body(&fake, "two");
}

/* ---- the unlikely ---- */

static void a_change_whose_event_was_lost_is_seen_at_once(void **state)
{
    (void)state;
    char path[2][512];
    fake_put(&fake, "a", "one");
    fake_put(&fake, "b", "");
    fake_put(&fake, "c", "");
    fake_open(&fake, (struct files_config){0});
    settle("/a");
    fake_path(&fake, "b", path[0]);
    fake_path(&fake, "c", path[1]);
    for (int i = 0; i < EVENTS_MANY; i++)
        assert_int_equal(chmod(path[i % 2], 0644), 0);
    fake_put(&fake, "a", "other");
    assert_seen("/a", 200, "other");
    settle("/a");
    fake_put(&fake, "a", "and again");
    assert_seen("/a", 200, "and again");
}

/* More directories than are watched: each is seen, at once or in time. */
static void more_directories_than_are_watched(void **state)
{
    (void)state;
    char name[64];
    fake_open(&fake, (struct files_config){0});
    for (int i = 0; i < LIMIT_WATCHED_DIRS + 50; i++) {
        snprintf(name, sizeof(name), "d%d", i);
        fake_mkdir(&fake, name);
        text_add(name, sizeof(name), "/f");
        fake_put(&fake, name, "one");
        snprintf(name, sizeof(name), "/d%d/f", i);
        fake_get(&fake, name);
        fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
        fake_get(&fake, name);
    }
    uint64_t watched = fake.stats.calls.inotify_add_watch - fake.stats.calls.inotify_rm_watch;
    assert_in_range(watched, LIMIT_WATCHED_DIRS / 2, LIMIT_WATCHED_DIRS);
    fake_put(&fake, "d0/f", "other");
    fake.clock.now_ms++;
    fake_get(&fake, "/d0/f");
    assert_body(&fake, "other");
}

/* ---- what is known of a directory ---- */

/* Files of a directory that is scanned by then. */
static void put_many(int count)
{
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "f%d.txt", i);
        fake_put(&fake, name, name);
    }
}

/* Ask for some of them: as many as make it worth to scan. */
static void get_some(void)
{
    char path[32];
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "/f%d.txt", i);
        fake_get(&fake, path);
    }
}

static void a_miss_asks_for_no_siblings_in_vain(void **state)
{
    (void)state;
    put_many(20);
    fake_put(&fake, "f9.txt.gz", "packed");
    fake_open(&fake, (struct files_config){0});
    get_some();
    uint64_t opened = fake.stats.calls.openat2;
    fake_get(&fake, "/f8.txt");
    assert_body(&fake, "f8.txt");
    assert_int_equal(fake.stats.calls.openat2, opened + 1);

    fake_add_field(&fake, "accept-encoding", "gzip");
    fake_get(&fake, "/f9.txt");
    assert_body(&fake, "packed");
    fake_put(&fake, "f10.txt.gz", "packed too");
    fake.clock.now_ms++;
    fake_add_field(&fake, "accept-encoding", "gzip");
    fake_get(&fake, "/f10.txt");
    assert_body(&fake, "packed too");
}

/* One request is enough for a file in a directory that is watched, unless it has other names. */
static void a_miss_is_vouched_for_by_the_watch_there_is(void **state)
{
    (void)state;
    char old[512];
    char new[512];
    put_many(20);
    fake_open(&fake, (struct files_config){0});
    get_some();
    fake_get(&fake, "/f8.txt");
    uint64_t asked = questions();
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    assert_seen("/f8.txt", 200, "f8.txt");
    assert_int_equal(questions(), asked);
    fake_put(&fake, "f8.txt", "other!");
    assert_seen("/f8.txt", 200, "other!");

    fake_path(&fake, "f9.txt", old);
    fake_path(&fake, "../outside", new);
    assert_int_equal(link(old, new), 0);
    fake_get(&fake, "/f9.txt");
    fake_put(&fake, "../outside", "other!");
    assert_seen_in_time("/f9.txt", "other!");
}

static void what_is_no_regular_file_is_not_taken_for_one(void **state)
{
    (void)state;
    char path[512];
    put_many(20);
    fake_mkdir(&fake, "dir");
    fake_symlink(&fake, "f11.txt", "link");
    fake_open(&fake, (struct files_config){0});
    get_some();
    fake_path(&fake, "fifo", path);
    assert_int_equal(mkfifo(path, 0644), 0);
    fake.clock.now_ms++;
    assert_int_equal(fake_get(&fake, "/fifo")->status, 404);
    assert_int_equal(fake_get(&fake, "/dir")->status, 308);
    fake_get(&fake, "/link");
    assert_body(&fake, "f11.txt");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(what_is_watched_is_not_asked_about),
        TEST(changes_of_a_file_are_seen_at_once),
        TEST(a_change_soon_after_the_first_request_is_seen_at_once_too),
        TEST(what_is_opened_just_after_a_change_is_vouched_for),
        TEST(an_index_that_comes_and_changes_is_seen_at_once),
        TEST(a_sibling_that_comes_and_goes_is_seen_at_once),
        TEST(a_directory_above_that_is_moved_is_seen_at_once),
        TEST(what_lies_behind_a_link_is_looked_at),
        TEST(another_name_that_comes_late_is_seen_after_the_longer_time),
        TEST(what_has_another_name_is_looked_at),
        TEST(a_link_that_leads_nowhere_is_looked_at),
        TEST(a_store_into_a_map_is_seen_after_the_longer_time),
        TEST(a_change_whose_event_was_lost_is_seen_at_once),
        TEST(more_directories_than_are_watched),
        TEST(a_miss_asks_for_no_siblings_in_vain),
        TEST(a_miss_is_vouched_for_by_the_watch_there_is),
        TEST(what_is_no_regular_file_is_not_taken_for_one),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
