/*
 * Which file a request means, and how it is answered.  See serve.h.
 *
 * A request that asks for nothing special and whose file is at hand goes straight through:
 * cache_find(), one look at the names of its fields, weir_respond().
 */
#include "serve.h"

#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "clock.h"
#include "conditional.h"
#include "describe.h"
#include "error_page.h"
#include "mime.h"
#include "negotiate.h"
#include "partial.h"
#include "path.h"
#include "range.h"
#include "reader.h"
#include "resource.h"

#define ERROR_PAGE "/404.html"

/* Times that a file is opened that changes meanwhile. */
#define GET_TRIES 3

/* A number that a client cannot foresee from bodies it has seen. */
static uint64_t files_random(struct files *f)
{
    f->random += 0x9e3779b97f4a7c15U;
    uint64_t x = f->random;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
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

static void file_respond(struct weir_request *r, struct file *file, struct weir_response response)
{
    file_ref(file);                          /* released by the exchange */
    weir_ignore(weir_respond(r, &response)); /* the peer has gone, or the stream is reset */
}

/* Answer with the ranges asked for.  False: the whole is due. */
static bool files_respond_range(struct files *f, struct weir_request *r, struct file *file)
{
    struct range ranges[RANGES_MAX];
    size_t count;
    const struct weir_field *field = weir_request_find(r, WEIR_STR("range"));
    if (field == NULL || !condition_allows_range(r, &file->says->validators, f->clock->date_s))
        return false;
    switch (range_parse(field->value, file->id.size, ranges, &count)) {
    case RANGE_WHOLE: return false;
    case RANGE_PARTS:
        if (!(count == 1 && pieces_have(&f->pieces, file, &ranges[0])) &&
            !files_has_bytes(f, r, file, ranges[0].first))
            return true;
        return partial_respond(r, &f->pieces, file, ranges, count, files_random(f));
    case RANGE_UNSATISFIABLE: break;
    }
    char text[32];
    int n = snprintf(text, sizeof(text), "bytes */%llu", (unsigned long long)file->id.size);
    const struct weir_field size = {WEIR_STR("content-range"), {text, (size_t)n}};
    failures_answer_with(&f->failures, r, 416, &size, 1);
    return true;
}

/* 412 with what tells the client what is there instead: the tag, and what it depends on. */
static void files_respond_failed(struct files *f, struct weir_request *r, const struct file *file)
{
    struct weir_field extra[FAILURE_EXTRA];
    size_t count = 0;
    for (size_t i = 0; i < file->says->field_count && count < FAILURE_EXTRA; i++) {
        struct weir_str name = file->says->fields[i].name;
        if (weir_str_eq(name, WEIR_STR("etag")) || weir_str_eq(name, WEIR_STR("vary")))
            extra[count++] = file->says->fields[i];
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
    if (!is_under_way || (!(asks & ASKS_CONDITION) && file->id.size > LIMIT_TAG_PIECE))
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
    if (file->says->validators.etag.len == 0 && files_wait_for_tag(f, r, file, asks))
        return;
    if (asks & ASKS_CONDITION) {
        switch (condition_check(r, &file->says->validators, f->clock->date_s)) {
        case CONDITION_MET: break;
        case CONDITION_NOT_MODIFIED: file_respond(r, file, file_not_modified(file)); return;
        case CONDITION_FAILED: files_respond_failed(f, r, file); return;
        }
    }
    if (is_get && (asks & ASKS_RANGE) && files_respond_range(f, r, file))
        return;
    if (!is_get)
        file_respond(r, file, file_head(file));
    else if (file->id.size > 0 && !files_has_bytes(f, r, file, 0))
        return;
    else if (!reader_respond(r, file))
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

void files_serve(struct files *f, struct weir_request *r)
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
