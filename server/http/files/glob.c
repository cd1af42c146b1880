/*
 * See glob.h.
 *
 * When a byte does not fit, the last "*" takes in one byte more, and if it must not, the last "**"
 * does.  Whatever was matched behind a star is tried anew, so no more than these two places need to
 * be remembered.
 */
#include "glob.h"

#include <stddef.h>
#include <string.h>

/* A star that was passed. */
struct star {
    size_t pattern; /* what comes behind it; 0: there was none */
    size_t text;    /* the first byte that it did not take in */
};

static bool match_all(struct weir_str pattern, struct weir_str text)
{
    struct star one = {0, 0};
    struct star two = {0, 0};
    size_t p = 0;
    size_t t = 0;
    while (t < text.len || p < pattern.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            bool is_double = p + 1 < pattern.len && pattern.ptr[p + 1] == '*';
            p += is_double ? 2 : 1;
            if (is_double) {
                two = (struct star){p, t};
                one.pattern = 0;
            } else {
                one = (struct star){p, t};
            }
            continue;
        }
        if (p < pattern.len && t < text.len &&
            (pattern.ptr[p] == text.ptr[t] || (pattern.ptr[p] == '?' && text.ptr[t] != '/'))) {
            p++;
            t++;
            continue;
        }
        if (one.pattern != 0 && one.text < text.len && text.ptr[one.text] != '/') {
            one.text++;
            p = one.pattern;
            t = one.text;
            continue;
        }
        if (two.pattern == 0 || two.text >= text.len)
            return false;
        two.text++;
        p = two.pattern;
        t = two.text;
        one.pattern = 0;
    }
    return true;
}

bool glob_match(struct weir_str pattern, struct weir_str path)
{
    bool is_name = pattern.len == 0 || memchr(pattern.ptr, '/', pattern.len) == NULL;
    const char *slash = path.len == 0 ? NULL : memrchr(path.ptr, '/', path.len);
    if (is_name && slash != NULL) {
        size_t skip = (size_t)(slash - path.ptr) + 1;
        path = (struct weir_str){path.ptr + skip, path.len - skip};
    }
    return match_all(pattern, path);
}
