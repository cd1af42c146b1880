/* Byte ranges: a table, and a slow model that paints the bytes asked for. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "range.h"
#include "text.h"

#define TEXT_CAP 1024 /* of a printed set of ranges */

#define WHOLE "whole"
#define NONE "416"

static const struct {
    const char *value;
    uint64_t size;
    const char *want; /* "first-last,..." or WHOLE or NONE */
} rows[] = {
    {"bytes=0-0", 1000, "0-0"},
    {"bytes=0-499", 1000, "0-499"},
    {"bytes=500-999", 1000, "500-999"},
    {"bytes=999-999", 1000, "999-999"},
    {"bytes=0-", 1000, "0-999"},
    {"bytes=999-", 1000, "999-999"},
    {"bytes=-1", 1000, "999-999"},
    {"bytes=-500", 1000, "500-999"},
    {"bytes=-1000", 1000, "0-999"},
    {"bytes=-2000", 1000, "0-999"},
    {"bytes=0-999", 1000, "0-999"},
    {"bytes=0-1000", 1000, "0-999"},
    {"bytes=990-2000", 1000, "990-999"},
    {"bytes=0-99999999999999999999999999", 1000, "0-999"},
    {"bytes=-99999999999999999999999999", 1000, "0-999"},
    {"bytes=00-0010", 1000, "0-10"},
    /* nothing of it is there */
    {"bytes=1000-", 1000, NONE},
    {"bytes=1000-1000", 1000, NONE},
    {"bytes=99999999999999999999999999-", 1000, NONE},
    {"bytes=18446744073709551616-18446744073709551617", 1000, NONE},
    {"bytes=-0", 1000, NONE},
    {"bytes=2000-3000,4000-", 1000, NONE},
    {"bytes=0-0", 0, NONE},
    {"bytes=0-", 0, NONE},
    {"bytes=-0", 0, NONE},
    {"bytes=-1", 0, WHOLE}, /* satisfiable, and no 206 can say so */
    /* malformed, or of a unit that is not known: as if it were not there */
    {"bytes=", 1000, WHOLE},
    {"bytes", 1000, WHOLE},
    {"", 1000, WHOLE},
    {"bytes=-", 1000, WHOLE},
    {"bytes=a-b", 1000, WHOLE},
    {"bytes=0", 1000, WHOLE},
    {"bytes=5-4", 1000, WHOLE},
    {"bytes=0-1,5-4", 1000, WHOLE},
    {"bytes=--5", 1000, WHOLE},
    {"bytes=-5-", 1000, WHOLE},
    {"bytes=0-1-2", 1000, WHOLE},
    {"bytes=0 -1", 1000, WHOLE},
    {"bytes=0- 1", 1000, WHOLE},
    {"bytes=+1-2", 1000, WHOLE},
    {"bytes=0x1-2", 1000, WHOLE},
    {"bytes=1-2;3-4", 1000, WHOLE},
    {"bytes=,", 1000, WHOLE},
    {"bytes 0-1", 1000, WHOLE},
    {"bytes =0-1", 1000, WHOLE},
    {"items=0-1", 1000, WHOLE},
    {"bytesx=0-1", 1000, WHOLE},
    /* the unit in any case, blanks and empty elements in the list */
    {"BYTES=0-1", 1000, "0-1"},
    {"Bytes= 0-1", 1000, "0-1"},
    {"bytes=0-1 ", 1000, "0-1"},
    {"bytes=,0-1,,", 1000, "0-1"},
    /* several: in order, merged when they overlap, touch, or nearly do */
    {"bytes=0-0,500-500", 1000, "0-0,500-500"},
    {"bytes=500-500 , 0-0", 1000, "0-0,500-500"},
    {"bytes=0-99,50-149", 1000, "0-149"},
    {"bytes=0-99,100-199", 1000, "0-199"},
    {"bytes=0-99,179-199", 1000, "0-199"},
    {"bytes=0-99,180-199", 1000, "0-99,180-199"},
    {"bytes=0-999,500-500", 1000, "0-999"},
    {"bytes=500-500,0-", 1000, "0-999"},
    {"bytes=0-9,-10", 1000, "0-9,990-999"},
    {"bytes=0-9,2000-", 1000, "0-9"},
    {"bytes=0-0,0-0,0-0", 1000, "0-0"},
    {"bytes=0-,0-,0-", 1000, "0-999"},
    {"bytes=0-0,-1", 2, "0-1"},
};

static void ranges_print(const struct range *ranges, size_t count, char *out)
{
    out[0] = '\0';
    for (size_t i = 0; i < count; i++)
        text_add(out, TEXT_CAP, "%s%llu-%llu", i == 0 ? "" : ",",
                 (unsigned long long)ranges[i].first,
                 (unsigned long long)(ranges[i].first + ranges[i].len - 1));
}

static void a_set_of_ranges_is_read_as_rfc_9110_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct range ranges[RANGES_MAX];
        size_t count;
        char got[TEXT_CAP] = WHOLE;
        struct weir_str value = {rows[i].value, strlen(rows[i].value)};

        switch (range_parse(value, rows[i].size, ranges, &count)) {
        case RANGE_WHOLE: break;
        case RANGE_UNSATISFIABLE: text_set(got, sizeof(got), NONE); break;
        case RANGE_PARTS: ranges_print(ranges, count, got); break;
        }

        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s of %llu: %s, not %s", rows[i].value, (unsigned long long)rows[i].size, got,
                     rows[i].want);
    }
}

