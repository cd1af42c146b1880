/*
 * Names in pages and in JSON: nothing that could end its place comes out, and all of it is UTF-8.
 * Covers: server/http/files/escape.c
 */
#include "fuzz.h"

#include <string.h>

#include "escape.h"
#include "internal/assert.h"
#include "mem.h"

static void check(const struct body *b, const char *forbidden)
{
    for (size_t at = 0; at < b->len;) {
        struct weir_slice s = body_slice(b, at, SIZE_MAX);
        struct weir_str text = {(const char *)s.ptr, s.len};
        for (size_t i = 0; i < text.len; i++) {
            WEIR_ASSERT((unsigned char)text.ptr[i] >= ' ' && text.ptr[i] != 0x7f);
            WEIR_ASSERT(strchr(forbidden, text.ptr[i]) == NULL);
        }
        for (size_t n = 0; text.len > 0 && b->len < BLOCK_LARGE_CAP; text.len -= n) {
            n = utf8_len(text);
            WEIR_ASSERT(n > 0);
            text.ptr += n;
        }
        at += s.len;
        weir_slice_drop(&s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct mem *mem;
    if (mem == NULL)
        WEIR_ASSERT(mem_new((size_t)16 * 1024 * 1024, &mem) == WEIR_OK);
    static struct body b;
    struct weir_str text = {(const char *)data, len};
    body_init(&b, mem);
    escape_html(&b, text);
    check(&b, "<>\"'");
    body_deinit(&b);
    body_init(&b, mem);
    escape_json(&b, text);
    check(&b, "\"");
    body_deinit(&b);
    WEIR_ASSERT(mem_live(mem) == 0);
    return 0;
}
