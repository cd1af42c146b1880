/* See decode.h. */
#include "decode.h"

#include <brotli/decode.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "look.h"
#include "map_guard.h"
#include "root.h"

#define CHUNK 65536

/* Bytes of history that a zstd file may ask for, as a power of two (RFC 9659 3). */
#define ZSTD_WINDOW_LOG 23

/* zlib's way to say: a gzip head is expected, with the largest window. */
#define GZIP_WINDOW_BITS (15 + 16)

/* Where decoded bytes go. */
struct sink {
    struct stats *stats; /* Borrowed */
    int fd;
    uint64_t len;    /* bytes written */
    unsigned status; /* why it takes no more, if that is so */
};

/* False: they cannot be written, or are too many. */
static bool sink_write(struct sink *s, const uint8_t *bytes, size_t len)
{
    if (len > LIMIT_DECODED_LEN - s->len) {
        s->status = 413;
        return false;
    }
    s->len += len;
    while (len > 0) {
        s->stats->calls.write++;
        ssize_t n = write(s->fd, bytes, len);
        if (n == -1 && errno != EINTR) {
            s->status = 503;
            return false;
        }
        bytes += n == -1 ? 0 : n;
        len -= n == -1 ? 0 : (size_t)n;
    }
    return true;
}

/* A gzip file may hold several members, one behind the other (RFC 1952 2.2). */
static bool gzip_decode(struct weir_str in, struct sink *s)
{
    uint8_t chunk[CHUNK];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.ptr, .avail_in = (uInt)in.len};
    if (inflateInit2(&z, GZIP_WINDOW_BITS) != Z_OK) {
        s->status = 503;
        return false;
    }
    int rv = Z_OK;
    bool ok = true;
    while (ok && rv == Z_OK) {
        z.next_out = chunk;
        z.avail_out = sizeof(chunk);
        rv = inflate(&z, Z_NO_FLUSH);
        ok =
            (rv == Z_OK || rv == Z_STREAM_END) && sink_write(s, chunk, sizeof(chunk) - z.avail_out);
        if (rv == Z_STREAM_END && z.avail_in > 0)
            rv = inflateReset(&z);
    }
    inflateEnd(&z);
    return ok && rv == Z_STREAM_END;
}

static bool brotli_decode(struct weir_str in, struct sink *s)
{
    uint8_t chunk[CHUNK];
    const uint8_t *next_in = (const uint8_t *)in.ptr;
    BrotliDecoderState *state = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    if (state == NULL) {
        s->status = 503;
        return false;
    }
    BrotliDecoderResult rv = BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT;
    bool ok = true;
    while (ok && rv == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) {
        uint8_t *next_out = chunk;
        size_t left = sizeof(chunk);
        rv = BrotliDecoderDecompressStream(state, &in.len, &next_in, &left, &next_out, NULL);
        ok = sink_write(s, chunk, sizeof(chunk) - left);
    }
    BrotliDecoderDestroyInstance(state);
    return ok && rv == BROTLI_DECODER_RESULT_SUCCESS;
}

/* A zstd file may hold several frames, one behind the other (RFC 8878 3). */
static bool zstd_decode(struct weir_str in, struct sink *s)
{
    uint8_t chunk[CHUNK];
    ZSTD_inBuffer source = {in.ptr, in.len, 0};
    ZSTD_outBuffer target = {chunk, sizeof(chunk), 0};
    ZSTD_DCtx *state = ZSTD_createDCtx();
    if (state == NULL) {
        s->status = 503;
        return false;
    }
    size_t rv = ZSTD_DCtx_setParameter(state, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
    bool ok = !ZSTD_isError(rv);
    do {
        target.pos = 0;
        rv = ZSTD_decompressStream(state, &target, &source);
        if (ZSTD_getErrorCode(rv) == ZSTD_error_frameParameter_windowTooLarge)
            s->status = 413;
        ok = ok && !ZSTD_isError(rv) && sink_write(s, chunk, target.pos);
    } while (ok && (source.pos < source.size || (rv > 0 && target.pos == target.size)));
    ZSTD_freeDCtx(state);
    return ok && rv == 0; /* else the last frame is not complete */
}

/* Decode into the sink.  False: it cannot be done. */
static bool sink_decode(struct sink *s, struct weir_str in, enum coding coding)
{
    switch (coding) {
    case CODING_GZIP: return gzip_decode(in, s);
    case CODING_BR: return brotli_decode(in, s);
    case CODING_ZSTD: return zstd_decode(in, s);
    case CODING_IDENTITY:
    case CODINGS: break;
    }
    return false;
}

/* The same from a map, of which bytes may be lost meanwhile. */
static bool sink_decode_map(struct sink *s, const struct file *packed, enum coding coding)
{
    struct weir_buf buf = {.cap = (size_t)packed->id.size};
    s->stats->calls.mmap++;
    void *map = mmap(NULL, buf.cap, PROT_READ, MAP_SHARED, packed->map->fd, 0);
    if (map == MAP_FAILED)
        return false;
    struct map_guard guard;
    buf.base = map;
    map_guard_add(&guard, &buf);
    bool ok = sink_decode(s, (struct weir_str){map, buf.cap}, coding);
    map_guard_remove(&guard);
    s->stats->calls.munmap++;
    munmap(map, buf.cap);
    return ok && !weir_buf_is_poisoned(&buf);
}

/* Fill the sink, and give it the time of the file it is made from.  Gives 0 or a status. */
static unsigned sink_fill(struct sink *s, const struct file *packed, enum coding coding)
{
    if (packed->id.size > LIMIT_DECODED_LEN)
        return 413;
    const struct weir_str snapshot = {(const char *)packed->buf.base, (size_t)packed->id.size};
    bool ok =
        file_is_map(packed) ? sink_decode_map(s, packed, coding) : sink_decode(s, snapshot, coding);
    struct timespec times[2] = {file_mtime(packed), file_mtime(packed)};
    if (ok && futimens(s->fd, times) == 0)
        return 0;
    return s->status != 0 ? s->status : 500;
}

unsigned decode_run(const struct root *root, const struct file *packed, enum coding coding,
                    uint8_t *bytes, struct found *found)
{
    struct sink s = {.stats = root->stats};
    *found = (struct found){.status = 503, .fd = -1};
    s.stats->calls.memfd_create++;
    s.fd = memfd_create("weir decoded", MFD_CLOEXEC);
    if (s.fd == -1)
        return 503;
    found->status = sink_fill(&s, packed, coding);
    if (found->status == 0)
        return look_adopt(root, s.fd, bytes, true, false, found);
    log_line(LV_WARN, "cannot decode a file for a client that needs it so: status=%u",
             found->status);
    root_close_file(root, s.fd);
    return found->status;
}
