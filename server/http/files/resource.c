/* See resource.h. */
#include "resource.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "describe.h"
#include "internal/limits.h"
#include "mime.h"
#include "root.h"

/* What the largest number of descriptors shares the memory into. */
#define PRIVATE_COST_MIN (LIMIT_CACHED_BYTES / LIMIT_CACHED_FILES)

static const char *const suffixes[CODINGS] = {
    [CODING_IDENTITY] = "",
    [CODING_BR] = ".br",
    [CODING_ZSTD] = ".zst",
    [CODING_GZIP] = ".gz",
};

/* The path of a sibling.  False: it is too long to exist. */
static bool sibling_path(const char *path, enum coding coding, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s%s", path, suffixes[coding]);
    return n > 0 && n < PATH_MAX;
}

static bool time_is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* True if a sibling that looks like st is to be used beside the original, which may be NULL. */
static bool sibling_counts(const struct stat *st, const struct file *original)
{
    return S_ISREG(st->st_mode) &&
           (original == NULL || !time_is_before(&st->st_mtim, &original->id.mtime));
}

/* Look for a sibling, and open it if it counts. */
static struct file *sibling_open(const struct file_env *env, const char *path, enum coding coding,
                                 const struct file *original)
{
    char sibling[PATH_MAX];
    struct stat st;
    struct file *f;
    if (!sibling_path(path, coding, sibling) || root_stat(env->root, sibling + 1, &st) != 0 ||
        !sibling_counts(&st, original))
        return NULL;
    return file_open(env, sibling, &f) == 0 ? f : NULL;
}

static bool may_have_siblings(const struct file_env *env, const char *path)
{
    return !env->ignores_siblings && !mime_find((struct weir_str){path, strlen(path)})->is_packed;
}

unsigned resource_open(const struct file_env *env, const char *path, struct resource *out)
{
    *out = (struct resource){.path = path};
    unsigned status = file_open(env, path, &out->files[CODING_IDENTITY]);
    if (status != 0 && status != 404)
        return status;
    if (may_have_siblings(env, path)) {
        for (unsigned i = CODING_IDENTITY + 1; i < CODINGS; i++) {
            out->files[i] = sibling_open(env, path, (enum coding)i, out->files[CODING_IDENTITY]);
            out->has_siblings |= out->files[i] != NULL;
        }
    }
    if (out->files[CODING_IDENTITY] == NULL && !out->has_siblings)
        return 404;
    for (unsigned i = 0; i < CODINGS; i++) {
        if (out->files[i] != NULL)
            file_describe(out->files[i], env, path, (enum coding)i, out->has_siblings);
    }
    return 0;
}

void resource_close(struct resource *r)
{
    for (unsigned i = 0; i < CODINGS; i++)
        file_retire(&r->files[i]);
}

size_t resource_maps(const struct resource *r)
{
    size_t maps = 0;
    for (unsigned i = 0; i < CODINGS; i++)
        maps += r->files[i] != NULL && file_is_map(r->files[i]) && !r->files[i]->is_private;
    return maps;
}

/* Bytes of memory; one that was made holds a descriptor too, and counts for its share of those. */
static size_t file_cost(const struct file *f)
{
    if (!file_is_map(f))
        return sizeof(*f) + (size_t)f->size;
    if (!f->is_private)
        return sizeof(*f);
    return f->size > PRIVATE_COST_MIN ? (size_t)f->size : PRIVATE_COST_MIN;
}

size_t resource_len(const struct resource *r)
{
    size_t len = 0;
    for (unsigned i = 0; i < CODINGS; i++) {
        const struct file *f = r->files[i];
        if (f != NULL)
            len += file_cost(f);
    }
    return len;
}

/* The original as it is on disk, or NULL. */
static const struct file *resource_original(const struct resource *r)
{
    return r->is_decoded ? NULL : r->files[CODING_IDENTITY];
}

/* True if a look at the sibling shows that it is still what r holds, or of no use as before. */
static bool sibling_is_same(const struct file_env *env, enum coding coding,
                            const struct resource *r)
{
    char sibling[PATH_MAX];
    struct stat st;
    const struct file *f = r->files[coding];
    if (!sibling_path(r->path, coding, sibling) || root_stat(env->root, sibling + 1, &st) != 0)
        return f == NULL;
    if (f == NULL)
        return !sibling_counts(&st, resource_original(r));
    return file_is_same(f, &st);
}

bool resource_is_same(const struct file_env *env, const struct resource *r)
{
    struct stat st;
    const struct file *f = resource_original(r);
    unsigned status = root_stat(env->root, r->path + 1, &st);
    if (f == NULL ? status != 404 : status != 0 || !file_is_same(f, &st))
        return false;
    if (!may_have_siblings(env, r->path))
        return true;
    for (unsigned i = CODING_IDENTITY + 1; i < CODINGS; i++) {
        if (!sibling_is_same(env, (enum coding)i, r))
            return false;
    }
    return true;
}

bool resource_is_stale(const struct resource *r)
{
    bool is_stale = false;
    for (unsigned i = 0; i < CODINGS; i++)
        is_stale |= r->files[i] != NULL && r->files[i]->is_stale;
    return is_stale;
}

/* Make the original from a sibling.  NULL: it cannot be done. */
static struct file *resource_make_original(const struct file_env *env, struct resource *r)
{
    struct file **original = &r->files[CODING_IDENTITY];
    for (unsigned i = CODING_IDENTITY + 1; i < CODINGS && *original == NULL; i++) {
        if (r->files[i] == NULL || decode_open(env, r->files[i], (enum coding)i, original) != 0)
            continue;
        file_describe(*original, env, r->path, CODING_IDENTITY, true);
        r->is_decoded = true;
    }
    r->is_undecodable = *original == NULL;
    return *original;
}

struct file *resource_choose(const struct file_env *env, struct resource *r,
                             const struct weir_request *request)
{
    if (!r->has_siblings)
        return r->files[CODING_IDENTITY];
    unsigned weights[CODINGS];
    negotiate_codings(request, weights);
    struct file *best = NULL;
    unsigned best_weight = 0;
    for (unsigned i = 0; i < CODINGS; i++) {
        struct file *f = r->files[i];
        if (f == NULL || weights[i] == 0 || weights[i] < best_weight)
            continue;
        if (weights[i] > best_weight || f->size < best->size)
            best = f;
        best_weight = weights[i];
    }
    if (best == NULL && weights[CODING_IDENTITY] > 0 && !r->is_undecodable)
        best = resource_make_original(env, r);
    for (unsigned i = 0; best == NULL && i < CODINGS; i++)
        best = r->files[i]; /* RFC 9110 12.5.3 leaves it to us; bytes are worth more than a 406 */
    return best;
}
