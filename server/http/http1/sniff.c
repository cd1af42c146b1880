/* See sniff.h. */
#include "sniff.h"

#include <string.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define PREFACE_LEN (sizeof(PREFACE) - 1)

enum sniff sniff(const uint8_t *bytes, size_t len)
{
    size_t known = len < PREFACE_LEN ? len : PREFACE_LEN;
    if (known > 0 && memcmp(bytes, PREFACE, known) != 0)
        return SNIFF_HTTP1;
    return known == PREFACE_LEN ? SNIFF_H2 : SNIFF_MORE;
}
