/* See resource.h. */
#include "resource.h"

#include <string.h>

#include "describe.h"
#include "internal/limits.h"
#include "look.h"
#include "mime.h"
#include "window.h"

bool resource_may_have_siblings(const struct file_env *env, const char *path)
{
    return !env->ignores_siblings && !mime_find((struct weir_str){path, strlen(path)})->is_packed;
}

unsigned resource_make(const struct file_env *env, const char *path, struct look *look,
                       struct resource *out)
{
    *out = (struct resource){.path = path};
    unsigned status = look->found[CODING_IDENTITY].status;
    if (status != 0 && status != 404)
        return status;
    status = 0;
    for (unsigned i = 0; i < CODINGS && status == 0; i++) {
        if (look->found[i].status == 0)
            status = file_make(env, &look->found[i], &out->files[i]);
        out->has_siblings |= i != CODING_IDENTITY && out->files[i] != NULL;
    }
    if (status == 0 && out->files[CODING_IDENTITY] == NULL && !out->has_siblings)
        status = 404;
    for (unsigned i = 0; i < CODINGS && status == 0; i++) {
        if (out->files[i] != NULL)
            status = file_describe(out->files[i], path, (enum coding)i, out->has_siblings);
    }
    if (status != 0)
        resource_close(out);
    return status;
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
        maps += r->files[i] != NULL && file_is_map(r->files[i]);
    return maps;
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
static bool sibling_is_same(const struct resource *r, enum coding coding, const struct found *found)
{
    const struct file *f = r->files[coding];
    const struct file *original = resource_original(r);
    if (found->status != 0)
        return f == NULL;
    if (f == NULL && original != NULL) {
        struct timespec mtime = file_mtime(original);
        return !sibling_counts(&found->st, &mtime);
    }
    if (f == NULL)
        return !sibling_counts(&found->st, NULL);
    return file_is_same(f, &found->st);
}

bool resource_is_same(const struct resource *r, const struct look *look)
{
    const struct file *f = resource_original(r);
    const struct found *found = &look->found[CODING_IDENTITY];
    if (f == NULL ? found->status != 404 : found->status != 0 || !file_is_same(f, &found->st))
        return false;
    for (unsigned i = CODING_IDENTITY + 1; i < CODINGS; i++) {
        if (!sibling_is_same(r, (enum coding)i, &look->found[i]))
            return false;
    }
    return true;
}

bool resource_is_remote(const struct resource *r)
{
    bool is_remote = false;
    for (unsigned i = 0; i < CODINGS; i++)
        is_remote |= r->files[i] != NULL && !r->files[i]->is_private && r->files[i]->is_remote;
    return is_remote;
}

bool resource_is_stale(const struct resource *r)
{
    bool is_stale = false;
    for (unsigned i = 0; i < CODINGS; i++)
        is_stale |= r->files[i] != NULL && r->files[i]->is_stale;
    return is_stale;
}

unsigned resource_add_original(struct resource *r, const struct file_env *env, struct found *found)
{
    struct file **original = &r->files[CODING_IDENTITY];
    if (found->status == 500 || found->status == 413) {
        r->decode_status = found->status;
        return 0;
    }
    uint64_t *live = &env->windows->decoded_len;
    if (found->status != 0 || (uint64_t)found->st.st_size > LIMIT_DECODED_BYTES - *live ||
        file_make(env, found, original) != 0)
        return 503;
    (*original)->is_private = true;
    *live += (*original)->id.size;
    unsigned status = file_describe(*original, r->path, CODING_IDENTITY, true);
    if (status != 0)
        file_unref(original);
    r->is_decoded = status == 0;
    return status;
}

struct file *resource_choose(const struct resource *r, const struct weir_request *request)
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
        if (weights[i] > best_weight || f->id.size < best->id.size)
            best = f;
        best_weight = weights[i];
    }
    if (best == NULL && weights[CODING_IDENTITY] > 0 && r->decode_status != 413)
        return NULL;
    for (unsigned i = 0; best == NULL && i < CODINGS; i++)
        best = r->files[i]; /* RFC 9110 12.5.3 leaves it to us; bytes are worth more than a 406 */
    return best;
}
