/*
 * The digest of content: pieces make no difference.  Input: the length of a piece, then the bytes.
 * Covers: server/http/files/digest.c
 */
#include "fuzz.h"

#include "digest.h"
#include "internal/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0)
        return 0;
    size_t piece = (size_t)data[0] + 1;
    struct digest whole;
    struct digest pieces;
    uint64_t want[2];
    uint64_t got[2];
    digest_init(&whole);
    digest_init(&pieces);
    digest_feed(&whole, data, len);
    for (size_t at = 0; at < len; at += piece)
        digest_feed(&pieces, data + at, len - at < piece ? len - at : piece);
    digest_finish(&whole, want);
    digest_finish(&pieces, got);
    WEIR_ASSERT(want[0] == got[0] && want[1] == got[1]);
    return 0;
}
