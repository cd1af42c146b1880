/* Requests and answers, row by row: methods, preconditions, ranges, redirects, failures. */
#include "files_fake.h"

#include "internal/limits.h"

#define MTIME_S 784111777
#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"
#define BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define BIG 2000

static struct fake fake;
static char etag[64];     /* of /a.txt */
static char big[BIG + 1]; /* the bytes of /big.txt */

static void put_dated(const char *name, const char *text, time_t mtime_s)
{
    char path[512];
    struct timespec times[2] = {{.tv_sec = mtime_s}, {.tv_sec = mtime_s}};
    fake_put(&fake, name, text);
    fake_path(&fake, name, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const struct path_rule rules[] = {
    {WEIR_STR_INIT("/pinned/**"), WEIR_STR_INIT("max-age=60")},
};

static int setup(void **state)
{
    (void)state;
    fake_init(&fake);
    fake.clock.date_s = 1700000000;
    put_dated("a.txt", "0123456789", MTIME_S);
    for (int i = 0; i < BIG; i++)
        big[i] = (char)('a' + i % 26);
    put_dated("big.txt", big, MTIME_S);
    put_dated("empty.txt", "", MTIME_S);
    put_dated("epoch.txt", "from an image", 0);
    put_dated("zip.txt", "from an archive", 315532800);
    put_dated("app.3f2a9c1b.js", "hashed", MTIME_S);
    put_dated("index.html", "<p>home", MTIME_S);
    fake_mkdir(&fake, "dir");
    put_dated("dir/index.html", "<p>dir", MTIME_S);
    fake_mkdir(&fake, "a:b c");
    fake_mkdir(&fake, "pinned");
    put_dated("pinned/x.html", "<p>x", MTIME_S);
    fake_mkdir(&fake, ".git");
    put_dated(".git/config", "SECRET", MTIME_S);
    put_dated(".env", "SECRET", MTIME_S);
    fake_mkdir(&fake, ".well-known");
    put_dated(".well-known/security.txt", "Contact:", MTIME_S);
    fake_open(&fake, (struct files_config){.server = WEIR_STR("weir"), .cache_rules = {rules, 1}});
    fake_get(&fake, "/a.txt");
    struct weir_str tag = fake_field(&fake, "etag");
    snprintf(etag, sizeof(etag), "%.*s", (int)tag.len, tag.ptr);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_deinit(&fake);
    return 0;
}

/* One request and what must come back.  "$E" in a value stands for the tag of /a.txt. */
struct row {
    const char *method;
    const char *target;
    const char *ask[3][2];
    unsigned status;
    const char *body;         /* NULL: not looked at */
    const char *fields[4][2]; /* a NULL value: the field must not be there */
};

static const char *expand(const char *text, char out[128])
{
    const char *mark = strstr(text, "$E");
    if (mark == NULL)
        return text;
    snprintf(out, 128, "%.*s%s%s", (int)(mark - text), text, etag, mark + 2);
    return out;
}

static void check_row(const struct row *row)
{
    char values[3][128];
    char want[128];
    for (size_t i = 0; i < 3 && row->ask[i][0] != NULL; i++)
        fake_add_field(&fake, row->ask[i][0], expand(row->ask[i][1], values[i]));
    const struct fake_answer *a = fake_ask(&fake, row->method, row->target);
    if (a->status != row->status)
        fail_msg("%s %s (%s: %s): %u", row->method, row->target, row->ask[0][0], row->ask[0][1],
                 a->status);
    if (row->body != NULL)
        assert_body(&fake, row->body);
    for (size_t i = 0; i < 4 && row->fields[i][0] != NULL; i++)
        assert_field(&fake, row->fields[i][0],
                     row->fields[i][1] == NULL ? "" : expand(row->fields[i][1], want));
    bool has_body = strcmp(row->method, "HEAD") != 0 && a->status != 204 && a->status != 304;
    struct weir_str length = fake_field(&fake, "content-length");
    char text[24];
    snprintf(text, sizeof(text), "%zu", a->body_read);
    if (has_body)
        assert_field(&fake, "content-length", text);
    assert_int_equal(length.len > 0, a->status != 204 && a->status != 304);
    assert_field(&fake, "server", "weir");
}

#define CHECK_ROWS(rows)                                                                           \
    for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++)                                  \
        check_row(&(rows)[i]);

#define TEN "0123456789"

static void preconditions(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"GET", "/a.txt", {{0}}, 200, TEN, {{"etag", "$E"}, {"last-modified", DATE}}},
        {"GET",
         "/a.txt",
         {{"if-none-match", "$E"}},
         304,
         "",
         {{"etag", "$E"},
          {"cache-control", "max-age=0, must-revalidate"},
          {"content-type", NULL},
          {"last-modified", NULL}}},
        {"HEAD", "/a.txt", {{"if-none-match", "$E"}}, 304, "", {{"etag", "$E"}}},
        {"GET", "/a.txt?x", {{"if-none-match", "W/$E"}}, 304, "", {{"etag", "$E"}}},
        {"GET", "/a.txt", {{"if-none-match", "\"x\", $E"}}, 304, "", {{"etag", "$E"}}},
        {"GET", "/a.txt", {{"if-none-match", "*"}}, 304, "", {{"etag", "$E"}}},
        {"GET", "/a.txt", {{"if-none-match", "\"x\""}}, 200, TEN, {{"etag", "$E"}}},
        {"GET", "/a.txt", {{"if-modified-since", DATE}}, 304, "", {{"etag", "$E"}}},
        {"GET", "/a.txt", {{"if-modified-since", BEFORE}}, 200, TEN, {{0}}},
        {"GET",
         "/a.txt",
         {{"if-modified-since", DATE}, {"if-none-match", "\"x\""}},
         200,
         TEN,
         {{0}}},
        {"GET", "/a.txt", {{"if-match", "$E"}}, 200, TEN, {{0}}},
        {"GET",
         "/a.txt",
         {{"if-match", "\"x\""}},
         412,
         NULL,
         {{"etag", "$E"},
          {"cache-control", "no-store"},
          {"content-type", "text/html; charset=utf-8"}}},
        {"HEAD", "/a.txt", {{"if-match", "\"x\""}}, 412, "", {{0}}},
        {"GET", "/a.txt", {{"if-match", "W/$E"}}, 412, NULL, {{0}}},
        {"GET", "/a.txt", {{"if-unmodified-since", BEFORE}}, 412, NULL, {{0}}},
        {"GET", "/a.txt", {{"if-unmodified-since", DATE}}, 200, TEN, {{0}}},
        {"GET", "/missing", {{"if-match", "*"}}, 404, NULL, {{0}}},
        {"GET", "/missing", {{"if-none-match", "*"}}, 404, NULL, {{0}}},
        {"GET", "/dir", {{"if-none-match", "*"}}, 308, NULL, {{0}}},
        /* ranges come last */
        {"GET", "/a.txt", {{"range", "bytes=0-1"}, {"if-none-match", "$E"}}, 304, "", {{0}}},
        {"GET", "/a.txt", {{"range", "bytes=0-1"}, {"if-match", "\"x\""}}, 412, NULL, {{0}}},
        {"GET", "/a.txt", {{"range", "bytes=0-1"}, {"if-none-match", "\"x\""}}, 206, "01", {{0}}},
    };
    CHECK_ROWS(rows);
}

