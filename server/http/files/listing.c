/*
 * See listing.h.
 *
 * What a link leads to is not looked at: it may lie outside of the root.
 */
#include "listing.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "body.h"
#include "clock.h"
#include "conditional.h"
#include "digest.h"
#include "entries.h"
#include "escape.h"
#include "failure.h"
#include "file.h"
#include "mem.h"
#include "path.h"
#include "root.h"

#define LISTING_FIELDS 8

/* A response that is a listing. */
struct listing {
    struct body body;
    struct weir_field fields[LISTING_FIELDS];
    size_t field_count;
    char content_length[21];
    char etag[ETAG_CAP];
};

/* What a page shows. */
struct view {
    struct weir_str path;          /* decoded */
    const struct entries *entries; /* Borrowed */
    const struct root *root;       /* Borrowed */
    int fd;                        /* of the directory */
    size_t page;                   /* from 1 */
    size_t pages;
    bool is_json;
};

static struct listing *listing_from(void *ctx)
{
    return ctx;
}

static enum weir_err listing_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    *out = body_slice(&listing_from(ctx)->body, offset, max);
    return WEIR_OK;
}

static void listing_release(void *ctx)
{
    struct listing *l = listing_from(ctx);
    body_deinit(&l->body);
    mem_give(l);
}

static const struct weir_source listing_source = {.read = listing_read, .release = listing_release};

static void write_html_entry(struct body *b, struct weir_str name, const struct stat *st)
{
    char href[3 * NAME_MAX];
    char date[CLOCK_DATE_LEN + 1];
    struct weir_str link = {href, path_encode(name, href)};
    const char *slash = S_ISDIR(st->st_mode) ? "/" : "";
    body_printf(b, "<tr><td><a href=\"./");
    escape_html(b, link);
    body_printf(b, "%s\">", slash);
    escape_html(b, name);
    clock_format_date(st->st_mtim.tv_sec, date);
    body_printf(b, "%s</a><td>", slash);
    if (S_ISREG(st->st_mode))
        body_printf(b, "%lld", (long long)st->st_size);
    body_printf(b, "<td>%s\n", date);
}

static void write_json_entry(struct body *b, struct weir_str name, const struct stat *st)
{
    const char *type = S_ISREG(st->st_mode) ? "file" : S_ISDIR(st->st_mode) ? "directory" : "link";
    body_printf(b, "{\"name\":\"");
    escape_json(b, name);
    body_printf(b, "\",\"type\":\"%s\",\"size\":%lld,\"modified\":%lld}", type,
                (long long)(S_ISREG(st->st_mode) ? st->st_size : 0), (long long)st->st_mtim.tv_sec);
}

static void write_entries(struct body *b, const struct view *v)
{
    size_t first = (v->page - 1) * LISTING_PAGE;
    bool is_first = true;
    for (size_t i = first; i < v->entries->count && i < first + LISTING_PAGE; i++) {
        struct stat st;
        const char *name = v->entries->sorted[i]->name;
        if (root_look(v->root, v->fd, name, &st) != 0)
            continue; /* gone meanwhile */
        if (v->is_json && !is_first)
            body_put(b, WEIR_STR(",\n"));
        is_first = false;
        struct weir_str text = {name, strlen(name)};
        if (v->is_json)
            write_json_entry(b, text, &st);
        else
            write_html_entry(b, text, &st);
    }
}

static void write_html(struct body *b, const struct view *v)
{
    body_put(b, WEIR_STR("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>"));
    escape_html(b, v->path);
    body_put(b, WEIR_STR("</title>\n<h1>"));
    escape_html(b, v->path);
    body_put(b, WEIR_STR("</h1>\n<table>\n"));
    if (v->path.len > 1)
        body_put(b, WEIR_STR("<tr><td><a href=\"../\">../</a><td><td>\n"));
    write_entries(b, v);
    body_put(b, WEIR_STR("</table>\n"));
    if (v->entries->is_cut)
        body_printf(b, "<p>Only %zu names are shown.\n", v->entries->count);
    if (v->page > 1)
        body_printf(b, "<p><a href=\"?page=%zu\">Page %zu</a>\n", v->page - 1, v->page - 1);
    if (v->page < v->pages)
        body_printf(b, "<p><a href=\"?page=%zu\">Page %zu</a>\n", v->page + 1, v->page + 1);
}

static void write_json(struct body *b, const struct view *v)
{
    body_put(b, WEIR_STR("{\"path\":\""));
    escape_json(b, v->path);
    body_printf(b, "\",\"page\":%zu,\"pages\":%zu,\"complete\":%s,\"entries\":[\n", v->page,
                v->pages, v->entries->is_cut ? "false" : "true");
    write_entries(b, v);
    body_put(b, WEIR_STR("\n]}\n"));
}

