/* Paths: decoding, dot segments, and what is refused. */
#include "cm.h"

#include <string.h>

#include "path.h"
#include "text.h"

#define BAD NULL

static const struct {
    const char *raw;
    const char *want; /* BAD: a 400 is due */
} rows[] = {
    {"/", "/"},
    {"/a", "/a"},
    {"/a/", "/a/"},
    {"/a/b.html", "/a/b.html"},
    {"", BAD},
    {"a", BAD},
    {"*", BAD},
    {"http://host/a", BAD},
    {"%2fa", BAD},
    /* empty segments */
    {"//", "/"},
    {"//a", "/a"},
    {"/a//b", "/a/b"},
    {"/a///", "/a/"},
    /* dot segments */
    {"/.", "/"},
    {"/./", "/"},
    {"/./a", "/a"},
    {"/a/.", "/a/"},
    {"/a/./b", "/a/b"},
    {"/a/..", "/"},
    {"/a/../", "/"},
    {"/a/../b", "/b"},
    {"/a/b/..", "/a/"},
    {"/a/b/../..", "/"},
    {"/a/b/../../c", "/c"},
    {"/a//../b", "/b"},
    {"/a/.//../b", "/b"},
    {"/a/%2e", "/a/"},
    {"/a/%2E/b", "/a/b"},
    {"/a/%2e%2E/b", "/b"},
    {"/a/.%2e/b", "/b"},
    {"/a/%2e./b", "/b"},
    /* no dot segments */
    {"/...", "/..."},
    {"/.../a", "/.../a"},
    {"/..a", "/..a"},
    {"/a..", "/a.."},
    {"/.a", "/.a"},
    {"/a./b", "/a./b"},
    /* above the root */
    {"/..", BAD},
    {"/../", BAD},
    {"/../a", BAD},
    {"//..", BAD},
    {"/./..", BAD},
    {"/a/../..", BAD},
    {"/a/../../a", BAD},
    {"/a/b/../../../etc/passwd", BAD},
    {"/%2e%2e", BAD},
    {"/%2e%2e/a", BAD},
    {"/%2E./a", BAD},
    {"/.%2e/a", BAD},
    {"/a/%2e%2e/%2e%2e/a", BAD},
    {"/../../../../etc/passwd", BAD},
    {"/%2e%2e%2fetc/passwd", BAD},
    {"/..%2fetc/passwd", BAD},
    {"/a/..%2f..%2fetc/passwd", BAD},
    {"/..\\etc", BAD},
    {"/..%5cetc", BAD},
    {"/a\\b", BAD},
    {"/\\", BAD},
    {"/%5C", BAD},
    /* encoded slashes */
    {"/a%2fb", BAD},
    {"/a%2Fb", BAD},
    {"/%2f", BAD},
    /* decoded once, not twice */
    {"/%252e%252e/a", "/%2e%2e/a"},
    {"/a%252fb", "/a%2fb"},
    {"/%2500", "/%00"},
    {"/%25", "/%"},
    /* NUL and controls */
    {"/%00", BAD},
    {"/a%00.html", BAD},
    {"/a%00/../b", BAD},
    {"/a b", BAD},
    {"/a\tb", BAD},
    {"/a\nb", BAD},
    {"/a\x7f", BAD},
    {"/a#b", BAD},
    /* bad percent signs */
    {"/%", BAD},
    {"/%2", BAD},
    {"/%g0", BAD},
    {"/%0g", BAD},
    {"/a%", BAD},
    {"/%u0041", BAD},
    {"/%-1", BAD},
    {"/%%41", BAD},
    /* what is decoded */
    {"/%41", "/A"},
    {"/%7e%7E~", "/~~~"},
    {"/a%20b", "/a b"},
    {"/a%3fb", "/a?b"},
    {"/a%23b", "/a#b"},
    {"/a+b", "/a+b"},
    {"/%c3%a4", "/\xc3\xa4"},
    {"/\xc3\xa4", "/\xc3\xa4"},
    {"/%ff", "/\xff"},
    {"/a;b=c/d", "/a;b=c/d"},
};

static void a_path_is_decoded_once_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char out[64];
        size_t len = 0;
        struct weir_str raw = {rows[i].raw, strlen(rows[i].raw)};

        bool ok = path_decode(raw, out, &len);

        if (ok != (rows[i].want != BAD))
            fail_msg("%s: %s", rows[i].raw, ok ? out : "refused");
        if (!ok || rows[i].want == BAD)
            continue;
        if (len != strlen(rows[i].want) || strcmp(out, rows[i].want) != 0)
            fail_msg("%s: got %s, not %s", rows[i].raw, out, rows[i].want);
    }
}

static void a_nul_in_the_raw_path_is_refused(void **state)
{
    (void)state;
    char out[8];
    size_t len;

    assert_false(path_decode((struct weir_str){"/a\0b", 4}, out, &len));
}

static void the_query_is_cut_off(void **state)
{
    (void)state;
    assert_int_equal(path_cut_query(WEIR_STR("/a?b=/../%00")).len, 2);
    assert_int_equal(path_cut_query(WEIR_STR("/a?b?c")).len, 2);
    assert_int_equal(path_cut_query(WEIR_STR("/a")).len, 2);
    assert_int_equal(path_cut_query(WEIR_STR("?")).len, 0);
    assert_int_equal(path_cut_query((struct weir_str){NULL, 0}).len, 0);
}