static void dates_of_image_builds_are_not_believed(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"GET", "/epoch.txt", {{0}}, 200, "from an image", {{"last-modified", NULL}}},
        {"GET", "/zip.txt", {{0}}, 200, "from an archive", {{"last-modified", NULL}}},
        {"GET", "/epoch.txt", {{"if-modified-since", DATE}}, 200, "from an image", {{0}}},
        {"GET", "/epoch.txt", {{"if-unmodified-since", BEFORE}}, 200, "from an image", {{0}}},
    };
    CHECK_ROWS(rows);
    char before[64];
    fake_get(&fake, "/epoch.txt");
    struct weir_str tag = fake_field(&fake, "etag");
    assert_true(tag.len > 2);
    snprintf(before, sizeof(before), "%.*s", (int)tag.len, tag.ptr);

    /* the next build: same size, same time, other bytes */
    put_dated("epoch.txt", "FROM an image", 0);
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    fake_add_field(&fake, "if-none-match", before);
    assert_int_equal(fake_get(&fake, "/epoch.txt")->status, 200);
    assert_body(&fake, "FROM an image");

    /* and the one before again, which anybody may still hold */
    put_dated("epoch.txt", "from an image", 0);
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    fake_add_field(&fake, "if-none-match", before);
    assert_int_equal(fake_get(&fake, "/epoch.txt")->status, 304);
}

