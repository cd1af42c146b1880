/* Preconditions: a table, and a slow model over all combinations. */
#include "cm.h"

#include <string.h>

#include "conditional.h"

#define TAG "\"abc\""
#define DATE_S 784111777
#define DATE "Sun, 06 Nov 1994 08:49:37 GMT"
#define BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define AFTER "Sun, 06 Nov 1994 08:49:38 GMT"
#define NOW_S 1700000000

static struct weir_str str(const char *text)
{
    return (struct weir_str){text, strlen(text)};
}

static const struct validators all = {
    .etag = WEIR_STR_INIT(TAG),
    .has_date = true,
    .date_s = DATE_S,
    .date = WEIR_STR_INIT(DATE),
};
/* The same, of whom nobody has written how its date is told. */
static const struct validators unwritten = {
    .etag = WEIR_STR_INIT(TAG),
    .has_date = true,
    .date_s = DATE_S,
};

struct row {
    const char *fields[4][2];
    enum condition want;
};

static enum condition check(const char *const (*fields)[2], const struct validators *v)
{
    struct weir_field list[8];
    struct weir_request r = {.fields = list};
    for (size_t i = 0; i < 4 && fields[i][0] != NULL; i++)
        list[r.field_count++] = (struct weir_field){str(fields[i][0]), str(fields[i][1])};
    return condition_check(&r, v, NOW_S);
}

#define INM "if-none-match"
#define IMS "if-modified-since"
#define IM "if-match"
#define IUS "if-unmodified-since"

static const struct row rows[] = {
    {{{NULL, NULL}}, CONDITION_MET},
    {{{"accept", TAG}}, CONDITION_MET},
    {{{INM, TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, "W/" TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, "*"}}, CONDITION_NOT_MODIFIED},
    {{{INM, "\"x\""}}, CONDITION_MET},
    {{{INM, "\"x\", " TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, "\"x\"," TAG ",\"y\""}}, CONDITION_NOT_MODIFIED},
    {{{INM, "\"x\" , W/\"y\", W/" TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, ",, " TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, "\"\", " TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, "\"a,b\", " TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, "\"x\""}, {INM, TAG}}, CONDITION_NOT_MODIFIED},
    {{{INM, "abc"}}, CONDITION_MET},
    {{{INM, ""}}, CONDITION_MET},
    {{{INM, "w/" TAG}}, CONDITION_MET},
    {{{INM, "\"abc"}}, CONDITION_MET},
    {{{INM, "\"ab\""}}, CONDITION_MET},
    {{{INM, "\"abcd\""}}, CONDITION_MET},
    {{{INM, "\"ABC\""}}, CONDITION_MET},
    {{{INM, "\"x y\", " TAG}}, CONDITION_MET},
    {{{INM, "**"}}, CONDITION_MET},
    {{{IMS, DATE}}, CONDITION_NOT_MODIFIED},
    {{{IMS, AFTER}}, CONDITION_NOT_MODIFIED},
    {{{IMS, BEFORE}}, CONDITION_MET},
    {{{IMS, "Sunday, 06-Nov-94 08:49:37 GMT"}}, CONDITION_NOT_MODIFIED},
    {{{IMS, "Sun Nov  6 08:49:37 1994"}}, CONDITION_NOT_MODIFIED},
    {{{IMS, "yesterday"}}, CONDITION_MET},
    {{{IMS, ""}}, CONDITION_MET},
    {{{INM, "\"x\""}, {IMS, AFTER}}, CONDITION_MET},
    {{{INM, ""}, {IMS, AFTER}}, CONDITION_MET},
    {{{INM, TAG}, {IMS, BEFORE}}, CONDITION_NOT_MODIFIED},
    {{{IM, TAG}}, CONDITION_MET},
    {{{IM, "*"}}, CONDITION_MET},
    {{{IM, "W/" TAG}}, CONDITION_FAILED},
    {{{IM, "\"x\""}}, CONDITION_FAILED},
    {{{IM, ""}}, CONDITION_FAILED},
    {{{IM, "\"x\", " TAG}}, CONDITION_MET},
    {{{IM, "\"x\""}, {IM, TAG}}, CONDITION_MET},
    {{{IUS, DATE}}, CONDITION_MET},
    {{{IUS, AFTER}}, CONDITION_MET},
    {{{IUS, BEFORE}}, CONDITION_FAILED},
    {{{IUS, "yesterday"}}, CONDITION_MET},
    {{{IM, TAG}, {IUS, BEFORE}}, CONDITION_MET},
    {{{IM, "\"x\""}, {IUS, AFTER}}, CONDITION_FAILED},
    {{{IM, "\"x\""}, {INM, TAG}}, CONDITION_FAILED},
    {{{IM, TAG}, {INM, TAG}}, CONDITION_NOT_MODIFIED},
    {{{IUS, BEFORE}, {INM, TAG}}, CONDITION_FAILED},
    {{{IUS, DATE}, {IMS, DATE}}, CONDITION_NOT_MODIFIED},
};

static void preconditions_are_evaluated_in_their_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum condition got = check(rows[i].fields, &all);
        if (got == rows[i].want)
            got = check(rows[i].fields, &unwritten);
        if (got != rows[i].want)
            fail_msg("row %zu, %s: %s: %d", i, rows[i].fields[0][0], rows[i].fields[0][1], got);
    }
}

