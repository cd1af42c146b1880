/* See target.h. */
#include "target.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "authority.h"

static const struct weir_str scheme_http = WEIR_STR_INIT("http");
static const struct weir_str scheme_https = WEIR_STR_INIT("https");

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
