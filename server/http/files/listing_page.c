/*
 * See listing_page.h.
 *
 * What a link leads to is not looked at: it may lie outside of the root.
 */
#include "listing_page.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "digest.h"
#include "directory.h"
#include "escape.h"
#include "path.h"
#include "root.h"

/* bytes of a page; the longest names in the worst of letters take 2.5 KiB each */
#define TEXT_MAX ((size_t)4 * 1024 * 1024)

/* A page and what it shows. */
struct view {
    struct listing_page *page;   /* Borrowed */
    struct directory *directory; /* Borrowed */
    const struct root *root;     /* Borrowed */
    int fd;                      /* of the directory */
    size_t pages;
};

/* A reference to a name of this directory, whatever bytes it has; that of a directory has a slash.
 */
struct href {
    size_t len;
    char text[2 + 3 * NAME_MAX + 1];
};

static struct weir_str href_write(struct href *h, struct weir_str name, const struct stat *st)
{
    h->text[0] = '.';
    h->text[1] = '/'; /* else a colon in the name would end a scheme */
    h->len = 2 + path_encode(name, h->text + 2);
    if (S_ISDIR(st->st_mode))
        h->text[h->len++] = '/';
    return (struct weir_str){h->text, h->len};
}

static void write_html_entry(struct sheet *s, struct weir_str name, const struct stat *st)
{
    struct href href;
    char date[CLOCK_DATE_LEN + 1];
    sheet_put(s, WEIR_STR("<tr><td><a href=\""));
    escape_html(s, href_write(&href, name, st));
    sheet_put(s, WEIR_STR("\">"));
    escape_html(s, name);
    clock_format_date(st->st_mtim.tv_sec, date);
    sheet_printf(s, "%s</a><td>", S_ISDIR(st->st_mode) ? "/" : "");
    if (S_ISREG(st->st_mode))
        sheet_printf(s, "%lld", (long long)st->st_size);
    sheet_printf(s, "<td>%s\n", date);
}

static void write_json_entry(struct sheet *s, struct weir_str name, const struct stat *st)
{
    const char *type = S_ISREG(st->st_mode) ? "file" : S_ISDIR(st->st_mode) ? "directory" : "link";
    struct href href;
    sheet_put(s, WEIR_STR("{\"name\":\""));
    escape_json(s, name); /* which loses what is no UTF-8 */
    sheet_put(s, WEIR_STR("\",\"href\":\""));
    escape_json(s, href_write(&href, name, st));
    sheet_printf(s, "\",\"type\":\"%s\",\"size\":%lld,\"modified\":%lld}", type,
                 (long long)(S_ISREG(st->st_mode) ? st->st_size : 0),
                 (long long)st->st_mtim.tv_sec);
}

/* False: it has gone meanwhile, or is nothing to show. */
static bool view_look(const struct view *v, const char *name, struct stat *st)
{
    return root_look(v->root, v->fd, name, st) == 0 &&
           (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode));
}

static void write_entries(struct sheet *s, const struct view *v)
{
    size_t first = (v->page->number - 1) * LISTING_PAGE;
    bool is_first = true;
    for (size_t i = first; i < v->directory->count && i < first + LISTING_PAGE; i++) {
        struct stat st;
        const char *name = directory_name(v->directory, i);
        if (!view_look(v, name, &st))
            continue;
        if (v->page->is_json && !is_first)
            sheet_put(s, WEIR_STR(",\n"));
        is_first = false;
        struct weir_str text = {name, strlen(name)};
        if (v->page->is_json)
            write_json_entry(s, text, &st);
        else
            write_html_entry(s, text, &st);
    }
}

static void write_html(struct sheet *s, const struct view *v)
{
    const struct listing_page *p = v->page;
    sheet_put(s,
              WEIR_STR("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>"));
    escape_html(s, p->path);
    sheet_put(s, WEIR_STR("</title>\n<h1>"));
    escape_html(s, p->path);
    sheet_put(s, WEIR_STR("</h1>\n<table>\n"));
    if (p->path.len > 1)
        sheet_put(s, WEIR_STR("<tr><td><a href=\"../\">../</a><td><td>\n"));
    write_entries(s, v);
    sheet_put(s, WEIR_STR("</table>\n"));
    if (v->directory->is_cut)
        sheet_printf(s, "<p>Only %zu names are shown.\n", v->directory->count);
    if (p->number > 1)
        sheet_printf(s, "<p><a href=\"?page=%zu\">Page %zu</a>\n", p->number - 1, p->number - 1);
    if (p->number < v->pages)
        sheet_printf(s, "<p><a href=\"?page=%zu\">Page %zu</a>\n", p->number + 1, p->number + 1);
}

static void write_json(struct sheet *s, const struct view *v)
{
    sheet_put(s, WEIR_STR("{\"path\":\""));
    escape_json(s, v->page->path);
    sheet_printf(s, "\",\"page\":%zu,\"pages\":%zu,\"complete\":%s,\"entries\":[\n",
                 v->page->number, v->pages, v->directory->is_cut ? "false" : "true");
    write_entries(s, v);
    sheet_put(s, WEIR_STR("\n]}\n"));
}

/* Write the text of a view.  Gives 0 or a status. */
static unsigned view_write(const struct view *v)
{
    struct listing_page *p = v->page;
    if (scratch_init(&p->scratch, TEXT_MAX, v->root->stats) != WEIR_OK)
        return 503;
    p->text = (struct sheet){.base = p->scratch.base, .cap = p->scratch.cap};
    if (p->is_json)
        write_json(&p->text, v);
    else
        write_html(&p->text, v);
    struct digest d;
    digest_init(&d);
    digest_feed(&d, p->text.base, p->text.len);
    digest_finish(&d, p->digest);
    return p->text.is_cut ? 503 : 0;
}

/* The directory is open. */
static unsigned listing_page_write_of(struct listing_page *p, const struct root *root, int fd)
{
    struct directory d;
    unsigned status = directory_read(&d, root, fd);
    const struct view v = {
        .page = p,
        .directory = &d,
        .root = root,
        .fd = fd,
        .pages = d.count == 0 ? 1 : (d.count + LISTING_PAGE - 1) / LISTING_PAGE,
    };
    if (status == 0 && (p->number == 0 || p->number > v.pages))
        status = 404;
    if (status == 0)
        status = view_write(&v);
    directory_deinit(&d, root);
    return status;
}

const char *listing_page_place(const struct listing_page *p)
{
    return p->path.len == 1 ? "." : p->path.ptr + 1;
}

unsigned listing_page_write(struct listing_page *p, const struct root *root)
{
    int fd;
    unsigned status = root_open_file(root, listing_page_place(p), true, &fd);
    if (status == 0)
        status = listing_page_write_of(p, root, fd);
    root_close_file(root, fd);
    return status;
}

void listing_page_deinit(struct listing_page *p, struct stats *stats)
{
    scratch_deinit(&p->scratch, stats);
}