/* The page that a target asks for, 1 if it says nothing; 0 if it is none. */
static size_t page_of(struct weir_str target)
{
    static const struct weir_str name = WEIR_STR_INIT("?page=");
    size_t path_len = path_cut_query(target).len;
    struct weir_str query = {target.ptr + path_len, target.len - path_len};
    if (query.len < name.len || memcmp(query.ptr, name.ptr, name.len) != 0)
        return 1;
    size_t page = 0;
    if (query.len > name.len + 4)
        return 0;
    for (size_t i = name.len; i < query.len; i++) {
        if (query.ptr[i] < '0' || query.ptr[i] > '9')
            return 0;
        page = page * 10 + (size_t)(query.ptr[i] - '0');
    }
    return page;
}

static void add_field(struct listing *l, struct weir_str name, struct weir_str value)
{
    l->fields[l->field_count++] = (struct weir_field){name, value};
}

/* The first fields are those that a 304 has too.  Gives their number. */
static size_t listing_describe(struct listing *l, const struct file_env *env, bool is_json)
{
    struct digest d;
    uint64_t words[2];
    digest_init(&d);
    for (size_t at = 0; at < l->body.len;) {
        struct weir_slice s = body_slice(&l->body, at, SIZE_MAX);
        digest_feed(&d, s.ptr, s.len);
        at += s.len;
        weir_slice_drop(&s);
    }
    digest_finish(&d, words);
    add_field(l, WEIR_STR("cache-control"), WEIR_STR("no-cache"));
    add_field(l, WEIR_STR("vary"), WEIR_STR("accept"));
    add_field(l, WEIR_STR("etag"),
              (struct weir_str){l->etag, etag_write_digest(l->etag, words, '\0')});
    if (env->server.len > 0)
        add_field(l, WEIR_STR("server"), env->server);
    size_t kept = l->field_count;
    int n = snprintf(l->content_length, sizeof(l->content_length), "%zu", l->body.len);
    add_field(l, WEIR_STR("content-length"), (struct weir_str){l->content_length, (size_t)n});
    add_field(l, WEIR_STR("content-type"),
              is_json ? WEIR_STR("application/json") : WEIR_STR("text/html; charset=utf-8"));
    add_field(l, WEIR_STR("x-content-type-options"), WEIR_STR("nosniff"));
    return kept;
}

/* Send what is in l.  Own: l. */
static unsigned listing_send(struct weir_request *r, const struct file_env *env, struct listing *l,
                             bool is_json, int64_t now_s)
{
    size_t kept = listing_describe(l, env, is_json);
    struct weir_response resp = {
        .status = 200,
        .fields = l->fields,
        .field_count = l->field_count,
        .source = &listing_source,
        .ctx = l,
        .body_len = weir_str_eq(r->method, WEIR_STR("HEAD")) ? 0 : l->body.len,
    };
    struct validators v = {.etag = l->fields[2].value};
    switch (condition_check(r, &v, now_s)) {
    case CONDITION_MET: break;
    case CONDITION_NOT_MODIFIED:
        resp.status = 304;
        resp.field_count = kept;
        resp.body_len = 0;
        break;
    case CONDITION_FAILED: listing_release(l); return 412;
    }
    weir_ignore(weir_respond(r, &resp)); /* the peer has gone, or the stream is reset */
    return 0;
}

/* Write the page into a new listing.  Gives 0 or a status. */
static unsigned listing_make(const struct file_env *env, const struct view *v, struct listing **out)
{
    struct listing *l = mem_take(env->mem, sizeof(*l));
    *out = l;
    if (l == NULL)
        return 503;
    l->field_count = 0;
    body_init(&l->body, env->mem);
    if (v->is_json)
        write_json(&l->body, v);
    else
        write_html(&l->body, v);
    if (!l->body.is_cut)
        return 0;
    listing_release(l);
    return 503;
}

unsigned listing_respond(struct weir_request *r, const struct file_env *env, struct weir_str path,
                         int64_t now_s)
{
    struct view v = {
        .path = path,
        .root = env->root,
        .page = page_of(r->path),
        .is_json = failure_wants_json(r),
    };
    const char *relative = path.len == 1 ? "." : path.ptr + 1;
    unsigned status = root_open_file(env->root, relative, true, &v.fd);
    if (status != 0)
        return status;
    struct entries entries;
    struct listing *l = NULL;
    v.entries = &entries;
    status = entries_read(&entries, env->mem, env->root, v.fd);
    v.pages = entries.count == 0 ? 1 : (entries.count + LISTING_PAGE - 1) / LISTING_PAGE;
    if (status == 0 && (v.page == 0 || v.page > v.pages))
        status = 404;
    if (status == 0)
        status = listing_make(env, &v, &l);
    entries_deinit(&entries);
    root_close_file(env->root, v.fd);
    return status == 0 ? listing_send(r, env, l, v.is_json, now_s) : status;
}
