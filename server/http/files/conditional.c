/* See conditional.h. */
#include "conditional.h"

#include "date.h"

/*
 * Seconds that a modification date must lie back before it can stand for the bytes: until its
 * second is well over the file could change again without showing it (RFC 9110 8.8.2.2).
 */
#define DATE_STRONG_AFTER_S 60

/* An entity-tag as it was sent. */
struct tag {
    struct weir_str opaque; /* with its quotes */
    bool is_weak;
};

/* Take the next entity-tag off a list.  False: there is none, or what comes is no tag. */
static bool tag_take(struct weir_str *list, struct tag *out)
{
    const char *p = list->ptr;
    const char *end = p + list->len;
    while (p < end && (*p == ' ' || *p == '\t' || *p == ','))
        p++;
    out->is_weak = end - p >= 2 && p[0] == 'W' && p[1] == '/';
    if (out->is_weak)
        p += 2;
    const char *start = p;
    if (p == end || *p++ != '"')
        return false;
    while (p < end && (unsigned char)*p > ' ' && *p != '"' && *p != 0x7f)
        p++;
    if (p == end || *p++ != '"')
        return false;
    out->opaque = (struct weir_str){start, (size_t)(p - start)};
    *list = (struct weir_str){p, (size_t)(end - p)};
    return true;
}

/* True if the value is "*" or lists the tag; weak tags count only in a weak comparison. */
static bool list_matches(struct weir_str list, struct weir_str etag, bool is_weak_comparison)
{
    if (weir_str_eq(list, WEIR_STR("*")))
        return true;
    struct tag tag;
    while (etag.len > 0 && tag_take(&list, &tag)) {
        if (weir_str_eq(tag.opaque, etag) && (is_weak_comparison || !tag.is_weak))
            return true;
    }
    return false;
}

/* As list_matches(), over all fields of that name.  Gives -1 if there is none. */
static int fields_match(const struct weir_request *r, struct weir_str name, struct weir_str etag,
                        bool is_weak_comparison)
{
    int result = -1;
    for (size_t i = 0; i < r->field_count; i++) {
        if (!weir_str_eq(r->fields[i].name, name))
            continue;
        if (list_matches(r->fields[i].value, etag, is_weak_comparison))
            return 1;
        result = 0;
    }
    return result;
}

/* The date in a field.  False: no such field, or no date in it. */
static bool field_date(const struct weir_request *r, struct weir_str name, int64_t now_s,
                       int64_t *out)
{
    const struct weir_field *field = weir_request_find(r, name);
    return field != NULL && date_parse(field->value, now_s, out);
}

enum condition condition_check(const struct weir_request *r, const struct validators *v,
                               int64_t now_s)
{
    int64_t date_s;
    int match = fields_match(r, WEIR_STR("if-match"), v->etag, false);
    if (match == 0)
        return CONDITION_FAILED;
    if (match == -1 && v->has_date &&
        field_date(r, WEIR_STR("if-unmodified-since"), now_s, &date_s))
        if (v->date_s > date_s)
            return CONDITION_FAILED;

    match = fields_match(r, WEIR_STR("if-none-match"), v->etag, true);
    if (match == 1)
        return CONDITION_NOT_MODIFIED;
    if (match == -1 && v->has_date && field_date(r, WEIR_STR("if-modified-since"), now_s, &date_s))
        if (v->date_s <= date_s)
            return CONDITION_NOT_MODIFIED;
    return CONDITION_MET;
}

bool condition_allows_range(const struct weir_request *r, const struct validators *v, int64_t now_s)
{
    const struct weir_field *field = weir_request_find(r, WEIR_STR("if-range"));
    if (field == NULL)
        return true;
    if (v->etag.len > 0 && weir_str_eq(field->value, v->etag))
        return true;
    int64_t date_s;
    if (!v->has_date || !date_parse(field->value, now_s, &date_s))
        return false;
    return date_s == v->date_s && now_s - date_s >= DATE_STRONG_AFTER_S;
}