static void a_plain_path_decodes_to_itself(void **state)
{
    (void)state;
    static const char *const decoded[] = {"/a", "/a%", "/a?", "/a b", "/a#", "/\xc3\xa4", "/%2e"};
    for (size_t i = 0; i < sizeof(decoded) / sizeof(decoded[0]); i++) {
        char out[16];
        size_t len = 0;
        struct weir_str path = {decoded[i], strlen(decoded[i])};

        bool same = path_decode(path_cut_query(path), out, &len) && strcmp(out, decoded[i]) == 0;

        assert_int_equal(path_is_plain(path), same);
    }
}

static void hidden_names_are_seen_at_every_place(void **state)
{
    (void)state;
    assert_true(path_is_hidden(WEIR_STR("/.git/config")));
    assert_true(path_is_hidden(WEIR_STR("/a/.env")));
    assert_true(path_is_hidden(WEIR_STR("/.well-known")));
    assert_true(path_is_hidden(WEIR_STR("/.well-known/.env")));
    assert_true(path_is_hidden(WEIR_STR("/a/.well-known/b")));
    assert_false(path_is_hidden(WEIR_STR("/.well-known/security.txt")));
    assert_false(path_is_hidden(WEIR_STR("/a.b/c.")));
    assert_false(path_is_hidden(WEIR_STR("/")));
}

/* Decode one segment, *n characters of it.  False: it is malformed. */
static bool model_segment(const char *raw, size_t len, char *out, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = raw[i];
        if (c == '%') {
            if (i + 2 >= len)
                return false;
            char digits[3] = {raw[i + 1], raw[i + 2], 0};
            if (strspn(digits, "0123456789abcdefABCDEF") != 2)
                return false;
            c = (char)strtol(digits, NULL, 16);
            if (c == '/' || c == '\\' || c == 0)
                return false;
            i += 2;
        } else if ((unsigned char)c <= 32 || c == 127 || c == '\\' || c == '#') {
            return false;
        }
        out[(*n)++] = c;
    }
    out[*n] = '\0';
    return true;
}

/* The slow way: split, decode each segment, keep a stack. */
static bool model_decode(const char *raw, size_t raw_len, char *out, size_t *out_len)
{
    char stack[64][64];
    size_t depth = 0;
    bool is_dir = false;
    if (raw_len == 0 || raw[0] != '/')
        return false;
    for (size_t i = 1; i <= raw_len;) {
        char segment[64];
        size_t n;
        const char *slash = memchr(raw + i, '/', raw_len - i);
        size_t end = slash == NULL ? raw_len : (size_t)(slash - raw);
        if (!model_segment(raw + i, end - i, segment, &n))
            return false;
        bool is_last = slash == NULL;
        i = end + 1;
        is_dir = n == 0 || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0;
        if (strcmp(segment, "..") == 0) {
            if (depth == 0)
                return false;
            depth--;
        } else if (!is_dir) {
            memcpy(stack[depth++], segment, n + 1);
        }
        if (is_last)
            break;
    }
    size_t len = 0;
    for (size_t d = 0; d < depth; d++) {
        out[len++] = '/';
        memcpy(out + len, stack[d], strlen(stack[d]));
        len += strlen(stack[d]);
    }
    if (is_dir || depth == 0)
        out[len++] = '/';
    *out_len = len;
    return true;
}

static void random_paths_agree_with_a_model(void **state)
{
    (void)state;
    static const char *const parts[] = {"/",   "/",   ".",   "..",  "a",   "b",
                                        "%2e", "%2E", "%41", "%2f", "%5c", "%00",
                                        "%25", "%3f", "%4",  "\\",  " ",   "\x80"};
    struct rng r = rng_new("path");
    for (int step = 0; step < 60000; step++) {
        char raw[64] = "/";
        size_t count = rng_below(&r, 14);
        size_t kinds = rng_below(&r, 2) == 0 ? 9 : sizeof(parts) / sizeof(parts[0]);
        for (size_t i = 0; i < count; i++)
            text_add(raw, sizeof(raw), "%s", parts[rng_below(&r, kinds)]);
        char got[65];
        char want[65];
        size_t got_len = 0;
        size_t want_len = 0;

        bool ok = path_decode((struct weir_str){raw, strlen(raw)}, got, &got_len);

        if (ok != model_decode(raw, strlen(raw), want, &want_len))
            fail_msg("%s: %s", raw, ok ? "taken" : "refused");
        if (ok && (got_len != want_len || memcmp(got, want, got_len) != 0))
            fail_msg("%s: got %s, not %.*s", raw, got, (int)want_len, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_decoded_once_or_refused),
        cmocka_unit_test(a_nul_in_the_raw_path_is_refused),
        cmocka_unit_test(the_query_is_cut_off),
        cmocka_unit_test(a_plain_path_decodes_to_itself),
        cmocka_unit_test(hidden_names_are_seen_at_every_place),
        cmocka_unit_test(random_paths_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
