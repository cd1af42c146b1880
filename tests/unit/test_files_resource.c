/* Precompressed siblings: which is chosen, and what is said of it. */
#include "files_fake.h"

#include "internal/limits.h"
#include "resource.h"
#include "root.h"
#include "window.h"

#define MTIME_S 1600000000

static struct fake fake;

static void put_dated(const char *name, const char *text, time_t mtime_s)
{
    char path[512];
    struct timespec times[2] = {{.tv_sec = mtime_s}, {.tv_sec = mtime_s}};
    fake_put(&fake, name, text);
    fake_path(&fake, name, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void drop(const char *name)
{
    char path[512];
    fake_path(&fake, name, path);
    assert_int_equal(unlink(path), 0);
}

static int setup(void **state)
{
    (void)state;
    fake_init(&fake);
    fake.clock.date_s = 1700000000;
    put_dated("app.js", "the original, as it was written", MTIME_S);
    put_dated("app.js.br", "brotli", MTIME_S);
    put_dated("app.js.zst", "zstandard", MTIME_S + 1);
    put_dated("app.js.gz", "gzip bytes", MTIME_S);
    put_dated("old.css", "new original", MTIME_S);
    put_dated("old.css.br", "old", MTIME_S - 1);
    put_dated("plain.txt", "no siblings", MTIME_S);
    put_dated("photo.png", "png", MTIME_S);
    put_dated("photo.png.gz", "png.gz", MTIME_S);
    put_dated("long.txt", "short", MTIME_S);
    put_dated("long.txt.gz", "longer than the original", MTIME_S);
    put_dated("index.html", "<p>home", MTIME_S);
    put_dated("index.html.gz", "home.gz", MTIME_S);
    fake_open(&fake, (struct files_config){.server = WEIR_STR("weir")});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_deinit(&fake);
    return 0;
}

static const struct {
    const char *target;
    const char *accept; /* NULL: no field */
    const char *body;
    const char *coding; /* empty: no such field */
    bool varies;
} rows[] = {
    {"/app.js", NULL, "the original, as it was written", "", true},
    {"/app.js", "br", "brotli", "br", true},
    {"/app.js", "zstd", "zstandard", "zstd", true},
    {"/app.js", "gzip", "gzip bytes", "gzip", true},
    {"/app.js", "gzip, deflate, br, zstd", "brotli", "br", true},
    {"/app.js", "gzip, zstd", "zstandard", "zstd", true}, /* the smaller one */
    {"/app.js", "gzip;q=1, br;q=0.9", "gzip bytes", "gzip", true},
    {"/app.js", "br;q=0.1", "brotli", "br", true},
    {"/app.js", "br;q=0", "the original, as it was written", "", true},
    {"/app.js", "deflate", "the original, as it was written", "", true},
    {"/app.js", "*", "brotli", "br", true},
    {"/app.js", "*, br;q=0", "zstandard", "zstd", true},
    {"/app.js", "identity, br;q=0.5", "the original, as it was written", "", true},
    {"/app.js", "identity;q=0.5, br;q=0.6", "brotli", "br", true},
    {"/app.js", "identity, br", "brotli", "br", true},
    {"/app.js", "identity;q=0, gzip;q=0.1", "gzip bytes", "gzip", true},
    {"/app.js", "identity;q=0", "the original, as it was written", "", true},
    {"/app.js", "*;q=0", "the original, as it was written", "", true},
    {"/app.js?x", "br", "brotli", "br", true},
    {"/old.css", "br", "new original", "", false}, /* older than the original */
    {"/plain.txt", "br", "no siblings", "", false},
    {"/photo.png", "gzip", "png", "", false},                        /* compressed as it is */
    {"/long.txt", "gzip", "longer than the original", "gzip", true}, /* liked better */
    {"/long.txt", "gzip, identity", "short", "", true},
    {"/", "gzip", "home.gz", "gzip", true},
    {"/app.js.br", "br", "brotli", "", false}, /* asked for by its own name */
};

static void the_smallest_of_those_liked_best_is_sent(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int round = 0; round < 2; round++) {
            if (rows[i].accept != NULL)
                fake_add_field(&fake, "accept-encoding", rows[i].accept);
            const struct fake_answer *a = fake_get(&fake, rows[i].target);
            if (a->status != 200 || strcmp(a->body, rows[i].body) != 0)
                fail_msg("%s, %s: %u %s", rows[i].target, rows[i].accept, a->status, a->body);
            assert_field(&fake, "content-encoding", rows[i].coding);
            assert_field(&fake, "vary", rows[i].varies ? "accept-encoding" : "");
        }
    }
}

