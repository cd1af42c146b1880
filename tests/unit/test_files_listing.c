/* Directories as pages and as JSON. */
#include "files_fake.h"

#include "directory.h"
#include "escape.h"
#include "internal/limits.h"
#include "listing_page.h"
#include "root.h"

static struct fake fake;

static void stamp(const char *name)
{
    char path[512];
    struct timespec times[2] = {{.tv_sec = 784111777}, {.tv_sec = 784111777}};
    fake_path(&fake, name, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int setup(void **state)
{
    (void)state;
    fake_init(&fake);
    fake_mkdir(&fake, "d");
    fake_put(&fake, "d/b.txt", "12345");
    fake_put(&fake, "d/a <&>\"'.txt", "x");
    fake_put(&fake, "d/.hidden", "SECRET");
    fake_put(&fake, "d/hidden\\from.txt", "no path leads to it");
    fake_put(&fake, "d/bad\xff\nname", "");
    fake_mkdir(&fake, "d/sub");
    fake_symlink(&fake, "/etc/passwd", "d/link");
    fake_mkdir(&fake, "with");
    fake_put(&fake, "with/index.html", "<p>index");
    fake_mkdir(&fake, ".git");
    stamp("d/b.txt");
    stamp("d/a <&>\"'.txt");
    stamp("d/bad\xff\nname");
    stamp("d/sub");
    fake_open(&fake, (struct files_config){.server = WEIR_STR("weir"), .lists_directories = true});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_deinit(&fake);
    return 0;
}

static void a_page_names_what_may_be_seen_in_order(void **state)
{
    (void)state;
    assert_int_equal(fake_get(&fake, "/d/")->status, 200);

    assert_field(&fake, "content-type", "text/html; charset=utf-8");
    assert_field(&fake, "cache-control", "no-cache");
    assert_field(&fake, "vary", "accept");
    assert_field(&fake, "x-content-type-options", "nosniff");
    const char *body = fake.answer.body;
    static const char *const want[] = {
        "<a href=\"../\">",
        "<a href=\"./a%20%3C&#38;%3E%22&#39;.txt\">a &#60;&#38;&#62;&#34;&#39;.txt</a><td>1",
        "<a href=\"./b.txt\">b.txt</a><td>5<td>Sun, 06 Nov 1994 08:49:37 GMT",
        "<a href=\"./bad%FF%0Aname\">bad\xef\xbf\xbd\xef\xbf\xbdname</a>",
        "<a href=\"./link\">link</a>",
        "<a href=\"./sub/\">sub/</a>",
    };
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        const char *found = strstr(body, want[i]);
        if (found == NULL) {
            fail_msg("%s is not in %s", want[i], body);
            return;
        }
        body = found;
    }
    assert_null(strstr(fake.answer.body, "hidden"));
    assert_null(strstr(fake.answer.body, "page="));
}

static void programs_get_json(void **state)
{
    (void)state;
    char path[512];
    fake_path(&fake, "d/link", path);
    assert_int_equal(unlink(path), 0); /* its time is that of the test */
    fake_add_field(&fake, "accept", "application/json");

    assert_int_equal(fake_get(&fake, "/d/")->status, 200);

    assert_field(&fake, "content-type", "application/json");
    char *sub = strstr(fake.answer.body,
                       "{\"name\":\"sub\",\"href\":\"./sub/\",\"type\":\"directory\",\"size\":0");
    assert_non_null(sub);
    *sub = '\0';
    assert_string_equal(
        fake.answer.body,
        "{\"path\":\"/d/\",\"page\":1,\"pages\":1,\"complete\":true,\"entries\":[\n"
        "{\"name\":\"a "
        "<&>\\u0022'.txt\",\"href\":\"./"
        "a%20%3C&%3E%22'.txt\",\"type\":\"file\",\"size\":1,\"modified\":784111777},\n"
        "{\"name\":\"b.txt\",\"href\":\"./"
        "b.txt\",\"type\":\"file\",\"size\":5,\"modified\":784111777},\n"
        "{\"name\":\"bad\xef\xbf\xbd\\u000aname\",\"href\":\"./"
        "bad%FF%0Aname\",\"type\":\"file\",\"size\":0,"
        "\"modified\":784111777},\n");
}

static void a_listing_has_a_tag_of_its_content(void **state)
{
    (void)state;
    char etag[64];
    fake_get(&fake, "/d/");
    struct weir_str tag = fake_field(&fake, "etag");
    snprintf(etag, sizeof(etag), "%.*s", (int)tag.len, tag.ptr);

    fake_add_field(&fake, "if-none-match", etag);
    assert_int_equal(fake_get(&fake, "/d/")->status, 304);
    assert_field(&fake, "etag", etag);
    assert_field(&fake, "content-type", "");
    fake_add_field(&fake, "if-match", "\"x\"");
    assert_int_equal(fake_get(&fake, "/d/")->status, 412);

    fake_put(&fake, "d/new", "");
    fake_add_field(&fake, "if-none-match", etag);
    assert_int_equal(fake_get(&fake, "/d/")->status, 200);
}

static void head_of_a_listing_has_no_body(void **state)
{
    (void)state;
    assert_int_equal(fake_ask(&fake, "HEAD", "/d/")->status, 200);

    assert_int_equal(fake.answer.body_len, 0);
    assert_int_not_equal(fake_field(&fake, "content-length").len, 0);
}

static void other_paths_are_answered_as_before(void **state)
{
    (void)state;
    assert_int_equal(fake_get(&fake, "/")->status, 200); /* the root has no index */
    assert_null(strstr(fake.answer.body, "../"));
    assert_null(strstr(fake.answer.body, ".git"));
    assert_int_equal(fake_get(&fake, "/with/")->status, 200);
    assert_body(&fake, "<p>index");
    assert_int_equal(fake_get(&fake, "/d")->status, 308);
    assert_int_equal(fake_get(&fake, "/none/")->status, 404);
    assert_int_equal(fake_get(&fake, "/d/b.txt/")->status, 404);
    assert_int_equal(fake_get(&fake, "/.git/")->status, 404);
    assert_int_equal(fake_get(&fake, "/d/link/")->status, 404);
}

static void long_listings_come_in_pages(void **state)
{
    (void)state;
    char name[64];
    fake_mkdir(&fake, "long");
    for (int i = 0; i < LISTING_PAGE + 5; i++) {
        snprintf(name, sizeof(name), "long/f%05d", i);
        fake_put(&fake, name, "");
    }

    assert_int_equal(fake_get(&fake, "/long/")->status, 200);
    assert_non_null(strstr(fake.answer.body, ">f00000<"));
    assert_non_null(strstr(fake.answer.body, ">f00999<"));
    assert_null(strstr(fake.answer.body, ">f01000<"));
    assert_non_null(strstr(fake.answer.body, "\"?page=2\""));
    assert_int_equal(fake_get(&fake, "/long/?page=2")->status, 200);
    assert_non_null(strstr(fake.answer.body, ">f01004<"));
    assert_null(strstr(fake.answer.body, ">f00999<"));
    assert_non_null(strstr(fake.answer.body, "\"?page=1\""));
    assert_null(strstr(fake.answer.body, "\"?page=3\""));
    static const char *const second[] = {"/long/?page=2", "/long/?page=2&page=1",
                                         "/long/?sort=size&page=2", "/long/?page=02&x",
                                         "/long/?&&page=2&"};
    for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
        assert_int_equal(fake_get(&fake, second[i])->status, 200);
        assert_non_null(strstr(fake.answer.body, ">f01004<"));
    }
    static const char *const first[] = {"/long/?", "/long/?xpage=2", "/long/?page",
                                        "/long/?a=page=2"};
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
        assert_int_equal(fake_get(&fake, first[i])->status, 200);
        assert_non_null(strstr(fake.answer.body, ">f00000<"));
    }
    static const char *const none[] = {"/long/?page=3", "/long/?page=0",
                                       "/long/?page=", "/long/?page=x",
                                       "/long/?page=99999999999999999999"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_int_equal(fake_get(&fake, none[i])->status, 404);
    assert_int_equal(fake_get(&fake, "/long/?sort=size")->status, 200);
}

