/* See sniff.h. */
#include "sniff.h"

#include <string.h>

enum sniff sniff(const uint8_t *bytes, size_t len)
{
    size_t known = len < SNIFF_PREFACE_LEN ? len : SNIFF_PREFACE_LEN;
    if (known > 0 && memcmp(bytes, SNIFF_PREFACE, known) != 0)
        return SNIFF_HTTP1;
    return known == SNIFF_PREFACE_LEN ? SNIFF_H2 : SNIFF_MORE;
}
