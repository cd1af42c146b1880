/* See cache_control.h. */
#include "cache_control.h"

#include <string.h>

#include "mime.h"

#define DIGEST_MIN 8

/* Two digits as a number; more than 99 if they are none. */
static unsigned number_of(const char *p)
{
    bool are_digits = p[0] >= '0' && p[0] <= '9' && p[1] >= '0' && p[1] <= '9';
    return are_digits ? (unsigned)(p[0] - '0') * 10 + (unsigned)(p[1] - '0') : 100;
}

/* True for YYYYMMDD of this century or the last, and whatever digits follow: the time of day. */
static bool is_date(struct weir_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    }
    if (text.len != 8 && text.len != 12 && text.len != 14)
        return false;
    unsigned century = number_of(text.ptr);
    unsigned month = number_of(text.ptr + 4);
    unsigned day = number_of(text.ptr + 6);
    return (century == 19 || century == 20) && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/*
 * True for what a build tool makes of a digest and a person would not call a file.
 * Why: "app.production.js" is legal base64url, and "report.20240229.pdf" legal hex.  Taking a name
 *      for a digest by mistake pins old bytes in browsers for a year, so of base64url letters alone
 *      do not do, nor small letters and digits.
 */
static bool is_digest(struct weir_str text)
{
    bool is_hex = true;
    bool has_digit = false;
    bool has_upper = false;
    bool has_lower = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool digit = c >= '0' && c <= '9';
        bool upper = c >= 'A' && c <= 'Z';
        bool lower = c >= 'a' && c <= 'z';
        if (!digit && !upper && !lower && c != '-' && c != '_')
            return false;
        has_digit |= digit;
        has_upper |= upper;
        has_lower |= lower;
        is_hex &= digit || (lower && c <= 'f') || (upper && c <= 'F');
    }
    if (text.len < DIGEST_MIN || is_date(text))
        return false;
    return is_hex || (has_digit && has_upper && has_lower);
}

bool name_has_digest(struct weir_str path)
{
    struct weir_str extension = mime_extension(path);
    if (extension.len == 0)
        return false;
    struct weir_str stem = {path.ptr, path.len - extension.len - 1};
    struct weir_str middle = mime_extension(stem);
    if (weir_str_eq(extension, WEIR_STR("map"))) { /* name.<digest>.js.map */
        stem.len -= middle.len == 0 ? 0 : middle.len + 1;
        struct weir_str before = mime_extension(stem);
        if (is_digest(before))
            return true;
    }
    bool has_name = stem.len > middle.len + 1 && stem.ptr[stem.len - middle.len - 2] != '/';
    return has_name && is_digest(middle);
}

struct weir_str cache_control_of(struct weir_str path, struct weir_str type,
                                 struct path_rules rules)
{
    static const struct weir_str html = WEIR_STR_INIT("text/html");
    const struct path_rule *rule = rules_find(&rules, path);
    if (rule != NULL)
        return rule->value;
    if (name_has_digest(path))
        return WEIR_STR("public, max-age=31536000, immutable");
    bool is_page = type.len >= html.len && memcmp(type.ptr, html.ptr, html.len) == 0;
    return is_page ? WEIR_STR("no-cache") : WEIR_STR("max-age=0, must-revalidate");
}
