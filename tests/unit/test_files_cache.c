/* The cache against a plain account of what was written to disk. */
#include "files_fake.h"

#include "internal/limits.h"
#include "text.h"

#define NAMES 24
#define CACHED_BYTES 20000 /* some of the files */
#define BODY_MAX 20000     /* some are maps */

struct model_file {
    bool exists;
    size_t len;
    char body[BODY_MAX];
    uint64_t changed_ms; /* when it last changed, by the fake clock */
};

static struct fake fake;
static struct model_file models[NAMES];
static struct model_file olds[NAMES]; /* what was there before the last change */

/* The path of file i; its name is what follows the slash. */
static void target_of(size_t i, char out[16])
{
    snprintf(out, 16, "/f%zu.txt", i % NAMES);
}

static void model_fill(struct rng *r, struct model_file *m)
{
    m->exists = true;
    m->len = rng_below(r, 4) == 0 ? 0 : rng_below(r, rng_below(r, 2) == 0 ? BODY_MAX : 3000);
    char c = (char)('a' + rng_below(r, 26));
    for (size_t i = 0; i < m->len; i++)
        m->body[i] = (char)(c + (char)(i % 7));
}

/* One change on disk: written in place, replaced by rename, or deleted. */
static void change(struct rng *r, size_t i)
{
    char target[16];
    char path[512];
    char temporary[512];
    struct model_file *m = &models[i];
    target_of(i, target);
    fake_path(&fake, target + 1, path);
    fake_path(&fake, "tmp", temporary);
    olds[i] = *m;
    switch (rng_below(r, 3)) {
    case 0:
        unlink(path);
        *m = (struct model_file){0};
        break;
    case 1:
        model_fill(r, m);
        unlink(path);
        fake_write(&fake, target + 1, m->body, m->len);
        break;
    default:
        model_fill(r, m);
        fake_write(&fake, "tmp", m->body, m->len);
        assert_int_equal(rename(temporary, path), 0);
        break;
    }
    m->changed_ms = fake.clock.now_ms;
}

static bool agrees(const struct model_file *m)
{
    const struct fake_answer *a = &fake.answer;
    if (!m->exists)
        return a->status == 404;
    char length[24];
    snprintf(length, sizeof(length), "%zu", m->len);
    return a->status == 200 && a->body_read == m->len && memcmp(a->body, m->body, m->len) == 0 &&
           weir_str_eq(fake_field(&fake, "content-length"), str_of(length));
}

static struct weir_memo memos[NAMES]; /* of the paths */

/* The answer shows what is on disk; within the time of freshness it may be what was there before.
 */
static void check(size_t i)
{
    char target[16];
    target_of(i, target);
    fake.request.path_memo = i % 4 == 0 ? NULL : &memos[i]; /* as if its path came again */
    fake_get(&fake, target);
    bool may_be_old = fake.clock.now_ms - models[i].changed_ms < LIMIT_CACHE_FRESH_MS;
    if (!agrees(&models[i]) && !(may_be_old && agrees(&olds[i])))
        fail_msg("%s: status %u, %zu bytes", target, fake.answer.status, fake.answer.body_read);
}

static void random_changes_show_whole_versions_in_time(void **state)
{
    (void)state;
    struct rng r = rng_new("cache");
    fake_init(&fake);
    fake_open(&fake, (struct files_config){.cached_max = 2, .cached_bytes = CACHED_BYTES});
    for (int step = 0; step < 8000; step++) {
        size_t i = rng_below(&r, rng_below(&r, 2) == 0 ? NAMES : 6);
        size_t what = rng_below(&r, 20);
        if (what == 0 && models[i].changed_ms + LIMIT_CACHE_FRESH_MS <= fake.clock.now_ms)
            change(&r, i);
        else if (what < 4)
            fake.clock.now_ms += rng_below(&r, LIMIT_CACHE_FRESH_MS / 2);
        else
            check(i);
    }
    fake_deinit(&fake);
}

static void an_edit_in_place_shows_after_the_time_of_freshness(void **state)
{
    (void)state;
    fake_init(&fake);
    fake_put(&fake, "a", "one");
    fake_open(&fake, (struct files_config){0});
    char before[64] = "";
    fake_get(&fake, "/a");
    text_add(before, sizeof(before), "%.*s", (int)fake_field(&fake, "etag").len,
             fake_field(&fake, "etag").ptr);

    fake_put(&fake, "a", "longer");
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;

    assert_int_equal(fake_get(&fake, "/a")->status, 200);
    assert_body(&fake, "longer");
    assert_false(weir_str_eq(fake_field(&fake, "etag"), str_of(before)));
    fake_deinit(&fake);
}

static void an_unchanged_file_is_looked_at_and_kept(void **state)
{
    (void)state;
    fake_init(&fake);
    fake_put(&fake, "a", "one");
    fake_open(&fake, (struct files_config){0});
    fake_get(&fake, "/a");

    /* Just after a change it is opened again, for the next one might not show; then no more. */
    uint64_t opened;
    int tries = 0;
    do {
        opened = fake.stats.calls.openat2;
        fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
        fake_get(&fake, "/a");
        assert_true(++tries < 10000000);
    } while (fake.stats.calls.openat2 != opened);

    uint64_t looked = fake.stats.calls.newfstatat;
    fake_get(&fake, "/a");
    assert_int_equal(fake.stats.calls.newfstatat, looked); /* it is fresh */
    fake_deinit(&fake);
}

