/* See path.h. */
#include "path.h"

#include <stdint.h>
#include <string.h>

struct weir_str path_cut_query(struct weir_str target)
{
    const char *query = target.len == 0 ? NULL : memchr(target.ptr, '?', target.len);
    if (query != NULL)
        target.len = (size_t)(query - target.ptr);
    return target;
}

/* The value of a hex digit, or -1. */
static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/*
 * Decode the character at raw.ptr[*at] and step over it.  False: it must not be in a path.
 * Why: a slash or backslash that hides behind an encoding would be a separator to some reader of
 *      the path and a part of a name to another; no honest file name has one.
 */
static bool char_decode(struct weir_str raw, size_t *at, char *out)
{
    char c = raw.ptr[*at];
    *at += 1;
    if (c == '\\' || c == '#' || (unsigned char)c <= ' ' || c == 0x7f)
        return false;
    if (c == '%') {
        if (raw.len - *at < 2)
            return false;
        int high = hex_value(raw.ptr[*at]);
        int low = hex_value(raw.ptr[*at + 1]);
        if (high < 0 || low < 0)
            return false;
        c = (char)(high * 16 + low);
        if (c == '\0' || c == '/' || c == '\\')
            return false;
        *at += 2;
    }
    *out = c;
    return true;
}

/*
 * A segment lies at out[start..len).  Take it back if it is a dot segment, with the one before it
 * if it is "..".  False: there is none before it.
 */
static bool segment_resolve(const char *out, size_t start, size_t *len)
{
    size_t n = *len - start;
    if (n == 0 || out[start] != '.' || n > 2)
        return true;
    if (n == 1) {
        *len = start;
        return true;
    }
    if (out[start + 1] != '.')
        return true;
    if (start == 1)
        return false; /* out is "/.." */
    size_t end = start - 1;
    while (out[end - 1] != '/')
        end--;
    *len = end;
    return true;
}

bool path_decode(struct weir_str raw, char *out, size_t *out_len)
{
    if (raw.len == 0 || raw.ptr[0] != '/')
        return false;
    size_t at = 0;
    size_t len = 0;
    size_t start = 0; /* of the segment that is being read */
    while (at < raw.len) {
        if (raw.ptr[at] == '/') {
            at++;
            if (len > 0 && !segment_resolve(out, start, &len))
                return false;
            if (len == 0 || out[len - 1] != '/')
                out[len++] = '/';
            start = len;
            continue;
        }
        if (!char_decode(raw, &at, &out[len]))
            return false;
        len++;
    }
    if (!segment_resolve(out, start, &len))
        return false;
    out[len] = '\0';
    *out_len = len;
    return true;
}

/* Characters of a segment that stand for themselves; ':' is left out, it could end a scheme. */
static bool char_is_safe(char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c != '\0' && strchr("/-._~!$&'()*+,;=@", c) != NULL;
}

size_t path_encode(struct weir_str path, char *out)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.ptr[i];
        if (char_is_safe((char)c)) {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = hex[c >> 4];
        out[n++] = hex[c & 15];
    }
    return n;
}

bool path_is_plain(struct weir_str decoded)
{
    for (size_t i = 0; i < decoded.len; i++) {
        char c = decoded.ptr[i];
        if (c == '%' || c == '?' || c == '#' || (unsigned char)c <= ' ' || c == 0x7f)
            return false;
    }
    return true;
}

bool path_is_hidden(struct weir_str decoded)
{
    static const struct weir_str well_known = WEIR_STR_INIT("/.well-known/");
    size_t from = 0;
    if (decoded.len >= well_known.len && memcmp(decoded.ptr, well_known.ptr, well_known.len) == 0)
        from = well_known.len - 1;
    for (size_t i = from; i + 1 < decoded.len; i++) {
        if (decoded.ptr[i] == '/' && decoded.ptr[i + 1] == '.')
            return true;
    }
    return false;
}
