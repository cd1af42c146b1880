/* See head_scan.h. */
#include "head_scan.h"

#include <string.h>

#include "internal/limits.h"

/* What a byte may be.  Values below 4 are classes; a tchar maps to its lower-case form. */
enum { CLASS_NONE, CLASS_VCHAR, CLASS_BLANK, CLASS_OBS };

#define SAME4(c) c, c, c, c
#define SAME16(c) SAME4(c), SAME4(c), SAME4(c), SAME4(c)
#define V CLASS_VCHAR

/* clang-format off */
static const uint8_t class_of[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, CLASS_BLANK, 0, 0, 0, 0, 0, 0,
    SAME16(0),
    CLASS_BLANK, '!', V, '#', '$', '%', '&', '\'', V, V, '*', '+', V, '-', '.', V,
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', V, V, V, V, V, V,
    V, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', V, V, V, '^', '_',
    '`', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', V, '|', V, '~', 0,
    SAME16(CLASS_OBS), SAME16(CLASS_OBS), SAME16(CLASS_OBS), SAME16(CLASS_OBS),
    SAME16(CLASS_OBS), SAME16(CLASS_OBS), SAME16(CLASS_OBS), SAME16(CLASS_OBS),
};
/* clang-format on */

bool head_is_tchar(uint8_t c)
{
    return class_of[c] > CLASS_OBS;
}

bool head_is_text(uint8_t c)
{
    return class_of[c] != CLASS_NONE;
}

#define EACH_BYTE(b) (0x0101010101010101U * (b))

/*
 * True if none of eight bytes is a control character: a byte below 0x20 borrows from its high bit,
 * and so does one that is 0x7f once that is taken to be zero.  HTAB is suspected as well.
 */
static bool word_is_text(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    uint64_t del = word ^ EACH_BYTE(0x7fU);
    uint64_t low = (word - EACH_BYTE(0x20U)) & ~word;
    uint64_t is_del = (del - EACH_BYTE(1U)) & ~del;
    return ((low | is_del) & EACH_BYTE(0x80U)) == 0;
}

size_t head_text_len(const uint8_t *bytes, size_t len)
{
    size_t i = 0;
    while (i < len) {
        if (len - i >= sizeof(uint64_t) && word_is_text(bytes + i)) {
            i += sizeof(uint64_t);
            continue;
        }
        size_t end = len - i < sizeof(uint64_t) ? len : i + sizeof(uint64_t);
        for (; i < end; i++) {
            if (!head_is_text(bytes[i]))
                return i;
        }
    }
    return len;
}

static enum head_result head_bad(struct head_scan *scan, uint16_t status)
{
    scan->status = status;
    return HEAD_BAD;
}

static enum head_result head_start(struct head_scan *scan, const uint8_t *bytes)
{
    if (bytes[scan->pos] == '\r' && !scan->had_empty_line) {
        scan->had_empty_line = true;
        scan->state = HEAD_START_LF;
        scan->pos++;
        return HEAD_MORE;
    }
    scan->start = scan->pos;
    scan->state = HEAD_METHOD;
    return HEAD_MORE;
}

static enum head_result head_method(struct head_scan *scan, const uint8_t *bytes, size_t len)
{
    while (scan->pos < len && head_is_tchar(bytes[scan->pos])) {
        scan->pos++;
        if (scan->pos - scan->start > LIMIT_METHOD_LEN)
            return head_bad(scan, 501);
    }
    if (scan->pos == len)
        return HEAD_MORE;
    if (bytes[scan->pos] != ' ' || scan->pos == scan->start)
        return head_bad(scan, 400);
    scan->method_len = scan->pos - scan->start;
    scan->mark = ++scan->pos;
    scan->state = HEAD_TARGET;
    return HEAD_MORE;
}

static enum head_result head_target(struct head_scan *scan, const uint8_t *bytes, size_t len)
{
    for (; scan->pos < len; scan->pos++) {
        uint8_t c = bytes[scan->pos];
        if (c <= ' ' || c >= 0x7f || c == '#')
            break;
        if (scan->pos - scan->mark == LIMIT_PATH_LEN)
            return head_bad(scan, 414);
    }
    if (scan->pos == len)
        return HEAD_MORE;
    if (bytes[scan->pos] != ' ' || scan->pos == scan->mark)
        return head_bad(scan, 400);
    scan->mark = ++scan->pos;
    scan->state = HEAD_VERSION;
    return HEAD_MORE;
}

/* "HTTP/1.1" or "HTTP/1.0" and CR, all of which is here: nearly every request. */
static bool version_is_usual(const uint8_t *bytes, size_t len)
{
    return len >= sizeof("HTTP/1.1") && memcmp(bytes, "HTTP/1.", 7) == 0 &&
           (bytes[7] == '1' || bytes[7] == '0') && bytes[8] == '\r';
}

