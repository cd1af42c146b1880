/* See error_page.h. */
#include "error_page.h"

#include "describe.h"
#include "mem.h"
#include "reader.h"

struct error_page {
    struct reader reader;
    struct weir_field fields[FILE_FIELDS + 1];
};

static struct error_page *page_from(void *ctx)
{
    return ctx;
}

static enum weir_err page_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    return reader_read(&page_from(ctx)->reader, offset, max, out);
}

static void page_release(void *ctx)
{
    struct error_page *p = page_from(ctx);
    reader_deinit(&p->reader);
    mem_give(p);
}

static bool page_is_intact(void *ctx)
{
    return reader_is_intact(&page_from(ctx)->reader);
}

static const struct weir_source page_source = {
    .read = page_read,
    .is_intact = page_is_intact,
    .release = page_release,
};

/* Fields of a representation that do not hold for a page that stands for another. */
static bool is_dropped(struct weir_str name)
{
    static const struct weir_str names[] = {
        WEIR_STR_INIT("accept-ranges"),
        WEIR_STR_INIT("cache-control"),
        WEIR_STR_INIT("etag"),
        WEIR_STR_INIT("last-modified"),
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (weir_str_eq(name, names[i]))
            return true;
    }
    return false;
}

bool error_page_respond(struct weir_request *r, struct mem *mem, struct file *f, unsigned status)
{
    struct error_page *p = mem_take(mem, sizeof(*p));
    if (p == NULL)
        return false;
    reader_init(&p->reader, f, r, f->id.size);
    size_t count = 0;
    for (size_t i = 0; i < f->says->field_count; i++) {
        if (!is_dropped(f->says->fields[i].name))
            p->fields[count++] = f->says->fields[i];
    }
    p->fields[count++] = (struct weir_field){WEIR_STR("cache-control"), WEIR_STR("no-store")};
    struct weir_response resp = {
        .status = (uint16_t)status,
        .fields = p->fields,
        .field_count = count,
        .source = &page_source,
        .ctx = p,
        .body_len = weir_str_eq(r->method, WEIR_STR("HEAD")) ? 0 : f->id.size,
    };
    weir_ignore(weir_respond(r, &resp)); /* the peer has gone, or the stream is reset */
    return true;
}
