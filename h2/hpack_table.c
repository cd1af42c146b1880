/* See hpack_table.h. */
#include "hpack_table.h"

#include <assert.h>

#include "internal/assert.h"
#include "mem.h"

static_assert((HPACK_ENTRIES_MAX & (HPACK_ENTRIES_MAX - 1)) == 0,
              "places of the ring wrap around with the numbers that count them");

#define ENTRY(text, content, of_name, of_field)                                                    \
    {                                                                                              \
        .len = sizeof(text) + sizeof(content) - 2 + HPACK_OVERHEAD, .name_kind = FIELD_##of_name,  \
        .kind = FIELD_##of_field, .field.name = WEIR_STR_INIT(text),                               \
        .field.value = WEIR_STR_INIT(content)                                                      \
    }

/* RFC 7541 appendix A. */
const struct hpack_entry hpack_static[HPACK_STATIC_COUNT + 1] = {
    ENTRY("", "", MALFORMED, MALFORMED), /* index 0 is not used */
    ENTRY(":authority", "", AUTHORITY, MALFORMED),
    ENTRY(":method", "GET", METHOD, METHOD),
    ENTRY(":method", "POST", METHOD, METHOD),
    ENTRY(":path", "/", PATH, PATH),
    ENTRY(":path", "/index.html", PATH, PATH),
    ENTRY(":scheme", "http", SCHEME, SCHEME),
    ENTRY(":scheme", "https", SCHEME, SCHEME),
    ENTRY(":status", "200", MALFORMED, MALFORMED),
    ENTRY(":status", "204", MALFORMED, MALFORMED),
    ENTRY(":status", "206", MALFORMED, MALFORMED),
    ENTRY(":status", "304", MALFORMED, MALFORMED),
    ENTRY(":status", "400", MALFORMED, MALFORMED),
    ENTRY(":status", "404", MALFORMED, MALFORMED),
    ENTRY(":status", "500", MALFORMED, MALFORMED),
    ENTRY("accept-charset", "", ORDINARY, ORDINARY),
    ENTRY("accept-encoding", "gzip, deflate", ORDINARY, ORDINARY),
    ENTRY("accept-language", "", ORDINARY, ORDINARY),
    ENTRY("accept-ranges", "", ORDINARY, ORDINARY),
    ENTRY("accept", "", ORDINARY, ORDINARY),
    ENTRY("access-control-allow-origin", "", ORDINARY, ORDINARY),
    ENTRY("age", "", ORDINARY, ORDINARY),
    ENTRY("allow", "", ORDINARY, ORDINARY),
    ENTRY("authorization", "", ORDINARY, ORDINARY),
    ENTRY("cache-control", "", ORDINARY, ORDINARY),
    ENTRY("content-disposition", "", ORDINARY, ORDINARY),
    ENTRY("content-encoding", "", ORDINARY, ORDINARY),
    ENTRY("content-language", "", ORDINARY, ORDINARY),
    ENTRY("content-length", "", LENGTH, MALFORMED),
    ENTRY("content-location", "", ORDINARY, ORDINARY),
    ENTRY("content-range", "", ORDINARY, ORDINARY),
    ENTRY("content-type", "", ORDINARY, ORDINARY),
    ENTRY("cookie", "", ORDINARY, ORDINARY),
    ENTRY("date", "", ORDINARY, ORDINARY),
    ENTRY("etag", "", ORDINARY, ORDINARY),
    ENTRY("expect", "", ORDINARY, ORDINARY),
    ENTRY("expires", "", ORDINARY, ORDINARY),
    ENTRY("from", "", ORDINARY, ORDINARY),
    ENTRY("host", "", HOST, MALFORMED),
    ENTRY("if-match", "", ORDINARY, ORDINARY),
    ENTRY("if-modified-since", "", ORDINARY, ORDINARY),
    ENTRY("if-none-match", "", ORDINARY, ORDINARY),
    ENTRY("if-range", "", ORDINARY, ORDINARY),
    ENTRY("if-unmodified-since", "", ORDINARY, ORDINARY),
    ENTRY("last-modified", "", ORDINARY, ORDINARY),
    ENTRY("link", "", ORDINARY, ORDINARY),
    ENTRY("location", "", ORDINARY, ORDINARY),
    ENTRY("max-forwards", "", ORDINARY, ORDINARY),
    ENTRY("proxy-authenticate", "", ORDINARY, ORDINARY),
    ENTRY("proxy-authorization", "", ORDINARY, ORDINARY),
    ENTRY("range", "", ORDINARY, ORDINARY),
    ENTRY("referer", "", ORDINARY, ORDINARY),
    ENTRY("refresh", "", ORDINARY, ORDINARY),
    ENTRY("retry-after", "", ORDINARY, ORDINARY),
    ENTRY("server", "", ORDINARY, ORDINARY),
    ENTRY("set-cookie", "", ORDINARY, ORDINARY),
    ENTRY("strict-transport-security", "", ORDINARY, ORDINARY),
    ENTRY("transfer-encoding", "", MALFORMED, MALFORMED),
    ENTRY("user-agent", "", ORDINARY, ORDINARY),
    ENTRY("vary", "", ORDINARY, ORDINARY),
    ENTRY("via", "", ORDINARY, ORDINARY),
    ENTRY("www-authenticate", "", ORDINARY, ORDINARY),
};