/* RFC 9112 2.3: HTTP-version is "HTTP/" DIGIT "." DIGIT, case-sensitive. */
static enum head_result head_version(struct head_scan *scan, const uint8_t *bytes, size_t len)
{
    static const char shape[] = "HTTP/0.0\r";
    if (scan->pos == scan->mark && version_is_usual(bytes + scan->pos, len - scan->pos)) {
        scan->pos += sizeof("HTTP/1.1");
        scan->state = HEAD_LINE_LF;
        return HEAD_MORE;
    }
    while (scan->pos < len) {
        uint8_t c = bytes[scan->pos];
        char want = shape[scan->pos - scan->mark];
        bool fits = want == '0' ? c >= '0' && c <= '9' : c == (uint8_t)want;
        if (!fits)
            return head_bad(scan, 400);
        scan->pos++;
        if (want != '\r')
            continue;
        const uint8_t *version = bytes + scan->mark;
        if (version[5] != '1' || version[7] > '1')
            return head_bad(scan, 505);
        scan->state = HEAD_LINE_LF;
        return HEAD_MORE;
    }
    return HEAD_MORE;
}

/* The single byte that a state expects before it goes on to the next. */
static enum head_result head_expect_lf(struct head_scan *scan, const uint8_t *bytes,
                                       enum head_state next)
{
    if (bytes[scan->pos] != '\n')
        return head_bad(scan, 400);
    scan->pos++;
    scan->state = next;
    return HEAD_MORE;
}

static enum head_result head_line_start(struct head_scan *scan, const uint8_t *bytes)
{
    if (bytes[scan->pos] == '\r') {
        scan->pos++;
        scan->state = HEAD_LAST_LF;
        return HEAD_MORE;
    }
    if (!head_is_tchar(bytes[scan->pos]))
        return head_bad(scan, 400); /* a fold, an empty name, a bare LF, junk */
    if (scan->fields == LIMIT_FIELDS)
        return head_bad(scan, 431);
    scan->fields++;
    scan->mark = scan->pos;
    scan->state = HEAD_NAME;
    return HEAD_MORE;
}

static enum head_result head_name(struct head_scan *scan, uint8_t *bytes, size_t len)
{
    size_t stop = scan->mark + LIMIT_FIELD_LINE;
    size_t end = len < stop ? len : stop;
    size_t i = scan->pos;
    while (i < end && head_is_tchar(bytes[i])) {
        bytes[i] = class_of[bytes[i]];
        i++;
    }
    scan->pos = i;
    if (i == len)
        return HEAD_MORE;
    if (i == stop)
        return head_bad(scan, 431);
    if (bytes[i] != ':')
        return head_bad(scan, 400);
    scan->pos++;
    scan->state = HEAD_VALUE;
    return HEAD_MORE;
}

static enum head_result head_value(struct head_scan *scan, const uint8_t *bytes, size_t len)
{
    size_t stop = scan->mark + LIMIT_FIELD_LINE;
    size_t end = len < stop ? len : stop;
    size_t i = scan->pos + head_text_len(bytes + scan->pos, end - scan->pos);
    scan->pos = i;
    if (i == len)
        return HEAD_MORE;
    if (bytes[i] != '\r')
        return head_bad(scan, i == stop && head_is_text(bytes[i]) ? 431 : 400);
    scan->pos++;
    scan->state = HEAD_LINE_LF;
    return HEAD_MORE;
}

/* One step: at least one byte, or a change of state. */
static enum head_result head_step(struct head_scan *scan, uint8_t *bytes, size_t len)
{
    switch (scan->state) {
    case HEAD_START: return head_start(scan, bytes);
    case HEAD_START_LF: return head_expect_lf(scan, bytes, HEAD_START);
    case HEAD_METHOD: return head_method(scan, bytes, len);
    case HEAD_TARGET: return head_target(scan, bytes, len);
    case HEAD_VERSION: return head_version(scan, bytes, len);
    case HEAD_LINE_LF: return head_expect_lf(scan, bytes, HEAD_LINE_START);
    case HEAD_LINE_START: return head_line_start(scan, bytes);
    case HEAD_NAME: return head_name(scan, bytes, len);
    case HEAD_VALUE: return head_value(scan, bytes, len);
    case HEAD_LAST_LF:
        if (bytes[scan->pos] != '\n')
            return head_bad(scan, 400);
        scan->pos++;
        return HEAD_DONE;
    }
    return head_bad(scan, 400);
}

enum head_result head_scan(struct head_scan *scan, uint8_t *bytes, size_t len)
{
    size_t end = len < LIMIT_HEAD_BYTES ? len : LIMIT_HEAD_BYTES;
    while (scan->pos < end) {
        enum head_result result = head_step(scan, bytes, end);
        if (result != HEAD_MORE)
            return result;
    }
    return scan->pos == LIMIT_HEAD_BYTES ? head_bad(scan, 431) : HEAD_MORE;
}
