/* See authority.h. */
#include "authority.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

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