static void ask_coded(const char *method, const char *name, const char *value, unsigned status)
{
    fake_add_field(&fake, "accept-encoding", "br");
    if (name != NULL)
        fake_add_field(&fake, name, value);
    assert_int_equal(fake_ask(&fake, method, "/app.js")->status, status);
}

/* Its nanoseconds since 1970 are more than an int64_t holds. */
static void a_time_of_centuries_to_come_makes_a_tag(void **state)
{
    (void)state;
    fake_init(&fake);
    put_dated("late.txt", "late", 13000000000);
    fake_open(&fake, (struct files_config){0});
    assert_int_equal(fake_get(&fake, "/late.txt")->status, 200);
    assert_true(fake_field(&fake, "etag").len > 2);
    assert_int_equal(fake_field(&fake, "last-modified").len, 0);
    fake_deinit(&fake);
}

static void a_sibling_has_a_tag_ranges_and_the_type_of_the_original(void **state)
{
    (void)state;
    char plain[64];
    char coded[64];
    fake_get(&fake, "/app.js");
    struct weir_str tag = fake_field(&fake, "etag");
    snprintf(plain, sizeof(plain), "%.*s", (int)tag.len, tag.ptr);

    ask_coded("GET", NULL, NULL, 200);
    tag = fake_field(&fake, "etag");
    snprintf(coded, sizeof(coded), "%.*s", (int)tag.len, tag.ptr);
    assert_string_not_equal(plain, coded);
    assert_field(&fake, "content-type", "text/javascript; charset=utf-8");

    ask_coded("HEAD", NULL, NULL, 200);
    assert_field(&fake, "content-length", "6");
    assert_field(&fake, "vary", "accept-encoding");
    assert_field(&fake, "content-encoding", "br");

    ask_coded("GET", "if-none-match", coded, 304);
    assert_field(&fake, "etag", coded);
    assert_field(&fake, "vary", "accept-encoding");

    ask_coded("GET", "if-none-match", plain, 200);

    ask_coded("GET", "range", "bytes=1-3", 206);
    assert_body(&fake, "rot");
    assert_field(&fake, "content-range", "bytes 1-3/6");
    assert_field(&fake, "content-encoding", "br");
    assert_field(&fake, "vary", "accept-encoding");
    assert_field(&fake, "etag", coded);

    fake_add_field(&fake, "if-none-match", plain);
    assert_int_equal(fake_get(&fake, "/app.js")->status, 304);
    assert_field(&fake, "vary", "accept-encoding");
}

static void siblings_of_one_size_and_time_have_tags_of_their_own(void **state)
{
    (void)state;
    put_dated("same.txt", "1111", MTIME_S);
    put_dated("same.txt.br", "2222", MTIME_S);
    put_dated("same.txt.gz", "3333", MTIME_S);
    static const char *const accepts[] = {"identity", "br", "gzip"};
    char tags[3][64];
    for (size_t i = 0; i < 3; i++) {
        fake_add_field(&fake, "accept-encoding", accepts[i]);
        fake_get(&fake, "/same.txt");
        struct weir_str tag = fake_field(&fake, "etag");
        snprintf(tags[i], sizeof(tags[i]), "%.*s", (int)tag.len, tag.ptr);
    }

    assert_string_not_equal(tags[0], tags[1]);
    assert_string_not_equal(tags[0], tags[2]);
    assert_string_not_equal(tags[1], tags[2]);
}

static void ask_again(const char *target, const char *body, const char *vary)
{
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    fake_add_field(&fake, "accept-encoding", "br, gzip");
    assert_int_equal(fake_get(&fake, target)->status, 200);
    assert_body(&fake, body);
    assert_field(&fake, "vary", vary);
}

