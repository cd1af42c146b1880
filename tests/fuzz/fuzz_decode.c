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
#include "mem.h"
#include "root.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct mem *mem;
    static struct stats stats;
    struct root root = {.fd = -1, .stats = &stats};
    if (mem == NULL) {
        log_set_level(LV_ERROR);
        WEIR_ASSERT(mem_new((size_t)16 * 1024 * 1024, &mem) == WEIR_OK);
    }
    if (len == 0)
        return 0;
    const struct file_env env = {.mem = mem, .root = &root};
    const struct file packed = {
        .buf = {.refs = 1, .base = (uint8_t *)(uintptr_t)(data + 1), .cap = len - 1},
        .size = len - 1,
        .id = {.mtime = {.tv_sec = 1700000000}},
    };
    struct file *made;
    static const enum coding codings[] = {CODING_GZIP, CODING_BR, CODING_ZSTD};
    enum coding coding = codings[data[0] % 3];
    unsigned status = decode_open(&env, &packed, coding, &made);
    WEIR_ASSERT((status == 0) == (made != NULL));
    WEIR_ASSERT(made == NULL || made->size <= DECODE_LEN_MAX);
    file_unref(&made);
    WEIR_ASSERT(mem_live(mem) == 0);
    return 0;
}