static void single_ranges(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"GET",
         "/a.txt",
         {{"range", "bytes=0-3"}},
         206,
         "0123",
         {{"content-range", "bytes 0-3/10"},
          {"etag", "$E"},
          {"last-modified", DATE},
          {"content-type", "text/plain; charset=utf-8"}}},
        {"GET",
         "/a.txt",
         {{"range", "bytes=4-"}},
         206,
         "456789",
         {{"content-range", "bytes 4-9/10"}}},
        {"GET", "/a.txt", {{"range", "bytes=0-"}}, 206, TEN, {{"content-range", "bytes 0-9/10"}}},
        {"GET", "/a.txt", {{"range", "bytes=-3"}}, 206, "789", {{"content-range", "bytes 7-9/10"}}},
        {"GET", "/a.txt", {{"range", "bytes=-30"}}, 206, TEN, {{"content-range", "bytes 0-9/10"}}},
        {"GET", "/a.txt", {{"range", "bytes=9-20"}}, 206, "9", {{"content-range", "bytes 9-9/10"}}},
        {"GET",
         "/a.txt",
         {{"range", "bytes=0-1,8-9"}},
         206,
         TEN,
         {{"content-range", "bytes 0-9/10"}}},
        {"GET",
         "/a.txt",
         {{"range", "bytes=10-"}},
         416,
         NULL,
         {{"content-range", "bytes */10"}, {"etag", NULL}, {"accept-ranges", NULL}}},
        {"GET", "/a.txt", {{"range", "bytes=-0"}}, 416, NULL, {{"content-range", "bytes */10"}}},
        {"GET", "/a.txt", {{"range", "lines=0-1"}}, 200, TEN, {{"content-range", NULL}}},
        {"GET", "/a.txt", {{"range", "bytes=3-1"}}, 200, TEN, {{"content-range", NULL}}},
        {"GET", "/a.txt", {{"range", "bytes=x"}}, 200, TEN, {{"accept-ranges", "bytes"}}},
        {"HEAD", "/a.txt", {{"range", "bytes=0-3"}}, 200, "", {{"content-length", "10"}}},
        {"HEAD", "/a.txt", {{"range", "bytes=10-"}}, 200, "", {{"content-length", "10"}}},
        {"GET", "/empty.txt", {{"range", "bytes=0-"}}, 416, NULL, {{"content-range", "bytes */0"}}},
        {"GET", "/empty.txt", {{"range", "bytes=-5"}}, 200, "", {{"content-range", NULL}}},
        {"GET", "/missing", {{"range", "bytes=0-"}}, 404, NULL, {{"content-range", NULL}}},
        /* If-Range */
        {"GET", "/a.txt", {{"range", "bytes=0-3"}, {"if-range", "$E"}}, 206, "0123", {{0}}},
        {"GET", "/a.txt", {{"range", "bytes=0-3"}, {"if-range", "W/$E"}}, 200, TEN, {{0}}},
        {"GET", "/a.txt", {{"range", "bytes=0-3"}, {"if-range", "\"x\""}}, 200, TEN, {{0}}},
        {"GET", "/a.txt", {{"range", "bytes=0-3"}, {"if-range", DATE}}, 206, "0123", {{0}}},
        {"GET", "/a.txt", {{"range", "bytes=0-3"}, {"if-range", BEFORE}}, 200, TEN, {{0}}},
        {"GET", "/a.txt", {{"range", "bytes=10-"}, {"if-range", "\"x\""}}, 200, TEN, {{0}}},
        {"GET", "/a.txt", {{"if-range", "\"x\""}}, 200, TEN, {{0}}},
    };
    CHECK_ROWS(rows);
}

