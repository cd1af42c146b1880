/* See authority.h. */
#include "authority.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* What a byte may be.  Every request names a host: a table reads it in one step for each byte. */
enum { BYTE_HOST = 1, BYTE_HEX = 2, BYTE_DIGIT = 4 };

#define H BYTE_HOST
#define X (BYTE_HOST | BYTE_HEX)
#define D (BYTE_HOST | BYTE_HEX | BYTE_DIGIT)

/*
 * Of a host: unreserved and sub-delims (RFC 3986 2.2, 2.3) but the comma: two Host fields that
 * somebody joined must not look like one.
 */
/* clang-format off */
static const uint8_t byte_is[256] = {
    ['!'] = H, ['$'] = H, ['&'] = H, ['\''] = H, ['('] = H, [')'] = H, ['*'] = H, ['+'] = H,
    ['-'] = H, ['.'] = H, [';'] = H, ['='] = H, ['_'] = H, ['~'] = H,
    ['0'] = D, ['1'] = D, ['2'] = D, ['3'] = D, ['4'] = D, ['5'] = D, ['6'] = D, ['7'] = D,
    ['8'] = D, ['9'] = D,
    ['A'] = X, ['B'] = X, ['C'] = X, ['D'] = X, ['E'] = X, ['F'] = X, ['G'] = H, ['H'] = H,
    ['I'] = H, ['J'] = H, ['K'] = H, ['L'] = H, ['M'] = H, ['N'] = H, ['O'] = H, ['P'] = H,
    ['Q'] = H, ['R'] = H, ['S'] = H, ['T'] = H, ['U'] = H, ['V'] = H, ['W'] = H, ['X'] = H,
    ['Y'] = H, ['Z'] = H,
    ['a'] = X, ['b'] = X, ['c'] = X, ['d'] = X, ['e'] = X, ['f'] = X, ['g'] = H, ['h'] = H,
    ['i'] = H, ['j'] = H, ['k'] = H, ['l'] = H, ['m'] = H, ['n'] = H, ['o'] = H, ['p'] = H,
    ['q'] = H, ['r'] = H, ['s'] = H, ['t'] = H, ['u'] = H, ['v'] = H, ['w'] = H, ['x'] = H,
    ['y'] = H, ['z'] = H,
};
/* clang-format on */

static bool is_a(uint8_t kind, char c)
{
    return (byte_is[(uint8_t)c] & kind) != 0;
}

/* The length of the host that a starts with; 0 when there is none. */
static size_t host_len(struct weir_str a)
{
    size_t i = 0;
    if (a.len > 0 && a.ptr[0] == '[') { /* IP-literal */
        for (i = 1; i < a.len && (is_a(BYTE_HEX, a.ptr[i]) || a.ptr[i] == ':' || a.ptr[i] == '.');)
            i++;
        return i > 1 && i < a.len && a.ptr[i] == ']' ? i + 1 : 0;
    }
    while (i < a.len) {
        if (is_a(BYTE_HOST, a.ptr[i])) {
            i++;
            continue;
        }
        if (a.ptr[i] != '%')
            break;
        if (a.len - i < 3 || !is_a(BYTE_HEX, a.ptr[i + 1]) || !is_a(BYTE_HEX, a.ptr[i + 2]))
            return 0;
        i += 3;
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
        if (!is_a(BYTE_DIGIT, a.ptr[i]))
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
