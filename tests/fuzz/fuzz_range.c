/*
 * Byte ranges: what is given lies within the size, in order and apart.  Input: 8 bytes of size,
 * then the field. Covers: server/http/files/range.c
 */
#include "fuzz.h"

#include <string.h>

#include "internal/assert.h"
#include "range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    uint64_t size;
    if (len < sizeof(size))
        return 0;
    memcpy(&size, data, sizeof(size));
    size >>= 8; /* within what a file can be */
    struct weir_str value = {(const char *)data + sizeof(size), len - sizeof(size)};
    struct range ranges[RANGES_MAX];
    size_t count;
    if (range_parse(value, size, ranges, &count) != RANGE_PARTS)
        return 0;
    WEIR_ASSERT(count >= 1 && count <= RANGES_MAX);
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        WEIR_ASSERT(ranges[i].len > 0 && ranges[i].len <= size);
        WEIR_ASSERT(ranges[i].first <= size - ranges[i].len);
        WEIR_ASSERT(i == 0 || ranges[i].first >= end + RANGE_GAP_MIN);
        end = ranges[i].first + ranges[i].len;
    }
    return 0;
}
