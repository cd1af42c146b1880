/*
 * What a client says first, through OpenSSL and our driver of it.
 *
 * Covers: tls/handshake.c, tls/tls_conn.c
 * Properties: no run leaks blocks; how the bytes are cut does not change what comes of them; a
 * failed handshake ends the output.
 */
#include "fuzz.h"

#include <string.h>

#include "clock.h"
#include "tls_conn.h"
#include "tls_context.h"
#include "internal/assert.h"
#include "mem.h"

static struct mem *mem;
static struct clock now;
static struct tls_stats stats;
static struct tls_env env;
static struct tls_ctx *ctx;

static void setup(void)
{
    char message[TLS_MESSAGE_LEN];
    if (mem != NULL)
        return;
    WEIR_ASSERT(mem_new((size_t)64 * 1024 * 1024, &mem) == WEIR_OK);
    WEIR_ASSERT(tls_ctx_new(&(struct tls_config){0}, &ctx, message) == WEIR_OK);
    clock_tick(&now);
    env = (struct tls_env){mem, &now, &stats};
}

static enum weir_err feed_all(const uint8_t *data, size_t len, size_t chunk)
{
    struct tls_conn *c;
    struct weir_gather plain;
    struct weir_gather wire;
    enum weir_err fed = WEIR_OK;
    weir_gather_init(&plain, mem);
    weir_gather_init(&wire, mem);
    WEIR_ASSERT(tls_conn_new(ctx, &env, &c) == WEIR_OK);
    for (size_t at = 0; at < len && fed == WEIR_OK; at += chunk) {
        size_t n = len - at < chunk ? len - at : chunk;
        struct weir_buf *b = block_take(mem, n <= BLOCK_SMALL_CAP ? BLOCK_SMALL : BLOCK_LARGE);
        memcpy(b->base, data + at, n);
        struct weir_slice in = {b, b->base, n};
        fed = tls_conn_feed(c, &in, &plain);
        weir_buf_unref(&b);
    }
    enum weir_err sealed = tls_conn_seal(c, &plain, &wire, 100000);
    WEIR_ASSERT(sealed == (fed == WEIR_OK ? WEIR_OK : WEIR_CLOSED));
    WEIR_ASSERT(!tls_conn_wants_seal(c) && plain.len == 0 && !tls_conn_is_open(c));
    weir_gather_deinit(&plain);
    weir_gather_deinit(&wire);
    tls_conn_free(c);
    WEIR_ASSERT(mem_live(mem) == 0);
    return fed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    setup();
    enum weir_err whole = feed_all(data, len, BLOCK_LARGE_CAP);
    WEIR_ASSERT(feed_all(data, len, 100) == whole);
    if (len <= 1000)
        WEIR_ASSERT(feed_all(data, len, 1) == whole);
    return 0;
}
