/*
 * See redirect.h.
 *
 * If the client's path is the one that was found, the last segment is enough, and right even where
 * a proxy has taken a prefix away.  Else it is the path as found, which begins with one slash:
 * "//host" cannot come out of it.
 */
#include "redirect.h"

#include <stdbool.h>
#include <string.h>

#include "path.h"

static bool query_is_clean(struct weir_str query)
{
    for (size_t i = 0; i < query.len; i++) {
        if ((unsigned char)query.ptr[i] <= ' ' || query.ptr[i] == 0x7f)
            return false;
    }
    return true;
}

size_t redirect_write(struct weir_str path, struct weir_str target, char *out)
{
    struct weir_str raw = path_cut_query(target);
    struct weir_str query = {target.ptr + raw.len, target.len - raw.len};
    if (!query_is_clean(query))
        return 0;
    if (weir_str_eq(raw, path)) {
        const char *name = (const char *)memrchr(path.ptr, '/', path.len) + 1;
        path = (struct weir_str){name, path.len - (size_t)(name - path.ptr)};
    }
    size_t n = path_encode(path, out);
    out[n++] = '/';
    memcpy(out + n, query.ptr, query.len);
    return n + query.len;
}