static void siblings_that_come_and_go_are_seen(void **state)
{
    (void)state;
    ask_again("/plain.txt", "no siblings", "");
    put_dated("plain.txt.gz", "packed", MTIME_S);
    ask_again("/plain.txt", "packed", "accept-encoding");
    put_dated("plain.txt.gz", "packed anew", MTIME_S);
    ask_again("/plain.txt", "packed anew", "accept-encoding");
    put_dated("plain.txt", "edited", MTIME_S + 5); /* the sibling shows what was before */
    ask_again("/plain.txt", "edited", "");
    put_dated("plain.txt.gz", "third", MTIME_S + 6);
    ask_again("/plain.txt", "third", "accept-encoding");
    drop("plain.txt.gz");
    ask_again("/plain.txt", "edited", "");
}

static void a_sibling_that_leads_out_of_the_root_is_not_used(void **state)
{
    (void)state;
    put_dated("../secret", "SECRET", MTIME_S + 10);
    fake_symlink(&fake, "../secret", "plain.txt.br");

    ask_again("/plain.txt", "no siblings", "");
}

#define PLAIN "a text that is a text that is a text that is a text\n"

/* PLAIN by gzip, in two members, by brotli and by zstd, as their programs wrote them */
static const char gzip_bytes[] = "\037\213\010\000\000\000\000\000\002\003\113\124\050\111\255\050"
                                 "\121\050\311\110\004\000\303\157\262\041\012\000\000\000\037\213"
                                 "\010\000\000\000\000\000\002\003\053\121\310\054\126\110\124\050"
                                 "\111\255\050\121\050\311\110\054\301\311\345\002\000\354\337\303"
                                 "\371\052\000\000\000";
static const char brotli_bytes[] =
    "\033\063\000\000\004\066\340\174\241\130\207\301\202\123\221\132"
    "\232\051\201\153\161\227\232\015\001";

static const char zstd_bytes[] = "\050\265\057\375\004\150\265\000\000\200\141\040\164\145\170\164"
                                 "\040\164\150\141\164\040\151\163\040\012\001\000\205\234\165\172"
                                 "\204\256\105";

static void put_bytes(const char *name, const char *bytes, size_t len)
{
    char path[512];
    struct timespec times[2] = {{.tv_sec = MTIME_S}, {.tv_sec = MTIME_S}};
    fake_write(&fake, name, bytes, len);
    fake_path(&fake, name, path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* 64 KiB of 'a' by gzip */
#define MEMBER_LEN 65536
static const char member[] = "\037\213\010\000\000\000\000\000\002\003\355\301\201\000\000\000"
                             "\000\200\040\326\375\045\026\251\012\000\000\000\000\000\000\000"
                             "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
                             "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
                             "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
                             "\000\000\000\000\000\000\000\000\152\377\221\040\303\000\000\001"
                             "\000";

/* Three of that length are kept, four are not. */
#define MADE_LEN (LIMIT_DECODED_KEPT / 16 * 5)

/* `len` times 'a', a multiple of MEMBER_LEN, as NAME.gz of so many members. */
static void put_gzip_of_as(const char *name, size_t len)
{
    char packed[64];
    static char bytes[LIMIT_DECODED_LEN / MEMBER_LEN * sizeof(member)];
    size_t used = 0;
    for (size_t left = len; left > 0; left -= MEMBER_LEN) {
        memcpy(bytes + used, member, sizeof(member) - 1);
        used += sizeof(member) - 1;
    }
    snprintf(packed, sizeof(packed), "%s.gz", name);
    put_bytes(packed, bytes, used);
}

static void a_tree_of_siblings_alone_works(void **state)
{
    (void)state;
    put_bytes("z.txt.gz", gzip_bytes, sizeof(gzip_bytes) - 1);
    put_bytes("b.txt.br", brotli_bytes, sizeof(brotli_bytes) - 1);
    put_bytes("s.txt.zst", zstd_bytes, sizeof(zstd_bytes) - 1);

    fake_add_field(&fake, "accept-encoding", "gzip");
    assert_int_equal(fake_get(&fake, "/z.txt")->status, 200);
    assert_int_equal(fake.answer.body_read, sizeof(gzip_bytes) - 1);
    assert_field(&fake, "content-encoding", "gzip");
    assert_field(&fake, "content-type", "text/plain; charset=utf-8");

    static const char *const targets[] = {"/z.txt", "/b.txt", "/s.txt"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fake_get(&fake, targets[i])->status, 200);
        assert_body(&fake, PLAIN);
        assert_field(&fake, "content-encoding", "");
        assert_field(&fake, "vary", "accept-encoding");
        assert_field(&fake, "last-modified", "Sun, 13 Sep 2020 12:26:40 GMT");
        uint64_t made = fake.stats.calls.memfd_create;
        fake_add_field(&fake, "range", "bytes=2-5");
        assert_int_equal(fake_get(&fake, targets[i])->status, 206);
        assert_body(&fake, "text");
        assert_int_equal(fake.stats.calls.memfd_create, made); /* kept */
    }
    assert_int_equal(fake_get(&fake, "/none.js")->status, 404);
}

/* What counts is what was made: 20 MiB of some 30 KiB. */
static void made_originals_have_a_bound_of_their_own(void **state)
{
    (void)state;
    files_free(fake.files);
    fake_open(&fake, (struct files_config){.cached_bytes = 100000});
    fake_get(&fake, "/app.js");
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof(name), "/large%d.txt", i);
        put_gzip_of_as(name + 1, MADE_LEN);
        fake.clock.now_ms++; /* what the kernel tells of it is heard */
        assert_int_equal(fake_get(&fake, name)->status, 200);
        assert_int_equal(fake.answer.body_read, MADE_LEN);
        assert_int_equal(fake.answer.body[fake.answer.body_read - 1], 'a');
    }

    /* all but the first are still there, and so is what was there before */
    uint64_t made = fake.stats.calls.memfd_create;
    uint64_t opened = fake.stats.calls.openat2;
    for (int i = 1; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof(name), "/large%d.txt", i);
        assert_int_equal(fake_get(&fake, name)->status, 200);
    }
    assert_int_equal(fake_get(&fake, "/app.js")->status, 200);
    assert_int_equal(fake.stats.calls.memfd_create, made);
    assert_int_equal(fake.stats.calls.openat2, opened);
    assert_int_equal(fake_get(&fake, "/large0.txt")->status, 200);
    assert_int_equal(fake.stats.calls.memfd_create, made + 1);
}

