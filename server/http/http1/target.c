/* See target.h. */
#include "target.h"

#include <stdint.h>
#include <strings.h>

static const struct weir_str scheme_http = WEIR_STR_INIT("http");
static const struct weir_str scheme_https = WEIR_STR_INIT("https");

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/*
 * unreserved and sub-delims (RFC 3986 2.2, 2.3) but the comma: two Host fields that somebody
 * joined must not look like one.
 */
static bool is_host_char(char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || is_digit(c) || (c != '\0' && strchr("-._~!$&'()*+;=", c) != NULL);
}

/* The length of the host that a starts with; 0 when there is none. */
static size_t host_len(struct weir_str a)
{
    size_t i = 0;
    if (a.len > 0 && a.ptr[0] == '[') { /* IP-literal */
        for (i = 1; i < a.len && (is_hex(a.ptr[i]) || a.ptr[i] == ':' || a.ptr[i] == '.');)
            i++;
        return i > 1 && i < a.len && a.ptr[i] == ']' ? i + 1 : 0;
    }
    while (i < a.len) {
        if (a.ptr[i] == '%') {
            if (a.len - i < 3 || !is_hex(a.ptr[i + 1]) || !is_hex(a.ptr[i + 2]))
                return 0;
            i += 3;
        } else if (is_host_char(a.ptr[i])) {
            i++;
        } else {
            break;
        }
    }
    return i;
}

bool authority_is_valid(struct weir_str a)
{
    size_t i = host_len(a);
    if (i == 0)
        return false;
    if (i == a.len)
        return true;
    if (a.ptr[i] != ':')
        return false;
    uint32_t port = 0;
    for (i++; i < a.len; i++) {
        if (!is_digit(a.ptr[i]))
            return false;
        port = port * 10 + (uint32_t)(a.ptr[i] - '0');
        if (port > UINT16_MAX)
            return false;
    }
    return true;
}

/* a without its port if that is the default one or empty. */
static struct weir_str authority_trim(struct weir_str a, struct weir_str default_port)
{
    size_t host = host_len(a);
    if (host == a.len)
        return a;
    struct weir_str port = {a.ptr + host + 1, a.len - host - 1};
    if (port.len == 0 || weir_str_eq(port, default_port))
        a.len = host;
    return a;
}

bool authority_is_same(struct weir_str a, struct weir_str b, struct weir_str default_port)
{
    a = authority_trim(a, default_port);
    b = authority_trim(b, default_port);
    return a.len == b.len && strncasecmp(a.ptr, b.ptr, a.len) == 0;
}

/* True, and the prefix is cut off, if target starts with `scheme` and "://". */
static bool target_skip_scheme(struct weir_str *target, struct weir_str scheme)
{
    size_t len = scheme.len + 3;
    if (target->len < len || strncasecmp(target->ptr, scheme.ptr, scheme.len) != 0 ||
        memcmp(target->ptr + scheme.len, "://", 3) != 0)
        return false;
    target->ptr += len;
    target->len -= len;
    return true;
}

/*
 * absolute-form: its authority counts, and must not contradict Host.
 * RFC 9110 7.4: a request for an https resource is rejected unless it came over TLS.
 */
static unsigned target_absolute(struct weir_request *r, struct weir_str rest, struct weir_str host,
                                struct weir_str default_port)
{
    size_t end = 0;
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
        end++;
    struct weir_str authority = {rest.ptr, end};
    if (!authority_is_valid(authority))
        return 400;
    if (host.len > 0 && !authority_is_same(authority, host, default_port))
        return 400;

    struct weir_str path = {rest.ptr + end, rest.len - end};
    if (path.len == 0) {
        path = WEIR_STR("/");
    } else if (path.ptr[0] == '?') {
        /* RFC 9110 4.2.3: an empty path is "/".  The slash before the authority makes room. */
        char *slash = (char *)(uintptr_t)authority.ptr - 1;
        memmove(slash, authority.ptr, authority.len);
        slash[authority.len] = '/';
        authority.ptr = slash;
        path = (struct weir_str){slash + authority.len, path.len + 1};
    }
    r->authority = authority;
    r->path = path;
    return 0;
}

unsigned target_parse(struct weir_request *r, struct weir_str target, struct weir_str authority,
                      bool is_tls)
{
    r->scheme = is_tls ? scheme_https : scheme_http;
    r->authority = authority;
    r->path = target;
    if (target.ptr[0] == '/')
        return 0;
    if (weir_str_eq(target, WEIR_STR("*")))
        return weir_str_eq(r->method, WEIR_STR("OPTIONS")) ? 0 : 400;
    if (target_skip_scheme(&target, scheme_https)) {
        r->scheme = scheme_https;
        return is_tls ? target_absolute(r, target, authority, WEIR_STR("443")) : 421;
    }
    if (target_skip_scheme(&target, scheme_http)) {
        r->scheme = scheme_http;
        return target_absolute(r, target, authority, WEIR_STR("80"));
    }
    return 400;
}