static void a_file_in_demand_stays_while_others_pass_through(void **state)
{
    (void)state;
    fake_init(&fake);
    fake_put(&fake, "hot", "hot");
    for (size_t i = 0; i < NAMES; i++) {
        char target[16];
        target_of(i, target);
        fake_put(&fake, target + 1, target);
    }
    fake_open(&fake, (struct files_config){.cached_bytes = 6000});
    fake_get(&fake, "/hot");
    for (size_t i = 0; i < NAMES; i++) {
        char target[16];
        target_of(i, target);
        fake_get(&fake, target);
        uint64_t opened = fake.stats.calls.openat2;
        fake_get(&fake, "/hot");
        assert_int_equal(fake.stats.calls.openat2, opened);
    }
    fake_deinit(&fake);
}

/* With a queue of all, each would have gone just before it is asked for again. */
static void of_a_set_that_is_too_large_some_is_kept(void **state)
{
    (void)state;
    fake_init(&fake);
    for (size_t i = 0; i < NAMES; i++) {
        char target[16];
        target_of(i, target);
        fake_put(&fake, target + 1, target);
    }
    fake_open(&fake, (struct files_config){.cached_bytes = 6000}); /* some 9 of the files */
    uint64_t opened = 0;
    for (size_t i = 0; i < (size_t)40 * NAMES; i++) {
        char target[16];
        target_of(i, target);
        if (i == (size_t)20 * NAMES)
            opened = fake.stats.calls.close;
        fake_get(&fake, target);
        assert_body(&fake, target);
    }
    assert_in_range(fake.stats.calls.close - opened, 20 * NAMES / 2, 20 * NAMES * 3 / 4);
    fake_deinit(&fake);
}

/* The least memory and descriptors that are held once many files were asked for. */
static void what_is_kept_stays_within_its_bounds(void **state)
{
    (void)state;
    static char bytes[20000];
    fake_init(&fake);
    fake_open(&fake, (struct files_config){.cached_max = 3, .cached_bytes = 10000});
    for (size_t i = 0; i < NAMES; i++) {
        char target[16];
        target_of(i, target);
        fake_write(&fake, target + 1, bytes, i % 2 == 0 ? 500 : sizeof(bytes));
        assert_int_equal(fake_get(&fake, target)->status, 200);
    }

    uint64_t maps = fake.stats.calls.mmap - fake.stats.calls.munmap;
    assert_int_equal(maps, 3);
    /* an entry, a file and its description each */
    assert_in_range(mem_live(fake.mem), 3 * (3 + 2), 3 * (3 + 10));
    fake_deinit(&fake);
}

static size_t mem_bytes(const struct mem *m)
{
    size_t len = 0;
    for (size_t i = 0; i < MEM_CLASSES; i++)
        len += m->classes[i].live * m->classes[i].item_len;
    return len;
}

/* What a small file costs beside its bytes decides how many of them are found in memory. */
static void a_small_file_takes_little_more_than_its_bytes(void **state)
{
    (void)state;
    static const char bytes[1024];
    fake_init(&fake);
    fake_open(&fake, (struct files_config){.cached_bytes = 1 << 20});
    size_t before = mem_bytes(fake.mem);
    for (size_t i = 0; i < NAMES; i++) {
        char target[16];
        target_of(i, target);
        fake_write(&fake, target + 1, bytes, sizeof(bytes));
        assert_int_equal(fake_get(&fake, target)->status, 200);
    }
    assert_in_range((mem_bytes(fake.mem) - before) / NAMES, sizeof(bytes), sizeof(bytes) + 704);
    fake_deinit(&fake);
}

/* A memo stands for the path that it came with, for as long as nothing was dropped. */
static void a_memo_saves_the_lookup_until_it_could_be_wrong(void **state)
{
    (void)state;
    struct weir_memo memo = {0};
    fake_init(&fake);
    fake_put(&fake, "a", "first");
    fake_put(&fake, "b", "other");
    fake_open(&fake, (struct files_config){0});
    fake.request.path_memo = &memo;
    fake_get(&fake, "/a");
    fake_get(&fake, "/a"); /* found by its path: remembered */
    fake_get(&fake, "/b"); /* no lookup is made: the path is not looked at */
    assert_body(&fake, "first");

    fake.request.path_memo = NULL;
    fake_get(&fake, "/b");
    fake_put(&fake, "b", "");
    char path[512];
    fake_path(&fake, "b", path);
    unlink(path);
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    assert_int_equal(fake_get(&fake, "/b")->status, 404); /* an entry has gone */
    fake.request.path_memo = &memo;
    assert_int_equal(fake_get(&fake, "/b")->status, 404);
    assert_int_equal(fake_get(&fake, "/a")->status, 200);
    assert_body(&fake, "first");
    fake_deinit(&fake);
}

/* What it remembers is fresh, or is looked at like any other. */
static void a_memo_never_keeps_what_has_changed(void **state)
{
    (void)state;
    struct weir_memo memo = {0};
    fake_init(&fake);
    fake_put(&fake, "a", "one");
    fake_open(&fake, (struct files_config){0});
    fake.request.path_memo = &memo;
    fake_get(&fake, "/a");
    fake_get(&fake, "/a");
    fake_put(&fake, "a", "longer");
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    fake_get(&fake, "/a");
    assert_body(&fake, "longer");
    fake_deinit(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_show_whole_versions_in_time),
        cmocka_unit_test(an_edit_in_place_shows_after_the_time_of_freshness),
        cmocka_unit_test(an_unchanged_file_is_looked_at_and_kept),
        cmocka_unit_test(of_a_set_that_is_too_large_some_is_kept),
        cmocka_unit_test(what_is_kept_stays_within_its_bounds),
        cmocka_unit_test(a_small_file_takes_little_more_than_its_bytes),
        cmocka_unit_test(a_file_in_demand_stays_while_others_pass_through),
        cmocka_unit_test(a_memo_saves_the_lookup_until_it_could_be_wrong),
        cmocka_unit_test(a_memo_never_keeps_what_has_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
