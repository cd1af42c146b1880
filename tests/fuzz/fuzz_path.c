/*
 * Paths: what is taken is safe to open below the root, and reads the same when sent again.
 * Covers: server/http/files/path.c
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "internal/assert.h"
#include "path.h"

static void check_segments(const char *path, size_t len)
{
    WEIR_ASSERT(len > 0 && path[0] == '/');
    for (const char *segment = path; (size_t)(segment - path) < len;) {
        const char *name = segment + 1;
        const char *end = strchr(name, '/');
        size_t n = end == NULL ? strlen(name) : (size_t)(end - name);
        WEIR_ASSERT(n > 0 || (size_t)(name - path) == len); /* empty at the end alone */
        WEIR_ASSERT(!(n == 1 && name[0] == '.'));
        WEIR_ASSERT(!(n == 2 && name[0] == '.' && name[1] == '.'));
        segment = name + n;
    }
    WEIR_ASSERT(memchr(path, '\\', len) == NULL);
}

/* Percent-encode every byte but the separators and decode that: the path must come out again. */
static void check_round_trip(const char *path, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    char *encoded = malloc(len * 3 + 1);
    char *again = malloc(len * 3 + 2);
    WEIR_ASSERT(encoded != NULL && again != NULL);
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)path[i];
        if (c == '/') {
            encoded[n++] = '/';
            continue;
        }
        encoded[n++] = '%';
        encoded[n++] = hex[c >> 4];
        encoded[n++] = hex[c & 15];
    }
    size_t again_len = 0;
    WEIR_ASSERT(path_decode((struct weir_str){encoded, n}, again, &again_len));
    WEIR_ASSERT(again_len == len && memcmp(again, path, len) == 0);
    free(encoded);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct weir_str raw = path_cut_query((struct weir_str){(const char *)data, len});
    char *out = malloc(raw.len + 1);
    size_t out_len = 0;
    WEIR_ASSERT(out != NULL);
    if (path_decode(raw, out, &out_len)) {
        WEIR_ASSERT(out_len <= raw.len && strlen(out) == out_len);
        check_segments(out, out_len);
        check_round_trip(out, out_len);
        struct weir_str path = {out, out_len};
        char *same = malloc(out_len + 1);
        size_t same_len = 0;
        WEIR_ASSERT(same != NULL);
        if (path_is_plain(path))
            WEIR_ASSERT(path_decode(path, same, &same_len) && same_len == out_len &&
                        memcmp(same, out, out_len) == 0);
        free(same);
        path_is_hidden(path);
    }
    free(out);
    return 0;
}
