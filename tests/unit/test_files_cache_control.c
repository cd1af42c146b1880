/* Globs, and how long a copy may be kept. */
#include "cm.h"

#include <string.h>

#include "cache_control.h"
#include "mime.h"
#include "glob.h"
#include "text.h"

static struct weir_str str(const char *text)
{
    return (struct weir_str){text, strlen(text)};
}

static const struct {
    const char *glob;
    const char *path;
    bool want;
} glob_rows[] = {
    {"*.html", "/a.html", true},
    {"*.html", "/a/b.html", true},
    {"*.html", "/a.htm", false},
    {"*.html", "/.html", true},
    {"/*.html", "/a.html", true},
    {"/*.html", "/a/b.html", false},
    {"/**.html", "/a/b.html", true},
    {"/a/**", "/a/b/c", true},
    {"/a/**", "/a/", true},
    {"/a/**", "/a", false},
    {"/a/**", "/ab/c", false},
    {"/**/b", "/a/x/b", true},
    {"/**/b", "/b", false},
    {"/a?c", "/abc", true},
    {"/a?c", "/a/c", false},
    {"a?c", "/x/abc", true},
    {"*", "/", true},
    {"*", "/a/b", true},
    {"**", "/a/b", true},
    {"", "/", true},
    {"", "/a", false},
    {"a*a*a", "/aaa", true},
    {"a*a*a", "/aa", false},
    {"*a*b*", "/xaxbx", true},
    {"/*/x", "/a/x", true},
    {"/*/x", "/a/b/x", false},
    {"/**/*.js", "/a/b/c.js", true},
    {"/**/*.js", "/a/b/c.css", false},
    {"*.min.*", "/x/jquery.min.js", true},
};

static void a_glob_matches_names_or_paths(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(glob_rows) / sizeof(glob_rows[0]); i++) {
        if (glob_match(str(glob_rows[i].glob), str(glob_rows[i].path)) != glob_rows[i].want)
            fail_msg("%s on %s", glob_rows[i].glob, glob_rows[i].path);
    }
}

/* Every way that a star can go is tried. */
static bool model_match(const char *glob, const char *text)
{
    if (glob[0] == '\0')
        return text[0] == '\0';
    if (glob[0] == '*') {
        bool is_double = glob[1] == '*';
        const char *rest = glob + (is_double ? 2 : 1);
        for (size_t n = 0;; n++) {
            if (model_match(rest, text + n))
                return true;
            if (text[n] == '\0' || (text[n] == '/' && !is_double))
                return false;
        }
    }
    if (text[0] == '\0' || (glob[0] == '?' ? text[0] == '/' : glob[0] != text[0]))
        return false;
    return model_match(glob + 1, text + 1);
}

static void random_globs_agree_with_a_model(void **state)
{
    (void)state;
    struct rng r = rng_new("glob");
    for (int step = 0; step < 100000; step++) {
        char glob[12] = "/";
        char text[12] = "/";
        size_t glob_len = rng_below(&r, 9);
        size_t text_len = rng_below(&r, 10);
        for (size_t i = 0; i < glob_len; i++)
            text_add(glob, sizeof(glob), "%c", "ab/***?"[rng_below(&r, 7)]);
        for (size_t i = 0; i < text_len; i++)
            text_add(text, sizeof(text), "%c", "ab/"[rng_below(&r, 3)]);
        if (strstr(glob, "***") != NULL)
            continue; /* says nothing that "**" does not */

        if (glob_match(str(glob), str(text)) != model_match(glob, text))
            fail_msg("%s on %s", glob, text);
    }
}

#define FOR_EVER "public, max-age=31536000, immutable"
#define ASK "no-cache"
#define CHECK "max-age=0, must-revalidate"

static const struct {
    const char *path;
    const char *want;
} rows[] = {
    {"/app.3f2a9c1b.js", FOR_EVER},
    {"/a/app.3F2A9C1B.css", FOR_EVER},
    {"/app.0123456789abcdef0123456789abcdef.woff2", FOR_EVER},
    {"/app.Bk3jvFZa.js", FOR_EVER},
    {"/app.Bk3-vF_a.js", FOR_EVER},
    {"/app.3f2a9c1b.js.map", FOR_EVER},
    {"/vendor.min.3f2a9c1b.js", FOR_EVER},
    {"/page.3f2a9c1b.html", FOR_EVER},
    {"/app.3f2a9c1.js", CHECK},
    {"/app.production.js", CHECK},
    {"/app.component.js", CHECK},
    {"/app.optimized2.js", CHECK},
    {"/app.MyOwnThing.js", CHECK},
    {"/app.deadbeef.js", FOR_EVER},
    {"/app.48151623.js", FOR_EVER},
    {"/report.20240229.pdf", CHECK}, /* a date */
    {"/report.20241329.pdf", FOR_EVER},
    {"/log.19991231235959.txt", CHECK},
    {"/3f2a9c1b.js", CHECK},
    {"/.3f2a9c1b.js", CHECK},
    {"/a/.3f2a9c1b.js", CHECK},
    {"/app.3f2a9c1b", CHECK},
    {"/app.3f2a9c1b.d/x.js", CHECK},
    {"/app.js", CHECK},
    {"/a.png", CHECK},
    {"/a", CHECK},
    {"/", CHECK},
    {"/index.html", ASK},
    {"/a.htm", ASK},
};

static struct weir_str value_of(const char *path, struct path_rules rules)
{
    return cache_control_of(str(path), mime_find(str(path))->type, rules);
}

static void the_kind_of_file_decides_how_long_it_keeps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct weir_str got = value_of(rows[i].path, (struct path_rules){0});
        if (!weir_str_eq(got, str(rows[i].want)))
            fail_msg("%s: %.*s", rows[i].path, (int)got.len, got.ptr);
    }
}

static void the_first_rule_of_the_operator_comes_before_all(void **state)
{
    (void)state;
    static const struct path_rule list[] = {
        {WEIR_STR_INIT("/private/**"), WEIR_STR_INIT("no-store")},
        {WEIR_STR_INIT("*.html"), WEIR_STR_INIT("max-age=60")},
        {WEIR_STR_INIT("*.txt"), WEIR_STR_INIT("")},
    };
    const struct path_rules rules = {list, sizeof(list) / sizeof(list[0])};

    assert_true(weir_str_eq(value_of("/private/a.html", rules), str("no-store")));
    assert_true(weir_str_eq(value_of("/a.html", rules), str("max-age=60")));
    assert_int_equal(value_of("/a.txt", rules).len, 0);
    assert_true(weir_str_eq(value_of("/a.js", rules), str(CHECK)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_glob_matches_names_or_paths),
        cmocka_unit_test(random_globs_agree_with_a_model),
        cmocka_unit_test(the_kind_of_file_decides_how_long_it_keeps),
        cmocka_unit_test(the_first_rule_of_the_operator_comes_before_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
