/* Test vectors as they are printed. */
#ifndef TESTS_TLS_HEX_H
#define TESTS_TLS_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct hex {
    uint8_t bytes[256];
    size_t len;
};

static inline struct hex hex_read(const char *text)
{
    struct hex h = {.len = 0};
    for (; text[0] != '\0' && h.len < sizeof(h.bytes); text += 2) {
        char digits[3] = {text[0], text[1], '\0'};
        h.bytes[h.len++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return h;
}

#endif