void hpack_table_init(struct hpack_table *t)
{
    *t = (struct hpack_table){.max = LIMIT_HPACK_TABLE};
}

/* Drop the oldest entries until the rest is at most that large. */
static void table_shrink(struct hpack_table *t, uint32_t max)
{
    while (t->len > max) {
        struct hpack_entry *oldest = t->ring[(t->newest - --t->count) & (t->cap - 1)];
        t->len -= oldest->len;
        hpack_entry_unref(oldest);
    }
}

void hpack_table_deinit(struct hpack_table *t)
{
    table_shrink(t, 0);
    mem_give(t->ring);
    *t = (struct hpack_table){0};
}

void hpack_table_resize(struct hpack_table *t, uint32_t max)
{
    t->max = max;
    table_shrink(t, max);
}

/* False: there is no memory. */
static bool table_grow(struct hpack_table *t, struct mem *mem)
{
    uint32_t cap = t->cap == 0 ? HPACK_ENTRIES_MIN : 2 * t->cap;
    WEIR_ASSERT(cap <= HPACK_ENTRIES_MAX); /* entries count HPACK_OVERHEAD bytes at least */
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): it is a ring of pointers */
    struct hpack_entry **ring = mem_take(mem, cap * sizeof(*ring));
    if (ring == NULL)
        return false;
    for (uint32_t i = 0; i < t->count; i++)
        ring[(t->newest - i) & (cap - 1)] = t->ring[(t->newest - i) & (t->cap - 1)];
    mem_give(t->ring);
    t->ring = ring;
    t->cap = cap;
    return true;
}

enum weir_err hpack_table_add(struct hpack_table *t, struct mem *mem, struct hpack_entry *e)
{
    uint32_t len = e->len;
    if (len > t->max) {
        table_shrink(t, 0);
        return WEIR_OK;
    }
    table_shrink(t, t->max - len);
    if (t->count == t->cap && !table_grow(t, mem))
        return WEIR_NOMEM;
    hpack_entry_ref(e);
    t->newest++;
    t->ring[t->newest & (t->cap - 1)] = e;
    t->count++;
    t->len += len;
    return WEIR_OK;
}

void hpack_entry_unref(const struct hpack_entry *e)
{
    struct hpack_entry *counted = (struct hpack_entry *)(uintptr_t)e;
    if (e->refs != 0 && --counted->refs == 0)
        mem_give(counted);
}
