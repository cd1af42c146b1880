/* See message.h. */
#include "message.h"

#include "authority.h"

#define BIT MESSAGE_BIT

/* Pseudo-header fields come first, once, and not in trailers. */
#define PSEUDO(kind)                                                                               \
    {                                                                                              \
        BIT(kind) | BIT(FIELD_ORDINARY), BIT(kind)                                                 \
    }
#define ONCE(kind)                                                                                 \
    {                                                                                              \
        BIT(kind) | MESSAGE_TRAILERS, BIT(kind) | BIT(FIELD_ORDINARY)                              \
    }

const struct message_rule message_rules[FIELD_KINDS] = {
    [FIELD_ORDINARY] = {0, BIT(FIELD_ORDINARY)}, [FIELD_METHOD] = PSEUDO(FIELD_METHOD),
    [FIELD_SCHEME] = PSEUDO(FIELD_SCHEME),       [FIELD_AUTHORITY] = PSEUDO(FIELD_AUTHORITY),
    [FIELD_PATH] = PSEUDO(FIELD_PATH),           [FIELD_HOST] = ONCE(FIELD_HOST),
    [FIELD_LENGTH] = ONCE(FIELD_LENGTH),         [FIELD_PRIORITY] = {0, BIT(FIELD_ORDINARY)},
    [FIELD_TE] = {0, BIT(FIELD_ORDINARY)},       [FIELD_MALFORMED] = {MESSAGE_BEGUN, 0},
};

void message_set_length(struct message *m, struct weir_str value)
{
    m->length = 0;
    for (size_t i = 0; i < value.len; i++)
        m->length = m->length * 10 + (uint64_t)(value.ptr[i] - '0');
}

static bool is_lower_case_of(struct weir_str s, struct weir_str lower)
{
    if (s.len != lower.len)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if ((s.ptr[i] | 0x20) != lower.ptr[i])
            return false;
    }
    return true;
}

/* What the :path of these schemes may be (RFC 9113 8.3.1). */
static bool is_http(struct weir_str scheme)
{
    return is_lower_case_of(scheme, WEIR_STR("http")) ||
           is_lower_case_of(scheme, WEIR_STR("https"));
}

static bool has_right_path(const struct weir_request *r)
{
    if (r->path.ptr[0] == '/' || !is_http(r->scheme))
        return true;
    return weir_str_eq(r->path, WEIR_STR("*")) && weir_str_eq(r->method, WEIR_STR("OPTIONS"));
}

/*
 * RFC 9113 8.3.1: they name the same, whichever of the two somebody in front of us went by.  One
 * that is beyond what a request may have is not kept, and not asked for.
 */
static bool has_one_host(const struct message *m, const struct weir_request *r)
{
    if ((m->seen & BIT(FIELD_AUTHORITY)) == 0 || m->host.len == 0)
        return true;
    bool is_tls = is_lower_case_of(r->scheme, WEIR_STR("https"));
    return authority_is_same(r->authority, m->host, is_tls ? WEIR_STR("443") : WEIR_STR("80"));
}

bool message_end_fields(struct message *m, const struct weir_request *r)
{
    const uint32_t all = BIT(FIELD_METHOD) | BIT(FIELD_SCHEME) | BIT(FIELD_PATH);
    if (weir_str_eq(r->method, WEIR_STR("CONNECT"))) {
        m->seen |= MESSAGE_CONNECT;
        return (m->seen & (all | BIT(FIELD_AUTHORITY))) ==
               (BIT(FIELD_METHOD) | BIT(FIELD_AUTHORITY));
    }
    return (m->seen & all) == all && (m->seen & (BIT(FIELD_AUTHORITY) | BIT(FIELD_HOST))) != 0 &&
           has_right_path(r) && has_one_host(m, r);
}

void message_begin_trailers(struct message *m)
{
    m->seen |= BIT(FIELD_ORDINARY) | MESSAGE_TRAILERS;
}

/* It has a content-length that counts. */
static bool has_length(const struct message *m)
{
    return (m->seen & (BIT(FIELD_LENGTH) | MESSAGE_CONNECT)) == BIT(FIELD_LENGTH);
}

bool message_take_body(struct message *m, size_t len)
{
    m->received += len;
    return !has_length(m) || m->received <= m->length;
}

bool message_end(const struct message *m)
{
    return !has_length(m) || m->received == m->length;
}
