/* See files.h. */
#include "files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cache.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "mem.h"
#include "serve.h"
#include "store.h"

/* Files that may be kept open: what is wanted, within a quarter of the process's descriptors. */
static size_t cached_max(size_t wanted)
{
    struct rlimit limit;
    size_t max = wanted == 0 ? LIMIT_CACHED_FILES : wanted;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < max)
        max = (size_t)limit.rlim_cur / 4;
    return max == 0 ? 1 : max;
}

static void files_init_options(struct files *f, struct weir_str server)
{
    size_t n = 0;
    f->options[n++] = (struct weir_field){WEIR_STR("allow"), WEIR_STR(FAILURE_ALLOW)};
    if (server.len > 0)
        f->options[n++] = (struct weir_field){WEIR_STR("server"), server};
    f->options_count = n;
}

enum weir_err files_new(const struct files_config *config, struct mem *mem,
                        const struct clock *clock, struct stats *stats, struct files **out)
{
    *out = NULL;
    struct files *f = calloc(1, sizeof(*f));
    if (f == NULL)
        return WEIR_NOMEM;
    f->clock = clock;
    f->fallback = config->fallback;
    f->lists_directories = config->lists_directories;
    f->env = (struct file_env){
        .mem = mem,
        .root = &f->root,
        .windows = &f->windows,
        .server = config->server,
        .cache_rules = config->cache_rules,
        .type_rules = config->type_rules,
        .fallback = config->fallback,
        .ignores_siblings = config->ignores_siblings,
    };
    f->windows = (struct windows){
        .mem = mem,
        .clock = clock,
        .stats = stats,
        .ring = {.max = config->mapped_bytes == 0 ? LIMIT_MAPPED_BYTES : config->mapped_bytes},
        .page_len = (size_t)sysconf(_SC_PAGESIZE),
    };
    pieces_init(&f->pieces, mem);
    failures_init(&f->failures, mem, config->server);
    listings_init(&f->listings, &f->env);
    tagger_init(&f->tagger, &f->env);
    files_init_options(f, config->server);
    if (getrandom(&f->random, sizeof(f->random), 0) != sizeof(f->random))
        f->random = (uintptr_t)f;
    enum weir_err err = root_open(&f->root, config->root, config->walks_paths, stats);
    if (err != WEIR_OK)
        goto fail;
    const struct store_bounds bounds = {
        .maps = cached_max(config->cached_max),
        .snapshot_bytes = config->cached_bytes == 0 ? LIMIT_CACHED_BYTES : config->cached_bytes,
    };
    err = cache_new(&f->env, clock, &bounds, &f->cache);
    if (err != WEIR_OK)
        goto fail;
    struct resource *fallback;
    if (f->fallback.len > 0 && cache_get(f->cache, f->fallback, &fallback) != 0) {
        log_line(LV_ERROR, "cannot serve the fallback %s%.*s", config->root, (int)f->fallback.len,
                 f->fallback.ptr);
        err = WEIR_CONFIG;
        goto fail;
    }
    f->env.fetcher = config->fetcher; /* up to here there is no loop that could go on meanwhile */
    f->windows.fetcher = config->fetcher;
    *out = f;
    return WEIR_OK;
fail:
    files_free(f);
    return err;
}

void files_end(struct files *f)
{
    tagger_end(&f->tagger);
}

void files_free(struct files *f)
{
    if (f == NULL)
        return;
    cache_free(f->cache);
    pieces_deinit(&f->pieces);
    root_close(&f->root);
    free(f);
}

void files_handle(void *ctx, struct weir_request *r)
{
    files_serve(ctx, r);
}

void files_refuse(void *ctx, struct weir_request *r, unsigned status)
{
    struct files *f = ctx;
    failures_answer(&f->failures, r, status);
}
