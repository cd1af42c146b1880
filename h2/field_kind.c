/* See field_kind.h. */
#include "field_kind.h"

#include <stdbool.h>

#include "authority.h"

/* Where a character may stand. */
enum {
    IN_VALUE = 1,  /* RFC 9113 8.2.1 */
    IN_PATH = 2,   /* visible, or beyond ASCII */
    IN_SCHEME = 4, /* RFC 3986 3.1 */
    IN_METHOD = 8, /* RFC 9110 5.6.2: a token */
    IN_NAME = 16,  /* the same, in lower case */
    BEYOND_ASCII = IN_VALUE | IN_PATH,
};

/* The sums of these, for ASCII. */
static const uint8_t places[128] = {
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x01, 0x1b, 0x03, 0x1b, 0x1b, 0x1b, 0x1b, 0x1b, 0x03, 0x03, 0x1b, 0x1f, 0x03, 0x1f, 0x1f, 0x03,
    0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x03, 0x03, 0x03, 0x03, 0x03, 0x03,
    0x03, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f,
    0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x0f, 0x03, 0x03, 0x03, 0x1b, 0x1b,
    0x1b, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f,
    0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x1f, 0x03, 0x1b, 0x03, 0x1b, 0x00,
};

static bool is_made_of(struct weir_str s, unsigned place)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (((c < sizeof(places) ? places[c] : BEYOND_ASCII) & place) == 0)
            return false;
    }
    return true;
}

/* ---- names ---- */

struct known_name {
    struct weir_str name;
    enum field_kind kind;
};

static const struct known_name known_names[] = {
    {WEIR_STR_INIT(":method"), FIELD_METHOD},
    {WEIR_STR_INIT(":scheme"), FIELD_SCHEME},
    {WEIR_STR_INIT(":authority"), FIELD_AUTHORITY},
    {WEIR_STR_INIT(":path"), FIELD_PATH},
    {WEIR_STR_INIT("host"), FIELD_HOST},
    {WEIR_STR_INIT("content-length"), FIELD_LENGTH},
    {WEIR_STR_INIT("priority"), FIELD_PRIORITY},
    {WEIR_STR_INIT("te"), FIELD_TE},
    /* of a connection, not of a message (RFC 9113 8.2.2) */
    {WEIR_STR_INIT("connection"), FIELD_MALFORMED},
    {WEIR_STR_INIT("keep-alive"), FIELD_MALFORMED},
    {WEIR_STR_INIT("proxy-connection"), FIELD_MALFORMED},
    {WEIR_STR_INIT("transfer-encoding"), FIELD_MALFORMED},
    {WEIR_STR_INIT("upgrade"), FIELD_MALFORMED},
};

enum field_kind field_kind_of_name(struct weir_str name)
{
    if (name.len == 0)
        return FIELD_MALFORMED;
    for (size_t i = 0; i < sizeof(known_names) / sizeof(known_names[0]); i++) {
        if (weir_str_eq(name, known_names[i].name))
            return known_names[i].kind;
    }
    /* ':' is in no name, so that pseudo-header fields that are not known end here. */
    return is_made_of(name, IN_NAME) ? FIELD_ORDINARY : FIELD_MALFORMED;
}

/* ---- values ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* RFC 9113 8.2.1: neither starts nor ends with white space. */
static bool is_value(struct weir_str s)
{
    return s.len == 0 ||
           (!is_blank(s.ptr[0]) && !is_blank(s.ptr[s.len - 1]) && is_made_of(s, IN_VALUE));
}

/* One thing of a request's own: there, and made of what it may be. */
static bool is_part(struct weir_str s, unsigned place)
{
    return s.len > 0 && is_made_of(s, place);
}

static bool is_scheme(struct weir_str s)
{
    return is_part(s, IN_SCHEME) && ((s.ptr[0] | 0x20) >= 'a' && (s.ptr[0] | 0x20) <= 'z');
}

/* RFC 9110 8.6, and no more than a count of bytes can be. */
static bool is_length(struct weir_str s)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9' || n > (INT64_MAX - 9) / 10)
            return false;
        n = n * 10 + (uint64_t)(s.ptr[i] - '0');
    }
    return s.len > 0;
}

/* RFC 9113 8.2.2; the case of a coding's name is no matter (RFC 9110 10.1.4). */
static bool is_te(struct weir_str s)
{
    static const char trailers[] = "trailers";
    if (s.len != sizeof(trailers) - 1)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if ((s.ptr[i] | 0x20) != trailers[i])
            return false;
    }
    return true;
}

enum field_kind field_kind_of(enum field_kind name, struct weir_str value)
{
    bool is_right = false;
    switch (name) {
    case FIELD_METHOD: is_right = is_part(value, IN_METHOD); break;
    case FIELD_SCHEME: is_right = is_scheme(value); break;
    case FIELD_AUTHORITY:
    case FIELD_HOST: is_right = authority_is_valid(value); break;
    case FIELD_PATH: is_right = is_part(value, IN_PATH); break;
    case FIELD_LENGTH: is_right = is_length(value); break;
    case FIELD_TE: return is_te(value) ? FIELD_ORDINARY : FIELD_MALFORMED;
    case FIELD_ORDINARY:
    case FIELD_PRIORITY: is_right = is_value(value); break;
    case FIELD_MALFORMED:
    case FIELD_KINDS: break;
    }
    return is_right ? name : FIELD_MALFORMED;
}
