/*
 * Preconditions and dates.  Input: lines, each the value of a field whose name its first byte
 * picks.  What must hold: a tag that is listed is found, whatever stands around it.
 * Covers: server/http/files/conditional.c, server/http/files/date.c
 */
#include "fuzz.h"

#include <string.h>

#include "clock.h"
#include "conditional.h"
#include "date.h"
#include "internal/assert.h"

#define FIELDS_MAX 8

static const struct weir_str names[] = {
    WEIR_STR_INIT("if-match"),          WEIR_STR_INIT("if-none-match"),
    WEIR_STR_INIT("if-modified-since"), WEIR_STR_INIT("if-unmodified-since"),
    WEIR_STR_INIT("if-range"),          WEIR_STR_INIT("accept"),
};

static void check_date(struct weir_str text)
{
    int64_t date_s;
    int64_t again_s = 0;
    char written[CLOCK_DATE_LEN + 1];
    if (!date_parse(text, 1700000000, &date_s) || date_s < -62135596800)
        return; /* before year 1 there is nothing to write it with */
    clock_format_date(date_s, written);
    struct weir_str out = {written, CLOCK_DATE_LEN};
    WEIR_ASSERT(date_parse(out, 1700000000, &again_s) || date_s > 253402300799);
    WEIR_ASSERT(again_s == date_s || date_s > 253402300799);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct validators v = {
        .etag = WEIR_STR_INIT("\"abc\""),
        .has_date = true,
        .date_s = 784111777,
        .date = WEIR_STR_INIT("Sun, 06 Nov 1994 08:49:37 GMT"),
    };
    struct weir_field fields[FIELDS_MAX + 1];
    struct weir_request r = {.fields = fields};
    const char *p = (const char *)data;
    const char *end = p + len;
    while (p < end && r.field_count < FIELDS_MAX) {
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        if (line_end == NULL)
            line_end = end;
        size_t n = (size_t)(line_end - p);
        if (n > 0) {
            struct weir_field *field = &fields[r.field_count++];
            field->name = names[(unsigned char)p[0] % (sizeof(names) / sizeof(names[0]))];
            field->value = (struct weir_str){p + 1, n - 1};
            check_date(field->value);
        }
        p = line_end == end ? end : line_end + 1;
    }
    condition_allows_range(&r, &v, 1700000000);
    enum condition before = condition_check(&r, &v, 1700000000);
    fields[r.field_count++] = (struct weir_field){WEIR_STR("if-none-match"), WEIR_STR("W/\"abc\"")};
    enum condition after = condition_check(&r, &v, 1700000000);
    WEIR_ASSERT(after == (before == CONDITION_FAILED ? CONDITION_FAILED : CONDITION_NOT_MODIFIED));
    return 0;
}