static void without_a_date_dates_are_ignored(void **state)
{
    (void)state;
    static const struct validators v = {.etag = WEIR_STR_INIT(TAG)};
    static const struct row undated[] = {
        {{{IMS, AFTER}}, CONDITION_MET},
        {{{IUS, BEFORE}}, CONDITION_MET},
        {{{INM, TAG}}, CONDITION_NOT_MODIFIED},
    };
    for (size_t i = 0; i < sizeof(undated) / sizeof(undated[0]); i++)
        assert_int_equal(check(undated[i].fields, &v), undated[i].want);
}

static void without_a_tag_only_a_star_matches(void **state)
{
    (void)state;
    static const struct validators v = {.has_date = true, .date_s = DATE_S};
    static const struct row untagged[] = {
        {{{INM, TAG}}, CONDITION_MET},          {{{INM, "\"\""}}, CONDITION_MET},
        {{{INM, "*"}}, CONDITION_NOT_MODIFIED}, {{{IM, TAG}}, CONDITION_FAILED},
        {{{IM, "*"}}, CONDITION_MET},           {{{IMS, DATE}}, CONDITION_NOT_MODIFIED},
    };
    for (size_t i = 0; i < sizeof(untagged) / sizeof(untagged[0]); i++)
        assert_int_equal(check(untagged[i].fields, &v), untagged[i].want);
}

static bool allows_range(const char *value, const struct validators *v, int64_t now_s)
{
    struct weir_field field = {WEIR_STR("if-range"), {"", 0}};
    struct weir_request r = {.fields = &field, .field_count = value != NULL};
    if (value != NULL)
        field.value = str(value);
    return condition_allows_range(&r, v, now_s);
}

static void ranges_apply_to_the_same_bytes_only(void **state)
{
    (void)state;
    static const struct validators undated = {.etag = WEIR_STR_INIT(TAG), .date_s = DATE_S};
    static const struct validators untagged = {.has_date = true, .date_s = DATE_S};

    assert_true(allows_range(NULL, &all, NOW_S));
    assert_true(allows_range(TAG, &all, NOW_S));
    assert_false(allows_range("W/" TAG, &all, NOW_S));
    assert_false(allows_range("\"x\"", &all, NOW_S));
    assert_false(allows_range("\"x\", " TAG, &all, NOW_S));
    assert_false(allows_range("*", &all, NOW_S));
    assert_false(allows_range("", &all, NOW_S));
    assert_true(allows_range(DATE, &all, NOW_S));
    assert_true(allows_range(DATE, &unwritten, NOW_S));
    assert_false(allows_range(BEFORE, &all, NOW_S));
    assert_false(allows_range(AFTER, &all, NOW_S));
    assert_false(allows_range(DATE, &all, DATE_S + 1)); /* it might have changed twice */
    assert_false(allows_range(DATE, &undated, NOW_S));
    assert_false(allows_range("", &untagged, NOW_S));
    assert_true(allows_range(DATE, &untagged, NOW_S));
}

/* RFC 9110 13.2.2 word by word, over values of which it is known whether they match. */
static void random_combinations_agree_with_a_model(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool strong;
        bool weak;
    } tags[] = {
        {TAG, true, true},          {"W/" TAG, false, true},          {"*", true, true},
        {"\"x\"", false, false},    {"\"x\", W/" TAG, false, true},   {"bad", false, false},
        {"\"y\"," TAG, true, true}, {"W/\"x\", \"y\"", false, false},
    };
    static const struct {
        const char *text;
        int order; /* to the date of the representation; 2: no date */
    } dates[] = {{DATE, 0}, {BEFORE, -1}, {AFTER, 1}, {"bad", 2}};
    struct rng r = rng_new("conditional");
    for (int step = 0; step < 20000; step++) {
        size_t im = rng_below(&r, 16);
        size_t inm = rng_below(&r, 16);
        size_t ius = rng_below(&r, 8);
        size_t ims = rng_below(&r, 8);
        const char *fields[4][2] = {{NULL}};
        size_t n = 0;
        if (ims < 4)
            fields[n][0] = IMS, fields[n++][1] = dates[ims].text;
        if (inm < 8)
            fields[n][0] = INM, fields[n++][1] = tags[inm].text;
        if (ius < 4)
            fields[n][0] = IUS, fields[n++][1] = dates[ius].text;
        if (im < 8)
            fields[n][0] = IM, fields[n++][1] = tags[im].text;
        enum condition want = CONDITION_MET;
        bool has_failed = im < 8 ? !tags[im].strong : ius < 4 && dates[ius].order == -1;
        bool is_same =
            inm < 8 ? tags[inm].weak : ims < 4 && (dates[ims].order == 0 || dates[ims].order == 1);
        if (has_failed)
            want = CONDITION_FAILED;
        else if (is_same)
            want = CONDITION_NOT_MODIFIED;

        const struct validators *v = step % 2 == 0 ? &all : &unwritten;
        assert_int_equal(check((const char *const(*)[2])fields, v), want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preconditions_are_evaluated_in_their_order),
        cmocka_unit_test(without_a_date_dates_are_ignored),
        cmocka_unit_test(without_a_tag_only_a_star_matches),
        cmocka_unit_test(ranges_apply_to_the_same_bytes_only),
        cmocka_unit_test(random_combinations_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