static void whoever_asks_for_too_many_ranges_gets_all(void **state)
{
    (void)state;
    char value[4096] = "bytes=";
    struct range ranges[RANGES_MAX];
    size_t count;
    for (int i = 0; i < RANGES_MAX; i++)
        text_add(value, sizeof(value), "%d-%d,", i * 1000, i * 1000);

    assert_int_equal(range_parse((struct weir_str){value, strlen(value)}, 100000, ranges, &count),
                     RANGE_PARTS);
    assert_int_equal(count, RANGES_MAX);

    text_add(value, sizeof(value), "50000-50000");
    assert_int_equal(range_parse((struct weir_str){value, strlen(value)}, 100000, ranges, &count),
                     RANGE_WHOLE);
}

static void many_ranges_that_merge_are_fine_up_to_a_bound(void **state)
{
    (void)state;
    char value[4096] = "bytes=";
    struct range ranges[RANGES_MAX];
    size_t count;
    for (int i = 0; i < RANGES_READ_MAX; i++)
        text_add(value, sizeof(value), "0-0,");

    assert_int_equal(range_parse((struct weir_str){value, strlen(value)}, 100, ranges, &count),
                     RANGE_PARTS);
    assert_int_equal(count, 1);

    text_add(value, sizeof(value), "0-0");
    assert_int_equal(range_parse((struct weir_str){value, strlen(value)}, 100, ranges, &count),
                     RANGE_WHOLE);
}

/* Paint what is asked for, fill the small gaps, and read the runs off. */
#define MODEL_SIZE_MAX 600

/* True if any byte was painted. */
static bool model_paint(const long (*specs)[2], size_t spec_count, size_t size, bool *painted)
{
    bool any = false;
    for (size_t s = 0; s < spec_count; s++) {
        for (long i = 0; i < (long)size; i++) {
            bool is_in = specs[s][0] < 0
                             ? i >= (long)size - specs[s][1]
                             : i >= specs[s][0] && (specs[s][1] < 0 || i <= specs[s][1]);
            painted[i] |= is_in;
            any |= is_in;
        }
    }
    return any;
}

static void model_fill_gaps(size_t size, bool *painted)
{
    long last = -1;
    for (long i = 0; i < (long)size; i++) {
        if (!painted[i])
            continue;
        for (long k = last + 1; last >= 0 && k < i && i - last - 1 < RANGE_GAP_MIN; k++)
            painted[k] = true;
        last = i;
    }
}

static void model(const long (*specs)[2], size_t spec_count, size_t size, char *out)
{
    bool painted[MODEL_SIZE_MAX] = {false};
    bool any = model_paint(specs, spec_count, size, painted);
    model_fill_gaps(size, painted);
    size_t runs = 0;
    out[0] = '\0';
    for (size_t i = 0; i < size; i++) {
        if (!painted[i] || (i > 0 && painted[i - 1]))
            continue;
        size_t end = i;
        while (end + 1 < size && painted[end + 1])
            end++;
        text_add(out, TEXT_CAP, "%s%zu-%zu", runs == 0 ? "" : ",", i, end);
        runs++;
    }
    bool wants_suffix = false;
    for (size_t s = 0; s < spec_count; s++)
        wants_suffix |= specs[s][0] < 0 && specs[s][1] > 0;
    if (!any)
        text_set(out, TEXT_CAP, size == 0 && wants_suffix ? WHOLE : NONE);
    else if (runs > RANGES_MAX)
        text_set(out, TEXT_CAP, WHOLE);
}

static void random_sets_agree_with_a_model(void **state)
{
    (void)state;
    struct rng r = rng_new("range");
    for (int step = 0; step < 10000; step++) {
        long specs[12][2];
        size_t spec_count = 1 + rng_below(&r, 12);
        size_t size = rng_below(&r, 20) == 0 ? 0 : rng_below(&r, MODEL_SIZE_MAX);
        char value[512] = "bytes=";
        for (size_t s = 0; s < spec_count; s++) {
            long first = (long)rng_below(&r, MODEL_SIZE_MAX + 50);
            long len = (long)rng_below(&r, rng_below(&r, 2) == 0 ? 4 : 300);
            if (s > 0)
                text_add(value, sizeof(value), "%s", rng_below(&r, 2) == 0 ? "," : " ,\t");
            switch (rng_below(&r, 4)) {
            case 0:
                specs[s][0] = -1;
                specs[s][1] = len;
                text_add(value, sizeof(value), "-%ld", len);
                break;
            case 1:
                specs[s][0] = first;
                specs[s][1] = -1;
                text_add(value, sizeof(value), "%ld-", first);
                break;
            default:
                specs[s][0] = first;
                specs[s][1] = first + len;
                text_add(value, sizeof(value), "%ld-%ld", first, first + len);
                break;
            }
        }
        struct range ranges[RANGES_MAX];
        size_t count;
        char got[TEXT_CAP] = WHOLE;
        char want[TEXT_CAP];
        model(specs, spec_count, size, want);

        switch (range_parse((struct weir_str){value, strlen(value)}, size, ranges, &count)) {
        case RANGE_WHOLE: break;
        case RANGE_UNSATISFIABLE: text_set(got, sizeof(got), NONE); break;
        case RANGE_PARTS: ranges_print(ranges, count, got); break;
        }

        if (strcmp(got, want) != 0)
            fail_msg("%s of %zu: %s, not %s", value, size, got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_of_ranges_is_read_as_rfc_9110_says),
        cmocka_unit_test(whoever_asks_for_too_many_ranges_gets_all),
        cmocka_unit_test(many_ranges_that_merge_are_fine_up_to_a_bound),
        cmocka_unit_test(random_sets_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
