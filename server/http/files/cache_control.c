/* See cache_control.h. */
#include "cache_control.h"

#include "glob.h"
#include "mime.h"

#define DIGEST_MIN 8

/*
 * True for what a build tool makes of a digest and a person would not call a file.
 * Why: "app.production.js" is legal base64url.  Taking a name for a digest by mistake pins old
 *      bytes in browsers for a year, so letters alone do not do, nor small letters and digits.
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
    return text.len >= DIGEST_MIN && has_digit && (is_hex || (has_upper && has_lower));
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

struct weir_str cache_control_of(struct weir_str path, const struct cache_rule *rules,
                                 size_t rule_count)
{
    for (size_t i = 0; i < rule_count; i++) {
        if (glob_match(rules[i].glob, path))
            return rules[i].value;
    }
    if (name_has_digest(path))
        return WEIR_STR("public, max-age=31536000, immutable");
    const struct mime *mime = mime_find(path);
    bool is_page = weir_str_eq(mime->type, WEIR_STR("text/html; charset=utf-8"));
    return is_page ? WEIR_STR("no-cache") : WEIR_STR("max-age=0, must-revalidate");
}
