/* See range.h. */
#include "range.h"

#include <stdbool.h>
#include <strings.h>

/* No file can be mapped that is this long, and ten times this does not wrap. */
#define NUMBER_MAX ((uint64_t)1 << 60)

/* A range as it was sent. */
struct range_spec {
    bool has_first;
    bool has_last;
    uint64_t first;
    uint64_t last; /* of a suffix: its length */
};

static bool skip_char(struct weir_str *text, char c)
{
    if (text->len == 0 || text->ptr[0] != c)
        return false;
    text->ptr++;
    text->len--;
    return true;
}

static void skip_blanks(struct weir_str *text)
{
    while (skip_char(text, ' ') || skip_char(text, '\t'))
        ;
}

/* Read digits.  A number beyond any file becomes NUMBER_MAX.  False: there are none. */
static bool read_number(struct weir_str *text, uint64_t *out)
{
    size_t n = 0;
    uint64_t value = 0;
    for (; n < text->len && text->ptr[n] >= '0' && text->ptr[n] <= '9'; n++) {
        value = value * 10 + (uint64_t)(text->ptr[n] - '0');
        if (value > NUMBER_MAX)
            value = NUMBER_MAX;
    }
    text->ptr += n;
    text->len -= n;
    *out = value;
    return n > 0;
}

static bool read_spec(struct weir_str *text, struct range_spec *out)
{
    out->has_first = read_number(text, &out->first);
    if (!skip_char(text, '-'))
        return false;
    out->has_last = read_number(text, &out->last);
    if (!out->has_first)
        return out->has_last;
    return !out->has_last || out->last >= out->first;
}

/* Cut a spec to the size.  False: nothing of it is there. */
static bool spec_resolve(const struct range_spec *spec, uint64_t size, struct range *out)
{
    if (!spec->has_first) {
        out->len = spec->last < size ? spec->last : size;
        out->first = size - out->len;
        return out->len > 0;
    }
    if (spec->first >= size)
        return false;
    uint64_t last = spec->has_last && spec->last < size ? spec->last : size - 1;
    out->first = spec->first;
    out->len = last - spec->first + 1;
    return true;
}

/* Put a range where it belongs in the order of first bytes. */
static void range_insert(struct range *ranges, size_t *count, struct range r)
{
    size_t i = (*count)++;
    for (; i > 0 && ranges[i - 1].first > r.first; i--)
        ranges[i] = ranges[i - 1];
    ranges[i] = r;
}

/* Join what overlaps or nearly does.  Gives the new count. */
static size_t ranges_merge(struct range *ranges, size_t count)
{
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) {
        struct range *to = &ranges[kept];
        uint64_t to_end = to->first + to->len;
        uint64_t end = ranges[i].first + ranges[i].len;
        if (ranges[i].first >= to_end + RANGE_GAP_MIN)
            ranges[++kept] = ranges[i];
        else if (end > to_end)
            to->len = end - to->first;
    }
    return count == 0 ? 0 : kept + 1;
}

/* The unit is case-insensitive (RFC 9110 14.1). */
static bool skip_unit(struct weir_str *text)
{
    static const char unit[] = "bytes=";
    if (text->len < sizeof(unit) - 1 || strncasecmp(text->ptr, unit, sizeof(unit) - 1) != 0)
        return false;
    text->ptr += sizeof(unit) - 1;
    text->len -= sizeof(unit) - 1;
    return true;
}

/*
 * Read all ranges of a set and keep those that are there.  False: it is malformed, or too long.
 * *has_suffix tells of a suffix that asks for something, which an empty representation satisfies.
 */
static bool set_read(struct weir_str text, uint64_t size, struct range *ranges, size_t *count,
                     bool *has_suffix)
{
    size_t specs = 0;
    for (;;) {
        struct range_spec spec;
        skip_blanks(&text);
        if (text.len == 0)
            return specs > 0;
        if (skip_char(&text, ','))
            continue; /* empty elements of a list are nothing (RFC 9110 5.6.1.2) */
        if (++specs > RANGES_READ_MAX || !read_spec(&text, &spec))
            return false;
        struct range r;
        if (spec_resolve(&spec, size, &r))
            range_insert(ranges, count, r);
        *has_suffix |= !spec.has_first && spec.last > 0;
        skip_blanks(&text);
        if (text.len > 0 && !skip_char(&text, ','))
            return false;
    }
}

enum range_answer range_parse(struct weir_str value, uint64_t size, struct range out[RANGES_MAX],
                              size_t *count)
{
    struct range ranges[RANGES_READ_MAX];
    bool has_suffix = false;
    *count = 0;
    if (!skip_unit(&value))
        return RANGE_WHOLE;
    if (!set_read(value, size, ranges, count, &has_suffix))
        return RANGE_WHOLE;
    if (*count == 0)
        return size == 0 && has_suffix ? RANGE_WHOLE : RANGE_UNSATISFIABLE;
    *count = ranges_merge(ranges, *count);
    if (*count > RANGES_MAX)
        return RANGE_WHOLE;
    for (size_t i = 0; i < *count; i++)
        out[i] = ranges[i];
    return RANGE_PARTS;
}
