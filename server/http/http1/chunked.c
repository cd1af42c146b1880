/* See chunked.h. */
#include "chunked.h"

#include <stdbool.h>

#include "head_scan.h"
#include "internal/limits.h"
#include "weir/str.h"

static enum chunked_result chunked_bad(struct chunked *c, uint16_t status)
{
    c->status = status;
    return CHUNKED_BAD;
}

static int hex_value(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    uint8_t lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static enum chunked_result chunked_size(struct chunked *c, uint8_t byte)
{
    int value = hex_value(byte);
    if (value >= 0) {
        if (c->digits == LIMIT_CHUNK_DIGITS)
            return chunked_bad(c, 400);
        c->digits++;
        c->left = c->left << 4 | (uint64_t)value;
        return CHUNKED_MORE;
    }
    if (c->digits == 0 || (byte != ';' && byte != '\r'))
        return chunked_bad(c, 400);
    c->state = byte == ';' ? CHUNKED_EXT : CHUNKED_SIZE_LF;
    c->ext = 0;
    return CHUNKED_MORE;
}

static enum chunked_result chunked_ext(struct chunked *c, uint8_t byte)
{
    if (byte == '\r') {
        c->state = CHUNKED_SIZE_LF;
        return CHUNKED_MORE;
    }
    c->ext++;
    c->ext_total++;
    bool fits = c->ext <= LIMIT_CHUNK_EXT && c->ext_total <= LIMIT_CHUNK_EXT_TOTAL;
    return fits && head_is_text(byte) ? CHUNKED_MORE : chunked_bad(c, 400);
}

/* The size line is complete. */
static enum chunked_result chunked_begin(struct chunked *c)
{
    if (c->left > LIMIT_BODY_BYTES - c->body)
        return chunked_bad(c, 413);
    uint64_t overhead = c->total - c->body;
    if (overhead >= LIMIT_CHUNK_OVERHEAD && overhead > c->total / 5 * 4)
        return chunked_bad(c, 400);
    c->digits = 0;
    c->state = c->left > 0 ? CHUNKED_DATA : CHUNKED_TRAILER;
    return CHUNKED_MORE;
}

/* Fields that frame or route a message mean nothing behind it (RFC 9110 6.5.1). */
static bool trailer_is_forbidden(const struct chunked *c)
{
    static const struct weir_str names[] = {
        WEIR_STR_INIT("content-length"), WEIR_STR_INIT("transfer-encoding"),
        WEIR_STR_INIT("host"),           WEIR_STR_INIT("connection"),
        WEIR_STR_INIT("upgrade"),        WEIR_STR_INIT("expect"),
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (c->name_len == names[i].len && memcmp(c->name, names[i].ptr, c->name_len) == 0)
            return true;
    }
    return false;
}

static enum chunked_result chunked_name(struct chunked *c, uint8_t byte)
{
    if (byte == ':') {
        c->state = CHUNKED_TRAILER_VALUE;
        return trailer_is_forbidden(c) ? chunked_bad(c, 400) : CHUNKED_MORE;
    }
    if (!head_is_tchar(byte))
        return chunked_bad(c, 400);
    if (c->name_len < CHUNKED_NAME_CAP)
        c->name[c->name_len] = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
    c->name_len++;
    return CHUNKED_MORE;
}

static enum chunked_result chunked_line_start(struct chunked *c, uint8_t byte)
{
    if (byte == '\r') {
        c->state = CHUNKED_LAST_LF;
        return CHUNKED_MORE;
    }
    if (byte == ':')
        return chunked_bad(c, 400);
    if (c->fields == LIMIT_FIELDS)
        return chunked_bad(c, 431);
    c->fields++;
    c->name_len = 0;
    c->state = CHUNKED_TRAILER_NAME;
    return chunked_name(c, byte);
}

static enum chunked_result chunked_value(struct chunked *c, uint8_t byte)
{
    if (byte == '\r') {
        c->state = CHUNKED_TRAILER_LF;
        return CHUNKED_MORE;
    }
    return head_is_text(byte) ? CHUNKED_MORE : chunked_bad(c, 400);
}

static enum chunked_result chunked_expect(struct chunked *c, uint8_t byte, uint8_t want,
                                          enum chunked_state next)
{
    if (byte != want)
        return chunked_bad(c, 400);
    c->state = next;
    return CHUNKED_MORE;
}

static enum chunked_result chunked_trailer(struct chunked *c, uint8_t byte)
{
    if (++c->trailer > LIMIT_TRAILER_BYTES)
        return chunked_bad(c, 431);
    if (c->state == CHUNKED_TRAILER)
        return chunked_line_start(c, byte);
    if (c->state == CHUNKED_TRAILER_NAME)
        return chunked_name(c, byte);
    if (c->state == CHUNKED_TRAILER_VALUE)
        return chunked_value(c, byte);
    return chunked_expect(c, byte, '\n', CHUNKED_TRAILER);
}

/* One byte of framing. */
static enum chunked_result chunked_byte(struct chunked *c, uint8_t byte)
{
    switch (c->state) {
    case CHUNKED_SIZE: return chunked_size(c, byte);
    case CHUNKED_EXT: return chunked_ext(c, byte);
    case CHUNKED_SIZE_LF: return byte == '\n' ? chunked_begin(c) : chunked_bad(c, 400);
    case CHUNKED_DATA_CR: return chunked_expect(c, byte, '\r', CHUNKED_DATA_LF);
    case CHUNKED_DATA_LF: return chunked_expect(c, byte, '\n', CHUNKED_SIZE);
    case CHUNKED_TRAILER:
    case CHUNKED_TRAILER_NAME:
    case CHUNKED_TRAILER_VALUE:
    case CHUNKED_TRAILER_LF: return chunked_trailer(c, byte);
    case CHUNKED_LAST_LF: return byte == '\n' ? CHUNKED_DONE : chunked_bad(c, 400);
    case CHUNKED_DATA: break; /* taken in one piece by chunked_feed() */
    }
    return chunked_bad(c, 400);
}

enum chunked_result chunked_feed(struct chunked *c, const uint8_t *bytes, size_t len, size_t *used)
{
    size_t i = 0;
    enum chunked_result result = CHUNKED_MORE;
    while (i < len && result == CHUNKED_MORE) {
        if (c->state == CHUNKED_DATA) {
            size_t n = len - i < c->left ? len - i : (size_t)c->left;
            i += n;
            c->left -= n;
            c->body += n;
            c->total += n;
            if (c->left == 0)
                c->state = CHUNKED_DATA_CR;
            continue;
        }
        c->total++;
        result = chunked_byte(c, bytes[i++]);
    }
    *used = i;
    return result;
}
