/* See conditional.h. */
#include "conditional.h"

#include <stddef.h>
#include <string.h>

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

/*
 * The date that a field gives.  False: there is no such field, or no date in it.
 * Why the first question: a client sends back what it was sent, and a date takes long to read.
 */
static bool field_date(const struct weir_field *field, const struct validators *v, int64_t now_s,
                       int64_t *out)
{
    if (field == NULL)
        return false;
    if (v->date.len > 0 && weir_str_eq(field->value, v->date)) {
        *out = v->date_s;
        return true;
    }
    return date_parse(field->value, now_s, out);
}

/* What a list of tags says.  Of several fields of one name, one that matches is enough. */
enum tags { TAGS_NONE, TAGS_OTHER, TAGS_MATCH };

/* The preconditions of a request but If-Range. */
struct preconditions {
    enum tags match;
    enum tags none_match;
    const struct weir_field *modified_since; /* of each of these the first, or NULL */
    const struct weir_field *unmodified_since;
};

static void tags_add(enum tags *tags, struct weir_str list, struct weir_str etag,
                     bool is_weak_comparison)
{
    if (*tags != TAGS_MATCH)
        *tags = list_matches(list, etag, is_weak_comparison) ? TAGS_MATCH : TAGS_OTHER;
}

static void first_set(const struct weir_field **first, const struct weir_field *field)
{
    if (*first == NULL)
        *first = field;
}

static void preconditions_read(const struct weir_request *r, struct weir_str etag,
                               struct preconditions *out)
{
    *out = (struct preconditions){0};
    for (size_t i = 0; i < r->field_count; i++) {
        const struct weir_field *field = &r->fields[i];
        struct weir_str name = field->name;
        if (name.len < 3 || memcmp(name.ptr, "if-", 3) != 0)
            continue;
        if (weir_str_eq(name, WEIR_STR("if-none-match")))
            tags_add(&out->none_match, field->value, etag, true);
        else if (weir_str_eq(name, WEIR_STR("if-modified-since")))
            first_set(&out->modified_since, field);
        else if (weir_str_eq(name, WEIR_STR("if-match")))
            tags_add(&out->match, field->value, etag, false);
        else if (weir_str_eq(name, WEIR_STR("if-unmodified-since")))
            first_set(&out->unmodified_since, field);
    }
}

enum condition condition_check(const struct weir_request *r, const struct validators *v,
                               int64_t now_s)
{
    struct preconditions p;
    int64_t date_s;
    preconditions_read(r, v->etag, &p);
    if (p.match == TAGS_OTHER)
        return CONDITION_FAILED;
    if (p.match == TAGS_NONE && v->has_date && field_date(p.unmodified_since, v, now_s, &date_s) &&
        v->date_s > date_s)
        return CONDITION_FAILED;

    if (p.none_match == TAGS_MATCH)
        return CONDITION_NOT_MODIFIED;
    if (p.none_match == TAGS_NONE && v->has_date &&
        field_date(p.modified_since, v, now_s, &date_s) && v->date_s <= date_s)
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
    if (!v->has_date || !field_date(field, v, now_s, &date_s))
        return false;
    return date_s == v->date_s && now_s - date_s >= DATE_STRONG_AFTER_S;
}
