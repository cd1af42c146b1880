/* Accept and Accept-Encoding. */
#include "cm.h"

#include <string.h>

#include "negotiate.h"

static struct weir_str str(const char *text)
{
    return (struct weir_str){text, strlen(text)};
}

static const struct {
    const char *value;         /* NULL: no field */
    unsigned weights[CODINGS]; /* identity, br, zstd, gzip */
} coding_rows[] = {
    {NULL, {1, 0, 0, 0}},
    {"", {1, 0, 0, 0}},
    {"gzip", {1, 0, 0, 1000}},
    {"gzip, deflate, br, zstd", {1, 1000, 1000, 1000}},
    {"GZip", {1, 0, 0, 1000}},
    {"x-gzip", {1, 0, 0, 1000}},
    {"br;q=1, gzip;q=0.8", {1, 1000, 0, 800}},
    {"br;q=0.001,zstd;q=0.01,gzip;q=0.1", {1, 1, 10, 100}},
    {"br;q=0", {1, 0, 0, 0}},
    {"br;q=0.000", {1, 0, 0, 0}},
    {"br;q=1.000", {1, 1000, 0, 0}},
    {"br;q=1.001", {1, 0, 0, 0}},
    {"br;q=2", {1, 0, 0, 0}},
    {"br;q=0.5555", {1, 0, 0, 0}},
    {"br;q=", {1, 0, 0, 0}},
    {"br;q=x", {1, 0, 0, 0}},
    {"br;q=-1", {1, 0, 0, 0}},
    {"br;q=.5", {1, 0, 0, 0}},
    {"br;q=0.", {1, 0, 0, 0}},
    {"br ; q = 0.5", {1, 500, 0, 0}},
    {"br;Q=0.5", {1, 500, 0, 0}},
    {"br;x=1;q=0.5", {1, 500, 0, 0}},
    {"*", {1000, 1000, 1000, 1000}},
    {"*;q=0", {0, 0, 0, 0}},
    {"*;q=0.5", {500, 500, 500, 500}},
    {"gzip, *;q=0", {0, 0, 0, 1000}},
    {"*;q=0, gzip", {0, 0, 0, 1000}},
    {"br;q=0, *", {1000, 0, 1000, 1000}},
    {"identity", {1000, 0, 0, 0}},
    {"identity;q=0", {0, 0, 0, 0}},
    {"gzip, identity;q=0", {0, 0, 0, 1000}},
    {"identity;q=0.5, gzip;q=0.4", {500, 0, 0, 400}},
    {"compress, deflate", {1, 0, 0, 0}},
    {",, gzip ,,", {1, 0, 0, 1000}},
    {"gzip;", {1, 0, 0, 1000}},
    {"gzipx", {1, 0, 0, 0}},
    {"gzi", {1, 0, 0, 0}},
};

static void codings_have_the_weights_given(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(coding_rows) / sizeof(coding_rows[0]); i++) {
        const char *value = coding_rows[i].value;
        struct weir_field field = {WEIR_STR("accept-encoding"), {"", 0}};
        struct weir_request r = {.fields = &field, .field_count = value != NULL};
        unsigned got[CODINGS];
        if (value != NULL)
            field.value = str(value);

        negotiate_codings(&r, got);

        if (memcmp(got, coding_rows[i].weights, sizeof(got)) != 0)
            fail_msg("%s: %u %u %u %u", value, got[0], got[1], got[2], got[3]);
    }
}

static void fields_of_one_name_are_one_list(void **state)
{
    (void)state;
    struct weir_field fields[] = {
        {WEIR_STR("accept-encoding"), WEIR_STR("gzip;q=0.5")},
        {WEIR_STR("accept"), WEIR_STR("zstd")},
        {WEIR_STR("accept-encoding"), WEIR_STR("br")},
    };
    struct weir_request r = {.fields = fields, .field_count = 3};
    unsigned got[CODINGS];

    negotiate_codings(&r, got);

    assert_int_equal(got[CODING_BR], 1000);
    assert_int_equal(got[CODING_GZIP], 500);
    assert_int_equal(got[CODING_ZSTD], 0);
}

static const struct {
    const char *value; /* NULL: no field */
    const char *type;
    unsigned weight;
} type_rows[] = {
    {NULL, "text/html", 1000},
    {"text/html", "text/html", 1000},
    {"TEXT/HTML", "text/html", 1000},
    {"text/html;q=0.7", "text/html", 700},
    {"text/html;level=1;q=0.7", "text/html", 700},
    {"text/*", "text/html", 1000},
    {"*/*;q=0.1", "text/html", 100},
    {"*/*, text/*;q=0.5, text/html;q=0.2", "text/html", 200},
    {"text/html;q=0.2, text/*;q=0.5, */*", "text/html", 200},
    {"text/*;q=0.5, */*", "text/html", 500},
    {"application/json", "text/html", 0},
    {"application/*", "text/html", 0},
    {"text/html;q=0", "text/html", 0},
    {"text/html;q=0, */*", "text/html", 0},
    {"", "text/html", 0},
    {"text", "text/html", 0},
    {"*", "text/html", 0},
    {"text/htm", "text/html", 0},
    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html", 1000},
    {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json", 800},
    {"application/json, text/plain, */*", "text/html", 1000},
};

static void the_closest_range_gives_the_weight_of_a_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(type_rows) / sizeof(type_rows[0]); i++) {
        const char *value = type_rows[i].value;
        struct weir_field field = {WEIR_STR("accept"), {"", 0}};
        struct weir_request r = {.fields = &field, .field_count = value != NULL};
        if (value != NULL)
            field.value = str(value);

        unsigned got = negotiate_type(&r, str(type_rows[i].type));

        if (got != type_rows[i].weight)
            fail_msg("%s in %s: %u", type_rows[i].type, value, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codings_have_the_weights_given),
        cmocka_unit_test(fields_of_one_name_are_one_list),
        cmocka_unit_test(the_closest_range_gives_the_weight_of_a_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
