/*
 * Files that are there compressed alone.  Input: the coding, then the bytes.  Whatever they are, a
 * file of bounded length comes out, or none; nothing is left behind.
 * Covers: server/http/files/decode.c
 */
#include "fuzz.h"

#include "decode.h"
#include "internal/assert.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "look.h"
#include "root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct stats stats;
    struct root root = {.fd = -1, .stats = &stats};
    log_set_level(LV_ERROR);
    if (len == 0)
        return 0;
    static uint8_t bytes[LIMIT_SNAPSHOT_LEN];
    const struct file packed = {
        .buf = {.refs = 1, .base = (uint8_t *)(uintptr_t)(data + 1), .cap = len - 1},
        .id = {.size = len - 1, .mtime_s = 1700000000},
    };
    struct found found;
    static const enum coding codings[] = {CODING_GZIP, CODING_BR, CODING_ZSTD};
    enum coding coding = codings[data[0] % 3];
    unsigned status = decode_run(&root, &packed, coding, bytes, &found);
    WEIR_ASSERT(status == found.status);
    WEIR_ASSERT(status != 0 || (uint64_t)found.st.st_size <= LIMIT_DECODED_LEN);
    WEIR_ASSERT(status == 0 || found.fd == -1);
    root_close_file(&root, found.fd);
    return 0;
}