static void a_made_original_lasts_as_long_as_its_sibling(void **state)
{
    (void)state;
    put_bytes("z.txt.gz", gzip_bytes, sizeof(gzip_bytes) - 1);
    fake_get(&fake, "/z.txt");
    uint64_t made;
    int tries = 0;
    do { /* until the change lies back far enough for it to be kept */
        made = fake.stats.calls.memfd_create;
        fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
        assert_int_equal(fake_get(&fake, "/z.txt")->status, 200);
        assert_true(++tries < 1000000);
    } while (fake.stats.calls.memfd_create != made);

    put_dated("z.txt", "an original", MTIME_S);
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    assert_int_equal(fake_get(&fake, "/z.txt")->status, 200);
    assert_body(&fake, "an original");
    drop("z.txt");
    drop("z.txt.gz");
    fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
    assert_int_equal(fake_get(&fake, "/z.txt")->status, 404);
}

static void what_is_not_what_its_name_says_is_a_500(void **state)
{
    (void)state;
    static const char *const names[] = {"x.txt.gz", "x.txt.br", "x.txt.zst"};
    static const char *const codings[] = {"gzip", "br", "zstd"};
    for (size_t i = 0; i < 3; i++) {
        put_dated(names[i], "neither of these", MTIME_S);
        fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
        assert_int_equal(fake_get(&fake, "/x.txt")->status, 500);
        assert_field(&fake, "content-encoding", "");
        uint64_t tried = fake.stats.calls.memfd_create;
        assert_int_equal(fake_get(&fake, "/x.txt")->status, 500);
        assert_int_equal(fake.stats.calls.memfd_create, tried); /* once is enough */
        fake_add_field(&fake, "accept-encoding", codings[i]);
        assert_int_equal(fake_get(&fake, "/x.txt")->status, 200);
        assert_body(&fake, "neither of these");
        assert_field(&fake, "content-encoding", codings[i]);
        drop(names[i]);
    }
    put_bytes("cut.txt.gz", gzip_bytes, sizeof(gzip_bytes) - 9);
    assert_int_equal(fake_get(&fake, "/cut.txt")->status, 500);
}

#define ZSTD_BLOCKS_MAX (LIMIT_DECODED_LEN / ((uint64_t)128 * 1024))