/* Step over `text` at *at. */
static void expect(const char *body, size_t *at, const char *text)
{
    if (strncmp(body + *at, text, strlen(text)) != 0)
        fail_msg("at %zu: %.80s, not %s", *at, body + *at, text);
    *at += strlen(text);
}

static void several_ranges_come_as_parts(void **state)
{
    (void)state;
    char boundary[64];
    char want[256];
    for (size_t read_max = 1; read_max < 4000; read_max = read_max * 3 + 1) {
        fake.read_max = read_max;
        fake_add_field(&fake, "range", "bytes=-5, 0-9, 500-899");

        assert_int_equal(fake_get(&fake, "/big.txt")->status, 206);

        struct weir_str type = fake_field(&fake, "content-type");
        static const char prefix[] = "multipart/byteranges; boundary=";
        assert_memory_equal(type.ptr, prefix, strlen(prefix));
        snprintf(boundary, sizeof(boundary), "%.*s", (int)(type.len - strlen(prefix)),
                 type.ptr + strlen(prefix));
        assert_in_range(strlen(boundary), 16, 70);
        assert_field(&fake, "content-range", "");
        const char *body = fake.answer.body;
        size_t at = 0;
        static const struct {
            size_t first;
            size_t last;
        } parts[] = {{0, 9}, {500, 899}, {1995, 1999}};
        for (size_t i = 0; i < 3; i++) {
            snprintf(want, sizeof(want),
                     "\r\n--%s\r\ncontent-type: text/plain; charset=utf-8\r\n"
                     "content-range: bytes %zu-%zu/2000\r\n\r\n",
                     boundary, parts[i].first, parts[i].last);
            expect(body, &at, want);
            size_t len = parts[i].last - parts[i].first + 1;
            assert_memory_equal(body + at, big + parts[i].first, len);
            at += len;
        }
        snprintf(want, sizeof(want), "\r\n--%s--\r\n", boundary);
        expect(body, &at, want);
        assert_int_equal(at, fake.answer.body_read);
    }
}

static void parts_that_cost_more_than_the_whole_are_not_sent(void **state)
{
    (void)state;
    fake_add_field(&fake, "range", "bytes=0-800, 900-1850, 1990-1999");

    assert_int_equal(fake_get(&fake, "/big.txt")->status, 200);

    assert_body(&fake, big);
}

