/* See negotiate.h. */
#include "negotiate.h"

#include <stdbool.h>
#include <strings.h>

/* An element of a list: a name and its weight. */
struct choice {
    struct weir_str name;
    unsigned weight;
};

static struct weir_str trim(struct weir_str s)
{
    while (s.len > 0 && (*s.ptr == ' ' || *s.ptr == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

/* Take all before the next `mark`, or the rest. */
static struct weir_str take_until(struct weir_str *rest, char mark)
{
    struct weir_str taken = {rest->ptr, 0};
    while (taken.len < rest->len && rest->ptr[taken.len] != mark)
        taken.len++;
    size_t step = taken.len < rest->len ? taken.len + 1 : taken.len;
    rest->ptr += step;
    rest->len -= step;
    return trim(taken);
}

static bool is_name(struct weir_str s, struct weir_str name)
{
    return s.len == name.len && strncasecmp(s.ptr, name.ptr, s.len) == 0;
}

/* A weight (RFC 9110 12.4.2); what is none makes a choice unacceptable. */
static unsigned weight_parse(struct weir_str text)
{
    if (text.len == 0 || text.len > 5 || (text.ptr[0] != '0' && text.ptr[0] != '1'))
        return 0;
    unsigned weight = (unsigned)(text.ptr[0] - '0') * WEIGHT_MAX;
    if (text.len > 1 && text.ptr[1] != '.')
        return 0;
    unsigned unit = WEIGHT_MAX / 10;
    for (size_t i = 2; i < text.len; i++, unit /= 10) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return 0;
        weight += (unsigned)(text.ptr[i] - '0') * unit;
    }
    return weight <= WEIGHT_MAX ? weight : 0;
}

/* Take the next element off a list.  False: there is none. */
static bool choice_take(struct weir_str *list, struct choice *out)
{
    while (list->len > 0) {
        struct weir_str element = take_until(list, ',');
        out->name = take_until(&element, ';');
        out->weight = WEIGHT_MAX;
        while (element.len > 0) {
            struct weir_str parameter = take_until(&element, ';');
            struct weir_str name = take_until(&parameter, '=');
            if (is_name(name, WEIR_STR("q")))
                out->weight = weight_parse(trim(parameter));
        }
        if (out->name.len > 0)
            return true;
    }
    return false;
}

static int coding_of(struct weir_str name)
{
    static const struct {
        struct weir_str name;
        enum coding coding;
    } names[] = {
        {WEIR_STR_INIT("gzip"), CODING_GZIP},         {WEIR_STR_INIT("br"), CODING_BR},
        {WEIR_STR_INIT("zstd"), CODING_ZSTD},         {WEIR_STR_INIT("x-gzip"), CODING_GZIP},
        {WEIR_STR_INIT("identity"), CODING_IDENTITY},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_name(name, names[i].name))
            return (int)names[i].coding;
    }
    return -1;
}

void negotiate_codings(const struct weir_request *r, unsigned weights[CODINGS])
{
    bool is_named[CODINGS] = {false};
    bool has_star = false;
    unsigned star = 0;
    for (size_t i = 0; i < CODINGS; i++)
        weights[i] = 0;
    for (size_t i = 0; i < r->field_count; i++) {
        struct weir_str list = r->fields[i].value;
        struct choice choice;
        if (!weir_str_eq(r->fields[i].name, WEIR_STR("accept-encoding")))
            continue;
        while (choice_take(&list, &choice)) {
            int coding = coding_of(choice.name);
            if (coding >= 0 && !is_named[coding]) {
                is_named[coding] = true;
                weights[coding] = choice.weight;
            } else if (is_name(choice.name, WEIR_STR("*"))) {
                has_star = true;
                star = choice.weight;
            }
        }
    }
    for (size_t i = 0; has_star && i < CODINGS; i++)
        weights[i] = is_named[i] ? weights[i] : star;
    if (!has_star && !is_named[CODING_IDENTITY])
        weights[CODING_IDENTITY] = 1;
}

/* How well a range such as "text/\*" fits: 0 not at all, 3 exactly. */
static unsigned range_fit(struct weir_str range, struct weir_str type)
{
    if (is_name(range, type))
        return 3;
    if (is_name(range, WEIR_STR("*/*")))
        return 1;
    struct weir_str main = take_until(&type, '/');
    struct weir_str main_range = take_until(&range, '/');
    return is_name(main_range, main) && is_name(range, WEIR_STR("*")) ? 2 : 0;
}

unsigned negotiate_type(const struct weir_request *r, struct weir_str type)
{
    unsigned best_fit = 0;
    unsigned weight = WEIGHT_MAX;
    bool has_field = false;
    for (size_t i = 0; i < r->field_count; i++) {
        struct weir_str list = r->fields[i].value;
        struct choice choice;
        if (!weir_str_eq(r->fields[i].name, WEIR_STR("accept")))
            continue;
        has_field = true;
        while (choice_take(&list, &choice)) {
            unsigned fit = range_fit(choice.name, type);
            if (fit > best_fit) {
                best_fit = fit;
                weight = choice.weight;
            }
        }
    }
    return has_field && best_fit == 0 ? 0 : weight;
}
