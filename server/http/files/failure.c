/* See failure.h. */
#include "failure.h"

#include <stdio.h>
#include <string.h>

#include "internal/assert.h"
#include "mem.h"
#include "negotiate.h"

static const struct {
    unsigned status;
    const char *title;
} kinds[FAILURE_KINDS] = {
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

#define PAGE_FORMAT                                                                                \
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"                              \
    "<title>%u %s</title>\n<h1>%u %s</h1>\n"
#define REPORT_FORMAT "{\"type\":\"about:blank\",\"status\":%u,\"title\":\"%s\"}\n"

static const struct weir_str types[FAILURE_FORMS] = {
    [FAILURE_HTML] = WEIR_STR_INIT("text/html; charset=utf-8"),
    [FAILURE_JSON] = WEIR_STR_INIT("application/problem+json"),
};

/* An answer with fields of its own. */
struct failure {
    const struct failure_page *page; /* Borrowed */
    struct weir_field fields[FAILURE_FIELDS + FAILURE_EXTRA];
    char values[];
};

static enum weir_err page_read(const struct failure_page *page, uint64_t offset, size_t max,
                               struct weir_slice *out)
{
    struct weir_buf *b = (struct weir_buf *)(uintptr_t)&page->buf; /* only the count changes */
    size_t left = b->cap - (size_t)offset;
    *out = weir_slice_of(b, b->base + offset, left < max ? left : max);
    return WEIR_OK;
}

static enum weir_err ready_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    return page_read(ctx, offset, max, out);
}

static void ready_release(void *ctx)
{
    (void)ctx;
}

static const struct weir_source ready_source = {.read = ready_read, .release = ready_release};

static enum weir_err made_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    const struct failure *failure = ctx;
    return page_read(failure->page, offset, max, out);
}

static void made_release(void *ctx)
{
    mem_give(ctx);
}

static const struct weir_source made_source = {.read = made_read, .release = made_release};

static void page_add_field(struct failure_page *p, struct weir_str name, struct weir_str value)
{
    WEIR_ASSERT(p->field_count < FAILURE_FIELDS);
    p->fields[p->field_count++] = (struct weir_field){name, value};
}

static void page_never_released(struct weir_buf *b)
{
    WEIR_ASSERT(b == NULL);
}

static void page_init(struct failure_page *p, size_t kind, enum failure_form form,
                      struct weir_str server)
{
    unsigned status = kinds[kind].status;
    const char *title = kinds[kind].title;
    int n = 0;
    if (form == FAILURE_HTML)
        n = snprintf(p->body, sizeof(p->body), PAGE_FORMAT, status, title, status, title);
    else
        n = snprintf(p->body, sizeof(p->body), REPORT_FORMAT, status, title);
    WEIR_ASSERT(n > 0 && (size_t)n < sizeof(p->body));
    p->buf = (struct weir_buf){
        .refs = 1,
        .origin = WEIR_ORIGIN_POOLED,
        .base = (uint8_t *)p->body,
        .cap = (size_t)n,
        .release = page_never_released,
    };
    n = snprintf(p->content_length, sizeof(p->content_length), "%d", n);
    page_add_field(p, WEIR_STR("content-length"), (struct weir_str){p->content_length, (size_t)n});
    page_add_field(p, WEIR_STR("content-type"), types[form]);
    page_add_field(p, WEIR_STR("x-content-type-options"), WEIR_STR("nosniff"));
    if (server.len > 0)
        page_add_field(p, WEIR_STR("server"), server);
    if (status >= 400)
        page_add_field(p, WEIR_STR("cache-control"), WEIR_STR("no-store"));
    if (status == 308)
        page_add_field(p, WEIR_STR("vary"), WEIR_STR("accept")); /* its body, and it may be kept */
    if (status == 405)
        page_add_field(p, WEIR_STR("allow"), WEIR_STR(FAILURE_ALLOW));
    if (status == 503)
        page_add_field(p, WEIR_STR("retry-after"), WEIR_STR("1"));
}

void failures_init(struct failures *f, struct mem *mem, struct weir_str server)
{
    *f = (struct failures){.mem = mem};
    for (size_t kind = 0; kind < FAILURE_KINDS; kind++) {
        for (unsigned form = 0; form < FAILURE_FORMS; form++)
            page_init(&f->pages[kind][form], kind, (enum failure_form)form, server);
    }
}

bool failure_wants_json(const struct weir_request *r)
{
    unsigned html = negotiate_type(r, WEIR_STR("text/html"));
    unsigned problem = negotiate_type(r, WEIR_STR("application/problem+json"));
    unsigned json = negotiate_type(r, WEIR_STR("application/json"));
    return problem > html || json > html;
}

static struct failure_page *failures_page(struct failures *f, const struct weir_request *r,
                                          unsigned status)
{
    size_t kind = 0;
    while (kind < FAILURE_KINDS && kinds[kind].status != status)
        kind++;
    WEIR_ASSERT(kind < FAILURE_KINDS);
    return &f->pages[kind][failure_wants_json(r) ? FAILURE_JSON : FAILURE_HTML];
}

static uint64_t body_len_of(const struct weir_request *r, const struct failure_page *page)
{
    return weir_str_eq(r->method, WEIR_STR("HEAD")) ? 0 : page->buf.cap;
}

void failures_answer(struct failures *f, struct weir_request *r, unsigned status)
{
    struct failure_page *page = failures_page(f, r, status);
    struct weir_response resp = {
        .status = (uint16_t)status,
        .fields = page->fields,
        .field_count = page->field_count,
        .source = &ready_source,
        .ctx = page,
        .body_len = body_len_of(r, page),
    };
    weir_ignore(weir_respond(r, &resp)); /* the peer has gone, or the stream is reset */
}

void failures_answer_with(struct failures *f, struct weir_request *r, unsigned status,
                          const struct weir_field *extra, size_t extra_count)
{
    WEIR_ASSERT(extra_count <= FAILURE_EXTRA);
    const struct failure_page *page = failures_page(f, r, status);
    size_t values_len = 0;
    for (size_t i = 0; i < extra_count; i++)
        values_len += extra[i].value.len;
    struct failure *made = mem_take(f->mem, sizeof(*made) + values_len);
    if (made == NULL) {
        failures_answer(f, r, status);
        return;
    }
    made->page = page;
    memcpy(made->fields, page->fields, sizeof(page->fields));
    size_t count = page->field_count;
    char *value = made->values;
    for (size_t i = 0; i < extra_count; i++) {
        memcpy(value, extra[i].value.ptr, extra[i].value.len);
        made->fields[count++] = (struct weir_field){extra[i].name, {value, extra[i].value.len}};
        value += extra[i].value.len;
    }
    struct weir_response resp = {
        .status = (uint16_t)status,
        .fields = made->fields,
        .field_count = count,
        .source = &made_source,
        .ctx = made,
        .body_len = body_len_of(r, page),
    };
    weir_ignore(weir_respond(r, &resp));
}
