/* See doubt.h. */
#include "doubt.h"

#include <limits.h>
#include <string.h>

#include "dirs.h"
#include "hash.h"
#include "missing.h"
#include "sibling.h"
#include "store.h"

/* Something happened at a decoded path: what is known of it must be looked at. */
static void doubt_path(struct store *store, struct missing *missing, const struct dir *dir,
                       struct weir_str path)
{
    uint64_t hash = hash_path(store->seed, path);
    struct entry *e = store_find(store, path, hash);
    if (e != NULL)
        trust_end(&e->trust, dir);
    missing_remove(missing, hash, path);
}

/* The same at a file, which is also what a path with a slash at its end means if it is an index. */
static void doubt_file(struct store *store, struct missing *missing, const struct dir *dir,
                       struct weir_str path)
{
    static const struct weir_str index = WEIR_STR_INIT("/" INDEX_NAME);
    doubt_path(store, missing, dir, path);
    size_t rest = path.len < index.len ? 0 : path.len - index.len;
    if (path.len >= index.len && memcmp(path.ptr + rest, index.ptr, index.len) == 0)
        doubt_path(store, missing, dir, (struct weir_str){path.ptr, rest + 1});
}

void doubt_change(struct store *store, struct missing *missing, const struct dir *dir,
                  struct weir_str name, bool is_new)
{
    char text[PATH_MAX + NAME_MAX + 2];
    size_t len = dir->path_len;
    memcpy(text, dir->path, len);
    text[len++] = '/';
    memcpy(text + len, name.ptr, name.len);
    len += name.len;
    struct weir_str path = {text, len};
    doubt_file(store, missing, dir, path);
    if (is_new)
        missing_remove_below(missing, path);
    enum coding coding = sibling_coding(name);
    if (coding != CODING_IDENTITY)
        doubt_file(store, missing, dir,
                   (struct weir_str){text, len - sibling_suffixes[coding].len});
}