/*
 * A zstd file (RFC 8878 3.1.1) with a window of 2^window_log bytes and so many blocks that each say
 * 128 KiB of 'a' in four bytes.
 */
static void put_zstd_of_as(const char *name, unsigned window_log, unsigned blocks)
{
    static char bytes[6 + 4 * (ZSTD_BLOCKS_MAX + 1)];
    const char head[] = {'\x28', '\xb5', '\x2f', '\xfd', 0, (char)((window_log - 10) << 3)};
    memcpy(bytes, head, sizeof(head));
    size_t len = 6;
    for (unsigned i = 1; i <= blocks; i++) {
        uint32_t block = (uint32_t)(i == blocks) | 1 << 1 | (128 * 1024) << 3;
        for (unsigned shift = 0; shift < 24; shift += 8)
            bytes[len++] = (char)(block >> shift);
        bytes[len++] = 'a';
    }
    put_bytes(name, bytes, len);
}

static void assert_made(const char *target, size_t len)
{
    assert_int_equal(fake_get(&fake, target)->status, 200);
    assert_field(&fake, "content-encoding", len > 0 ? "" : "zstd");
    if (len > 0)
        assert_int_equal(fake.answer.body_read, len);
}

static void a_zstd_file_cannot_ask_for_much(void **state)
{
    (void)state;
    put_zstd_of_as("fits.txt.zst", 23, ZSTD_BLOCKS_MAX);
    put_zstd_of_as("one-too-many.txt.zst", 23, ZSTD_BLOCKS_MAX + 1);
    put_zstd_of_as("window.txt.zst", 24, 1);
    put_zstd_of_as("huge-window.txt.zst", 41, 1);

    assert_made("/fits.txt", LIMIT_DECODED_LEN);
    assert_made("/one-too-many.txt", 0);
    assert_made("/window.txt", 0);
    assert_made("/huge-window.txt", 0);
}

static void originals_that_are_sent_and_kept_have_a_bound_together(void **state)
{
    (void)state;
    static const uint8_t bytes[10] = {0};
    struct stats stats = {0};
    struct root root = {.fd = -1, .stats = &stats};
    struct windows windows = {.mem = fake.mem, .decoded_len = LIMIT_DECODED_BYTES - 9};
    const struct file_env env = {.mem = fake.mem, .root = &root, .windows = &windows};
    struct found found = {.fd = -1, .bytes = bytes, .st = {.st_size = sizeof(bytes)}};
    struct resource r = {.path = "/x.txt"};

    assert_int_equal(resource_add_original(&r, &env, &found), 503);
    assert_int_equal(r.decode_status, 0); /* it may be tried again */
    windows.decoded_len--;
    assert_int_equal(resource_add_original(&r, &env, &found), 0);
    assert_int_equal(windows.decoded_len, LIMIT_DECODED_BYTES);
    resource_close(&r);
    assert_int_equal(windows.decoded_len, LIMIT_DECODED_BYTES - 10);
}

static void siblings_can_be_switched_off(void **state)
{
    (void)state;
    files_free(fake.files);
    fake_open(&fake, (struct files_config){.ignores_siblings = true});

    fake_add_field(&fake, "accept-encoding", "br");
    fake_get(&fake, "/app.js");

    assert_body(&fake, "the original, as it was written");
    assert_field(&fake, "vary", "");
    assert_int_equal(fake.stats.calls.newfstatat, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_of_centuries_to_come_makes_a_tag),
        CASE(the_smallest_of_those_liked_best_is_sent),
        CASE(a_sibling_has_a_tag_ranges_and_the_type_of_the_original),
        CASE(siblings_of_one_size_and_time_have_tags_of_their_own),
        CASE(siblings_that_come_and_go_are_seen),
        CASE(a_sibling_that_leads_out_of_the_root_is_not_used),
        CASE(a_tree_of_siblings_alone_works),
        CASE(made_originals_have_a_bound_of_their_own),
        CASE(a_made_original_lasts_as_long_as_its_sibling),
        CASE(what_is_not_what_its_name_says_is_a_500),
        CASE(a_zstd_file_cannot_ask_for_much),
        CASE(originals_that_are_sent_and_kept_have_a_bound_together),
        CASE(siblings_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
