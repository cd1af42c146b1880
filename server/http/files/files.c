/*
 * See files.h.
 *
 * A request that asks for nothing special and whose file is at hand goes straight through:
 * cache_find(), one look at the names of its fields, weir_respond().
 */
#include "files.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cache.h"
#include "clock.h"
#include "conditional.h"
#include "error_page.h"
#include "failure.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "listing.h"
#include "mem.h"
#include "mime.h"
#include "negotiate.h"
#include "partial.h"
#include "path.h"
#include "piece.h"
#include "range.h"
#include "reader.h"
#include "redirect.h"
#include "root.h"
#include "store.h"
#include "tagger.h"

#define ERROR_PAGE "/404.html"

/* Times that a file is opened that changes meanwhile. */
#define GET_TRIES 3

/* Times that a request waits: for its path, a page that stands in, a decoder, its first bytes, and
 * again for what changes meanwhile. */
#define PARK_ROUNDS 16

struct files {
    struct root root;
    struct file_env env;
    struct windows windows;
    struct pieces pieces;
    struct failures failures;
    struct cache *cache;       /* Own */
    const struct clock *clock; /* Borrowed */
    struct listings listings;
    struct tagger tagger;
    bool lists_directories;   /* see struct files_config */
    struct weir_str fallback; /* Borrowed: see struct files_config */
    struct parked *current;   /* Own: who waited and is served again just now; NULL: nobody */
    uint64_t random;          /* state of the generator of boundaries */
    struct weir_field options[2];
    size_t options_count;
    char path[LIMIT_PATH_LEN + 1]; /* the path being decoded */
    char location[REDIRECT_CAP(LIMIT_PATH_LEN, LIMIT_PATH_LEN)];
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

/* A number that a client cannot foresee from bodies it has seen. */
static uint64_t files_random(struct files *f)
{
    f->random += 0x9e3779b97f4a7c15U;
    uint64_t x = f->random;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

/* ---- requests that wait ---- */

/* What a request has come to. */
enum stage {
    STAGE_FILE, /* the file at its path is looked for */
    STAGE_LIST, /* there is none: a list may stand in */
    STAGE_PAGE, /* nor a list: a page of the operator's may */
};

/* A request that is served again when something has come that it waits for. */
struct parked {
    struct waiter waiter;
    struct files *files; /* Borrowed */
    struct weir_request *request;
    enum stage stage; /* where it goes on */
    unsigned rounds;  /* times that it has waited */
};

static void files_serve(struct files *f, struct weir_request *r);

static void on_wake(struct waiter *w, unsigned status)
{
    struct parked *p = container_of(w, struct parked, waiter);
    struct files *f = p->files;
    f->current = p;
    if (status == 0)
        files_serve(f, p->request);
    else
        failures_answer(&f->failures, p->request, status);
    if (f->current == p)
        mem_give(p); /* it does not wait any more */
    f->current = NULL;
}

static enum stage files_stage(const struct files *f)
{
    return f->current == NULL ? STAGE_FILE : f->current->stage;
}

/* Who is to be woken to serve r again.  NULL: it has been answered. */
static struct waiter *files_park(struct files *f, struct weir_request *r)
{
    struct parked *p = f->current;
    if (p == NULL) {
        p = mem_take_zeroed(f->env.mem, sizeof(*p));
        if (p != NULL)
            *p = (struct parked){.waiter = {.wake = on_wake}, .files = f, .request = r};
    }
    if (p == NULL || p->rounds == PARK_ROUNDS) {
        failures_answer(&f->failures, r, 503);
        return NULL;
    }
    p->rounds++;
    f->current = NULL;
    return &p->waiter;
}

static void files_wait_for_cache(struct files *f, struct weir_request *r, enum stage stage)
{
    struct waiter *w = files_park(f, r);
    if (w == NULL)
        return;
    container_of(w, struct parked, waiter)->stage = stage;
    cache_wait(f->cache, w);
}

static void files_wait_for_listing(struct files *f, struct weir_request *r)
{
    struct waiter *w = files_park(f, r);
    if (w == NULL)
        return;
    container_of(w, struct parked, waiter)->stage = STAGE_LIST;
    listing_wait(&f->listings, w);
}

/*
 * True if the bytes at that offset can be sent at once.  Else r waits for them, or has been told
 * that they cannot be had: it is too late for that once its response has begun.
 */
static bool files_has_bytes(struct files *f, struct weir_request *r, struct file *file,
                            uint64_t offset)
{
    struct window *w;
    unsigned chunk = (unsigned)(offset % WINDOW_LEN / CHUNK_LEN);
    if (!file_is_map(file))
        return true;
    unsigned status = window_take(&f->windows, file, offset / WINDOW_LEN, &w);
    if (status != 0) {
        failures_answer(&f->failures, r, status);
        return false;
    }
    enum residency residency = window_need(w, chunk);
    struct waiter *waiter = NULL;
    switch (residency) {
    case RESIDENT: break;
    case FETCHING: waiter = files_park(f, r); break;
    case LOST: failures_answer(&f->failures, r, 503); break;
    }
    if (waiter != NULL)
        window_wait(w, chunk, waiter);
    window_unref(&w);
    return residency == RESIDENT;
}

/* ---- which file ---- */

/* The file of a resource that suits a request.  Gives 0 and *out, or a status; CACHE_WAITS. */
static unsigned files_choose(struct files *f, const struct weir_request *r,
                             struct resource *resource, struct file **out)
{
    unsigned status = 0;
    while ((*out = resource_choose(resource, r)) == NULL && status == 0)
        status = resource->decode_status != 0 ? resource->decode_status
                                              : cache_make_original(f->cache, resource);
    return status;
}

/* The file at a decoded path that suits a request.  Gives 0 and *out, or the status due. */
static unsigned files_get(struct files *f, const struct weir_request *r, struct weir_str path,
                          struct file **out)
{
    for (int i = 0; i < GET_TRIES; i++) {
        struct resource *resource;
        unsigned status = cache_get(f->cache, path, &resource);
        if (status == 0)
            status = files_choose(f, r, resource, out);
        if (status != 0)
            return status;
        if (file_is_current(*out, f->clock->now_ms))
            return 0;
    }
    return 503; /* it changes as we look */
}

/*
 * The file that a request means.  Gives 0 and *out, or the status due; *path is the decoded path,
 * if the target was taken apart and is well-formed.
 */
static unsigned files_find(struct files *f, const struct weir_request *r, struct weir_str *path,
                           struct file **out)
{
    struct weir_str target = r->path;
    struct resource *resource = cache_find(f->cache, target, r->path_memo);
    if (resource != NULL) {
        unsigned status = files_choose(f, r, resource, out);
        if (status != 0)
            return status;
        if (file_is_current(*out, f->clock->now_ms))
            return 0;
    }
    struct weir_str raw = path_cut_query(target);
    if (target.len > LIMIT_PATH_LEN)
        return 414;
    if (!path_decode(raw, f->path, &path->len))
        return 400;
    path->ptr = f->path;
    bool is_missing = path_is_hidden(*path) || files_stage(f) != STAGE_FILE;
    return is_missing ? 404 : files_get(f, r, *path, out);
}

/* What a request asks for beyond the path. */
enum { ASKS_CONDITION = 1, ASKS_RANGE = 2 };

static unsigned request_asks(const struct weir_request *r)
{
    unsigned asks = 0;
    for (size_t i = 0; i < r->field_count; i++) {
        struct weir_str name = r->fields[i].name;
        if (name.len < 5)
            continue;
        if (memcmp(name.ptr, "if-", 3) == 0)
            asks |= ASKS_CONDITION;
        else if (name.len == 5 && memcmp(name.ptr, "range", 5) == 0)
            asks |= ASKS_RANGE;
    }
    return asks;
}

static void file_respond(struct weir_request *r, struct file *file,
                         const struct weir_response *response)
{
    file_ref(file);                         /* released by the exchange */
    weir_ignore(weir_respond(r, response)); /* the peer has gone, or the stream is reset */
}

/* Answer with the ranges asked for.  False: the whole is due. */
static bool files_respond_range(struct files *f, struct weir_request *r, struct file *file)
{
    struct range ranges[RANGES_MAX];
    size_t count;
    const struct weir_field *field = weir_request_find(r, WEIR_STR("range"));
    if (field == NULL || !condition_allows_range(r, &file->validators, f->clock->date_s))
        return false;
    switch (range_parse(field->value, file->size, ranges, &count)) {
    case RANGE_WHOLE: return false;
    case RANGE_PARTS:
        if (!(count == 1 && pieces_have(&f->pieces, file, &ranges[0])) &&
            !files_has_bytes(f, r, file, ranges[0].first))
            return true;
        return partial_respond(r, &f->pieces, file, ranges, count, files_random(f));
    case RANGE_UNSATISFIABLE: break;
    }
    char text[32];
    int n = snprintf(text, sizeof(text), "bytes */%llu", (unsigned long long)file->size);
    const struct weir_field size = {WEIR_STR("content-range"), {text, (size_t)n}};
    failures_answer_with(&f->failures, r, 416, &size, 1);
    return true;
}

/* 412 with what tells the client what is there instead: the tag, and what it depends on. */
static void files_respond_failed(struct files *f, struct weir_request *r, const struct file *file)
{
    struct weir_field extra[FAILURE_EXTRA];
    size_t count = 0;
    for (size_t i = 0; i < file->whole.field_count && count < FAILURE_EXTRA; i++) {
        struct weir_str name = file->fields[i].name;
        if (weir_str_eq(name, WEIR_STR("etag")) || weir_str_eq(name, WEIR_STR("vary")))
            extra[count++] = file->fields[i];
    }
    failures_answer_with(&f->failures, r, 412, extra, count);
}

/*
 * A file without a tag is to have one.  True: r waits for that, since its answer depends on it, or
 * since it does not take long.
 */
static bool files_wait_for_tag(struct files *f, struct weir_request *r, struct file *file,
                               unsigned asks)
{
    bool is_under_way = tagger_begin(&f->tagger, file);
    if (!is_under_way || (!(asks & ASKS_CONDITION) && file->size > LIMIT_TAG_PIECE))
        return false;
    struct waiter *w = files_park(f, r);
    if (w != NULL)
        tagger_wait(file, w);
    return true;
}

static void files_respond_file(struct files *f, struct weir_request *r, struct file *file,
                               bool is_get)
{
    unsigned asks = request_asks(r);
    if (file->validators.etag.len == 0 && files_wait_for_tag(f, r, file, asks))
        return;
    if (asks & ASKS_CONDITION) {
        switch (condition_check(r, &file->validators, f->clock->date_s)) {
        case CONDITION_MET: break;
        case CONDITION_NOT_MODIFIED: file_respond(r, file, &file->not_modified); return;
        case CONDITION_FAILED: files_respond_failed(f, r, file); return;
        }
    }
    if (is_get && (asks & ASKS_RANGE) && files_respond_range(f, r, file))
        return;
    if (!is_get)
        file_respond(r, file, &file->head);
    else if (file->size > 0 && !files_has_bytes(f, r, file, 0))
        return;
    else if (!reader_respond(r, file, &file->whole))
        failures_answer(&f->failures, r, 503);
}

/* Answer with a list of the directory at the path.  False: there is none, nor a reason. */
static bool files_respond_list(struct files *f, struct weir_request *r, struct weir_str path)
{
    if (!f->lists_directories || files_stage(f) == STAGE_PAGE || path_is_hidden(path) ||
        path.ptr[path.len - 1] != '/')
        return false;
    unsigned status = listing_respond(&f->listings, r, path, f->clock->date_s);
    switch (status) {
    case 0: return true;
    case 404: return false;
    case LISTING_WAITS: files_wait_for_listing(f, r); return true;
    default: failures_answer(&f->failures, r, status); return true;
    }
}

/* Answer with the page of a single-page application.  False: it is not for this request. */
static bool files_respond_fallback(struct files *f, struct weir_request *r, struct weir_str path,
                                   bool is_get)
{
    if (f->fallback.len == 0 || mime_extension(path).len > 0 || path_is_hidden(path) ||
        negotiate_type(r, WEIR_STR("text/html")) == 0)
        return false;
    struct file *file;
    unsigned status = files_get(f, r, f->fallback, &file);
    if (status == CACHE_WAITS)
        files_wait_for_cache(f, r, STAGE_PAGE);
    else if (status == 0)
        files_respond_file(f, r, file, is_get);
    return status == CACHE_WAITS || status == 0;
}

/* There is no file at the path: a list, or a page of the operator's, may stand in. */
static void files_respond_missing(struct files *f, struct weir_request *r, struct weir_str path,
                                  bool is_get)
{
    if (path.len > 0 &&
        (files_respond_list(f, r, path) || files_respond_fallback(f, r, path, is_get)))
        return;
    struct file *file;
    unsigned status = failure_wants_json(r) ? 404 : files_get(f, r, WEIR_STR(ERROR_PAGE), &file);
    if (status == CACHE_WAITS) {
        files_wait_for_cache(f, r, STAGE_PAGE);
        return;
    }
    if (status == 0 && error_page_respond(r, f->env.mem, file, 404))
        return;
    failures_answer(&f->failures, r, 404);
}

static void files_respond_directory(struct files *f, struct weir_request *r, struct weir_str path)
{
    struct weir_str location = {f->location, redirect_write(path, r->path, f->location)};
    if (location.len == 0)
        failures_answer(&f->failures, r, 400);
    else
        failures_answer_with(&f->failures, r, 308,
                             &(struct weir_field){WEIR_STR("location"), location}, 1);
}

static void files_respond_options(const struct files *f, struct weir_request *r)
{
    struct weir_response resp = {
        .status = 204,
        .fields = f->options,
        .field_count = f->options_count,
    };
    weir_ignore(weir_respond(r, &resp));
}

static void files_serve(struct files *f, struct weir_request *r)
{
    bool is_get = weir_str_eq(r->method, WEIR_STR("GET"));
    if (!is_get && !weir_str_eq(r->method, WEIR_STR("HEAD"))) {
        if (weir_str_eq(r->method, WEIR_STR("OPTIONS")))
            files_respond_options(f, r);
        else
            failures_answer(&f->failures, r, 405);
        return;
    }
    struct file *file;
    struct weir_str path = {f->path, 0};
    unsigned status = files_find(f, r, &path, &file);
    switch (status) {
    case 0: files_respond_file(f, r, file, is_get); break;
    case 308: files_respond_directory(f, r, path); break;
    case 404: files_respond_missing(f, r, path, is_get); break;
    case CACHE_WAITS: files_wait_for_cache(f, r, STAGE_FILE); break;
    default: failures_answer(&f->failures, r, status); break;
    }
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
