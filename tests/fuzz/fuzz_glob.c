/*
 * Globs of the configuration.  Input: a pattern, a newline, a path.
 * Covers: server/http/files/glob.c, server/http/files/cache_control.c
 */
#include "fuzz.h"

#include <string.h>

#include "cache_control.h"
#include "glob.h"
#include "internal/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *text = (const char *)data;
    const char *mark = len == 0 ? NULL : memchr(text, '\n', len);
    if (mark == NULL || len > 200)
        return 0;
    struct weir_str pattern = {text, (size_t)(mark - text)};
    struct weir_str path = {mark + 1, len - pattern.len - 1};
    bool matches = glob_match(pattern, path);
    bool is_literal = true;
    for (size_t i = 0; i < pattern.len; i++)
        is_literal &= pattern.ptr[i] != '*' && pattern.ptr[i] != '?';
    if (is_literal && pattern.len > 0 && pattern.ptr[0] == '/')
        WEIR_ASSERT(matches == weir_str_eq(pattern, path));
    WEIR_ASSERT(glob_match(WEIR_STR("/**"), path) == (path.len > 0 && path.ptr[0] == '/'));
    name_has_digest(path);
    return 0;
}