static void other_answers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* methods */
        {"OPTIONS", "/a.txt", {{0}}, 204, "", {{"allow", "GET, HEAD, OPTIONS"}}},
        {"OPTIONS", "*", {{0}}, 204, "", {{"allow", "GET, HEAD, OPTIONS"}}},
        {"POST", "/a.txt", {{0}}, 405, NULL, {{"allow", "GET, HEAD, OPTIONS"}}},
        {"DELETE", "/missing", {{0}}, 405, NULL, {{"allow", "GET, HEAD, OPTIONS"}}},
        /* directories */
        {"GET", "/", {{0}}, 200, "<p>home", {{"cache-control", "no-cache"}}},
        {"GET", "/dir/", {{0}}, 200, "<p>dir", {{"content-type", "text/html; charset=utf-8"}}},
        {"GET", "/dir", {{0}}, 308, NULL, {{"location", "dir/"}}},
        {"HEAD", "/dir", {{0}}, 308, "", {{"location", "dir/"}}},
        {"GET", "/dir?a=b&c", {{0}}, 308, NULL, {{"location", "dir/?a=b&c"}}},
        {"GET", "/dir?//x.example/", {{0}}, 308, NULL, {{"location", "dir/?//x.example/"}}},
        {"GET", "//dir", {{0}}, 308, NULL, {{"location", "/dir/"}}},
        {"GET", "//x/..//dir?q", {{0}}, 308, NULL, {{"location", "/dir/?q"}}},
        {"GET", "/%64ir", {{0}}, 308, NULL, {{"location", "/dir/"}}},
        {"GET", "/a:b%20c", {{0}}, 308, NULL, {{"location", "/a%3Ab%20c/"}}},
        {"GET", "/dir?a\nb", {{0}}, 400, NULL, {{"location", NULL}}},
        {"GET", "/a:b%20c/", {{0}}, 404, NULL, {{0}}},
        /* hidden names */
        {"GET", "/.env", {{0}}, 404, NULL, {{0}}},
        {"GET", "/%2eenv", {{0}}, 404, NULL, {{0}}},
        {"GET", "/.git/config", {{0}}, 404, NULL, {{0}}},
        {"GET", "/.git", {{0}}, 404, NULL, {{0}}},
        {"GET", "/dir/../.env", {{0}}, 404, NULL, {{0}}},
        {"GET", "/.well-known/security.txt", {{0}}, 200, "Contact:", {{0}}},
        {"GET", "/.well-known/../.env", {{0}}, 404, NULL, {{0}}},
        /* how long copies keep, and what they are */
        {"GET",
         "/app.3f2a9c1b.js",
         {{0}},
         200,
         "hashed",
         {{"cache-control", "public, max-age=31536000, immutable"},
          {"content-type", "text/javascript; charset=utf-8"},
          {"x-content-type-options", "nosniff"}}},
        {"GET", "/a.txt", {{0}}, 200, TEN, {{"cache-control", "max-age=0, must-revalidate"}}},
        {"GET", "/pinned/x.html", {{0}}, 200, "<p>x", {{"cache-control", "max-age=60"}}},
        {"GET", "/pinned/y.html", {{0}}, 404, NULL, {{"cache-control", "no-store"}}},
        {"GET", "/app.00000000.js", {{0}}, 404, NULL, {{"cache-control", "no-store"}}},
        /* failures in the form that is liked best */
        {"GET",
         "/missing",
         {{0}},
         404,
         NULL,
         {{"content-type", "text/html; charset=utf-8"}, {"x-content-type-options", "nosniff"}}},
        {"GET",
         "/missing",
         {{"accept", "*/*"}},
         404,
         NULL,
         {{"content-type", "text/html; charset=utf-8"}}},
        {"GET",
         "/missing",
         {{"accept", "application/json"}},
         404,
         "{\"type\":\"about:blank\",\"status\":404,\"title\":\"Not Found\"}\n",
         {{"content-type", "application/problem+json"}}},
        {"GET",
         "/missing",
         {{"accept", "application/problem+json, text/html;q=0.5"}},
         404,
         NULL,
         {{"content-type", "application/problem+json"}}},
        {"GET",
         "/missing",
         {{"accept", "text/html, application/json;q=0.9"}},
         404,
         NULL,
         {{"content-type", "text/html; charset=utf-8"}}},
        {"HEAD",
         "/missing",
         {{"accept", "application/json"}},
         404,
         "",
         {{"content-type", "application/problem+json"}}},
        {"GET", "/%zz", {{0}}, 400, NULL, {{0}}},
    };
    CHECK_ROWS(rows);
}

static void the_operators_page_stands_in_for_what_is_missing(void **state)
{
    (void)state;
    put_dated("404.html", "<p>gone", MTIME_S);
    static const struct row rows[] = {
        {"GET",
         "/missing",
         {{0}},
         404,
         "<p>gone",
         {{"content-type", "text/html; charset=utf-8"},
          {"cache-control", "no-store"},
          {"etag", NULL},
          {"last-modified", NULL}}},
        {"HEAD", "/missing", {{0}}, 404, "", {{"content-length", "7"}}},
        {"GET", "/missing", {{"if-none-match", "*"}}, 404, "<p>gone", {{0}}},
        {"GET", "/missing", {{"range", "bytes=0-1"}}, 404, "<p>gone", {{"accept-ranges", NULL}}},
        {"GET", "/.env", {{0}}, 404, "<p>gone", {{0}}},
        {"GET",
         "/missing",
         {{"accept", "application/json"}},
         404,
         NULL,
         {{"content-type", "application/problem+json"}}},
        {"GET", "/404.html", {{0}}, 200, "<p>gone", {{0}}},
    };
    CHECK_ROWS(rows);
}

