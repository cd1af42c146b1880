/* See sibling.h. */
#include "sibling.h"

#include <stdio.h>
#include <string.h>

const struct weir_str sibling_suffixes[CODINGS] = {
    [CODING_IDENTITY] = WEIR_STR_INIT(""),
    [CODING_BR] = WEIR_STR_INIT(".br"),
    [CODING_ZSTD] = WEIR_STR_INIT(".zst"),
    [CODING_GZIP] = WEIR_STR_INIT(".gz"),
};

bool sibling_path(const char *path, enum coding coding, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s%s", path, sibling_suffixes[coding].ptr);
    return n > 0 && n < PATH_MAX;
}

enum coding sibling_coding(struct weir_str name)
{
    for (unsigned i = CODING_IDENTITY + 1; i < CODINGS; i++) {
        struct weir_str suffix = sibling_suffixes[i];
        if (name.len > suffix.len &&
            memcmp(name.ptr + name.len - suffix.len, suffix.ptr, suffix.len) == 0)
            return (enum coding)i;
    }
    return CODING_IDENTITY;
}
