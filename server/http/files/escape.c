/* See escape.h. */
#include "escape.h"

#define REPLACEMENT WEIR_STR("\xef\xbf\xbd")

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

size_t utf8_len(struct weir_str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    if (text.len == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    size_t len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] < 0xc2 || p[0] > 0xf4 || text.len < len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (!is_tail(p[i]))
            return 0;
    }
    bool is_overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    bool is_surrogate = p[0] == 0xed && p[1] > 0x9f;
    bool is_beyond = p[0] == 0xf4 && p[1] > 0x8f;
    return is_overlong || is_surrogate || is_beyond ? 0 : len;
}

/* Take the character that a text begins with, or the replacement for a byte that is none. */
static struct weir_str char_take(struct weir_str *text)
{
    size_t len = utf8_len(*text);
    struct weir_str c = {text->ptr, len};
    size_t step = len == 0 ? 1 : len;
    text->ptr += step;
    text->len -= step;
    return len == 0 ? REPLACEMENT : c;
}

void escape_html(struct sheet *s, struct weir_str text)
{
    while (text.len > 0) {
        struct weir_str c = char_take(&text);
        unsigned char first = (unsigned char)c.ptr[0];
        if (first < ' ' || first == 0x7f)
            sheet_put(s, REPLACEMENT); /* no page may hold most of these, escaped or not */
        else if (first == '<' || first == '>' || first == '&' || first == '"' || first == '\'')
            sheet_printf(s, "&#%u;", first);
        else
            sheet_put(s, c);
    }
}

void escape_json(struct sheet *s, struct weir_str text)
{
    while (text.len > 0) {
        struct weir_str c = char_take(&text);
        unsigned char first = (unsigned char)c.ptr[0];
        if (first < ' ' || first == 0x7f || first == '"' || first == '\\')
            sheet_printf(s, "\\u%04x", first);
        else
            sheet_put(s, c);
    }
}