/* Names in an order that is not theirs: 7919 shares no factor with their number. */
static void make_names(const char *dir, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s/%zu", dir, i * 7919 % count);
        fake_put(&fake, name, "");
    }
}

static void names_come_in_order_wherever_one_begins(void **state)
{
    (void)state;
    enum { COUNT = 12000 };
    char path[512];
    struct directory d;
    struct stats stats = {0};
    const struct root root = {.fd = -1, .stats = &stats};
    fake_mkdir(&fake, "heap");
    make_names("heap", COUNT);
    fake_path(&fake, "heap", path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(directory_read(&d, &root, fd), 0);

    assert_int_equal(d.count, COUNT);
    assert_false(d.is_cut);
    assert_string_equal(directory_name(&d, 1), "1");
    const char *before = directory_name(&d, 5000);
    for (size_t i = 5001; i < COUNT; i++) {
        const char *name = directory_name(&d, i);
        assert_true(strcmp(before, name) < 0);
        before = name;
    }
    assert_string_equal(directory_name(&d, 0), "0");
    assert_string_equal(directory_name(&d, COUNT - 1), "9999");
    directory_deinit(&d, &root);
    close(fd);
    assert_int_equal(stats.calls.mmap, stats.calls.munmap);
}

static void no_name_of_a_large_directory_is_left_out(void **state)
{
    (void)state;
    fake_mkdir(&fake, "large");
    make_names("large", 10 * LISTING_PAGE + 3);
    fake_add_field(&fake, "accept", "application/json");
    assert_int_equal(fake_get(&fake, "/large/?page=11")->status, 200);
    assert_non_null(strstr(fake.answer.body, "\"pages\":11,\"complete\":true"));
    assert_non_null(strstr(fake.answer.body, "\"9999\""));
}

static void listings_are_off_by_default(void **state)
{
    (void)state;
    files_free(fake.files);
    fake_open(&fake, (struct files_config){0});

    assert_int_equal(fake_get(&fake, "/d/")->status, 404);
}

static void utf8_is_told_from_what_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {
        {"", 0},
        {"a", 1},
        {"\xc3\xa4", 2},
        {"\xe2\x82\xac", 3},
        {"\x80", 0},
        {"\xc3", 0},
        {"\xf0\x9f\x98\x80", 4},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xed\xa0\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xe2\x82", 0},
        {"\xe2\x28\xac", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(utf8_len(str_of(rows[i].text)), rows[i].len);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_page_names_what_may_be_seen_in_order),
        CASE(programs_get_json),
        CASE(a_listing_has_a_tag_of_its_content),
        CASE(head_of_a_listing_has_no_body),
        CASE(other_paths_are_answered_as_before),
        CASE(long_listings_come_in_pages),
        CASE(names_come_in_order_wherever_one_begins),
        CASE(no_name_of_a_large_directory_is_left_out),
        CASE(listings_are_off_by_default),
        cmocka_unit_test(utf8_is_told_from_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