static void a_fallback_takes_over_pages_but_no_assets(void **state)
{
    (void)state;
    files_free(fake.files);
    fake_open(&fake, (struct files_config){.server = WEIR_STR("weir"),
                                           .fallback = WEIR_STR("/index.html")});
    static const struct row rows[] = {
        {"GET", "/some/view", {{0}}, 200, "<p>home", {{"cache-control", "no-cache"}}},
        {"GET", "/some/view?x=1.js", {{"accept", "text/html,*/*;q=0.8"}}, 200, "<p>home", {{0}}},
        {"HEAD", "/some/view", {{0}}, 200, "", {{"content-length", "7"}}},
        {"GET", "/some/", {{0}}, 200, "<p>home", {{0}}},
        {"GET",
         "/some/view",
         {{"accept", "application/json"}},
         404,
         NULL,
         {{"cache-control", "no-store"}}},
        {"GET", "/some/view", {{"accept", "image/*"}}, 404, NULL, {{0}}},
        {"GET", "/assets/app.3f2a9c1b.js", {{0}}, 404, NULL, {{"cache-control", "no-store"}}},
        {"GET", "/missing.css", {{"accept", "text/css,*/*"}}, 404, NULL, {{0}}},
        {"POST", "/some/view", {{0}}, 405, NULL, {{0}}},
        {"GET", "/.env", {{0}}, 404, NULL, {{0}}},
        {"GET", "/a.txt", {{0}}, 200, TEN, {{0}}},
    };
    CHECK_ROWS(rows);
}

static void without_a_name_there_is_no_server_field(void **state)
{
    (void)state;
    files_free(fake.files);
    fake_open(&fake, (struct files_config){0});
    static const char *const targets[] = {"/a.txt", "/missing", "/dir"};
    for (size_t i = 0; i < 3; i++) {
        fake_get(&fake, targets[i]);
        assert_field(&fake, "server", "");
    }
}

static void want_of_memory_is_a_503_or_a_smaller_answer(void **state)
{
    (void)state;
    struct mem *whole = fake.mem;
    files_free(fake.files);
    assert_int_equal(mem_new((size_t)2 * 1024 * 1024, &fake.mem), WEIR_OK);
    fake_open(&fake, (struct files_config){.server = WEIR_STR("weir")});
    fake_get(&fake, "/a.txt");
    void *first = NULL;
    for (size_t len = MEM_CLASS_MAX; len >= 16; len -= len > 128 ? len / 9 : 16) {
        for (void *p = mem_take(fake.mem, len); p != NULL; p = mem_take(fake.mem, len)) {
            memcpy(p, (void *)&first, sizeof(first)); /* a list of all that was taken */
            first = p;
        }
    }

    assert_int_equal(fake_get(&fake, "/a.txt")->status, 200);
    fake_add_field(&fake, "range", "bytes=0-1");
    assert_int_equal(fake_get(&fake, "/a.txt")->status, 200);
    fake_add_field(&fake, "range", "bytes=10-");
    assert_int_equal(fake_get(&fake, "/a.txt")->status, 416);
    assert_int_equal(fake_get(&fake, "/dir")->status, 503);
    assert_int_equal(fake_get(&fake, "/big.txt")->status, 503);

    while (first != NULL) {
        void *next;
        memcpy((void *)&next, first, sizeof(next));
        mem_give(first);
        first = next;
    }
    assert_int_equal(fake_get(&fake, "/a.txt")->status, 200);
    files_free(fake.files);
    fake.files = NULL;
    assert_int_equal(mem_live(fake.mem), 0);
    mem_free(fake.mem);
    fake.mem = whole;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(preconditions),
        CASE(dates_of_image_builds_are_not_believed),
        CASE(single_ranges),
        CASE(several_ranges_come_as_parts),
        CASE(parts_that_cost_more_than_the_whole_are_not_sent),
        CASE(other_answers),
        CASE(the_operators_page_stands_in_for_what_is_missing),
        CASE(a_fallback_takes_over_pages_but_no_assets),
        CASE(without_a_name_there_is_no_server_field),
        CASE(want_of_memory_is_a_503_or_a_smaller_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
