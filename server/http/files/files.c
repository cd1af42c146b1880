/* See files.h. */
#include "files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cache.h"
#include "failure.h"
#include "internal/limits.h"
#include "path.h"
#include "root.h"

struct files {
    struct root root;
    struct file_env env;
    struct failures failures;
    struct cache *cache;           /* Own */
    char path[LIMIT_PATH_LEN + 1]; /* the path being decoded */
};

/* Files that may be kept open: what is wanted, within a quarter of the process's descriptors. */
static size_t cached_max(size_t wanted)
{
    struct rlimit limit;
    size_t max = wanted == 0 ? LIMIT_CACHED_FILES : wanted;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < max)
        max = (size_t)limit.rlim_cur / 4;
    return max == 0 ? 1 : max;
}

enum weir_err files_new(const struct files_config *config, struct mem *mem,
                        const struct clock *clock, struct stats *stats, struct files **out)
{
    *out = NULL;
    struct files *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return WEIR_NOMEM;
    failures_init(&f->failures, config->server);
    f->env = (struct file_env){.mem = mem, .root = &f->root, .server = config->server};
    enum weir_err err = root_open(&f->root, config->root, stats);
    if (err != WEIR_OK)
        goto fail;
    err = cache_new(&f->env, clock, cached_max(config->cached_max), &f->cache);
    if (err != WEIR_OK)
        goto fail;
    *out = f;
    return WEIR_OK;
fail:
    files_free(f);
    return err;
}

void files_free(struct files *f)
{
    if (f == NULL)
        return;
    cache_free(f->cache);
    root_close(&f->root);
    free(f);
}

/* The file that a target means.  Gives 0 and *out, or the status due. */
static unsigned files_find(struct files *f, struct weir_str target, struct file **out)
{
    *out = cache_find(f->cache, target);
    if (*out != NULL)
        return 0;
    struct weir_str raw = path_cut_query(target);
    if (raw.len > LIMIT_PATH_LEN)
        return 414;
    struct weir_str path = {f->path, 0};
    if (!path_decode(raw, f->path, &path.len))
        return 400;
    unsigned status = cache_get(f->cache, path, out);
    return status == 308 ? 404 : status;
}

void files_handle(void *ctx, struct weir_request *r)
{
    struct files *f = ctx;
    bool is_get = weir_str_eq(r->method, WEIR_STR("GET"));
    if (!is_get && !weir_str_eq(r->method, WEIR_STR("HEAD"))) {
        failures_answer(&f->failures, r, 405);
        return;
    }
    struct file *file;
    unsigned status = files_find(f, r->path, &file);
    if (status != 0) {
        failures_answer(&f->failures, r, status);
        return;
    }
    file_ref(file); /* released by the exchange */
    weir_ignore(weir_respond(r, is_get ? &file->whole : &file->head));
}
