/*
 * Names in pages and in JSON: nothing that could end its place comes out, and all of it is UTF-8.
 * Covers: server/http/files/escape.c
 */
#include "fuzz.h"

#include <string.h>

#include "escape.h"
#include "internal/assert.h"

#define LEN_MAX 4096

static void check(const struct sheet *s, const char *forbidden)
{
    struct weir_str text = sheet_text(s);
    WEIR_ASSERT(!s->is_cut);
    for (size_t i = 0; i < text.len; i++) {
        WEIR_ASSERT((unsigned char)text.ptr[i] >= ' ' && text.ptr[i] != 0x7f);
        WEIR_ASSERT(strchr(forbidden, text.ptr[i]) == NULL);
    }
    for (size_t n = 0; text.len > 0; text.len -= n) {
        n = utf8_len(text);
        WEIR_ASSERT(n > 0);
        text.ptr += n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static char room[8 * LEN_MAX]; /* a byte becomes six at the most, and printing adds a NUL */
    struct weir_str text = {(const char *)data, len < LEN_MAX ? len : LEN_MAX};
    struct sheet s = {.base = room, .cap = sizeof(room)};
    escape_html(&s, text);
    check(&s, "<>\"'");
    s.len = 0;
    escape_json(&s, text);
    check(&s, "\"");
    return 0;
}
