/*
 * Records and their content after the handshake.
 *
 * An input is a script: [kind][length][that many bytes], again and again.  The highest bit of kind
 * says that the bytes are fed as they are; else they are the content of a record of that type,
 * which is sealed first, as a fuzzer cannot guess a tag.  The length of the input chooses the
 * algorithm, and the engine that seals; each way to cut the bytes is opened by another engine.
 *
 * Covers: tls/inbound.c, tls/record.c, tls/tls_conn.c, tls/aead_openssl.c,
 * tls/aead_ipsec_mb.c, tls/aead_vaes.c
 * Properties: no run leaks; neither how the bytes are cut into blocks nor who opens them changes
 * what comes of them, or what is answered, to the byte; a failed connection says one alert and then
 * nothing.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "aead.h"
#include "clock.h"
#include "engines.h"
#include "tls_conn_state.h"
#include "internal/assert.h"
#include "mem.h"

#define KIND_RAW 0x80
#define SCRIPT_MAX 4096
#define BYTES_MAX (SCRIPT_MAX * (RECORD_OVERHEAD + 1))

static struct mem *mem;
static struct clock now;
static struct tls_stats stats;
static struct tls_env env;
static struct keys_suite suites[TLS_AEAD_OPENSSL + 1][AEAD_ALGS]; /* of each engine that is here */
static size_t engines;
static uint8_t bytes[BYTES_MAX];

/* What came of a run. */
struct outcome {
    enum weir_err fed;
    enum alert alert;
    size_t received; /* bytes */
    uint32_t sum;    /* of those */
    size_t said;     /* bytes that are sent */
    uint32_t said_sum;
};

static void setup(void)
{
    if (mem != NULL)
        return;
    WEIR_ASSERT(mem_new((size_t)64 * 1024 * 1024, &mem) == WEIR_OK);
    env = (struct tls_env){mem, &now, &stats};
    for (enum tls_aead_choice choice = TLS_AEAD_IPSEC_MB; choice <= TLS_AEAD_OPENSSL; choice++) {
        const struct engine *engine = engine_choose(choice);
        for (enum aead_alg alg = 0; engine != NULL && alg < AEAD_ALGS; alg++) {
            bool is_384 = alg == AEAD_AES_256_GCM;
            suites[engines][alg] = (struct keys_suite){
                .id = 0x1301 + (uint32_t)alg,
                .md = is_384 ? EVP_sha384() : EVP_sha256(),
                .hash_len = is_384 ? 48 : 32,
                .aead = engine_aead(engine, alg),
            };
        }
        engines += engine != NULL;
    }
}

static void keys_start(struct record_keys *k, const struct keys_suite *suite,
                       enum aead_direction direction)
{
    static const uint8_t secret[KEYS_HASH_MAX] = {1, 2, 3};
    WEIR_ASSERT(record_keys_init(k, suite, direction, secret, mem) == WEIR_OK);
}

/* A connection whose handshake is done. */
static struct tls_conn *conn_start(const struct keys_suite *suite)
{
    struct tls_conn *c;
    WEIR_ASSERT(tls_conn_new(NULL, &env, &c) == WEIR_OK);
    c->suite = suite;
    c->text_max = RECORD_TEXT_MAX;
    c->read = TLS_READ_OPEN;
    keys_start(&c->rx, suite, AEAD_OPEN);
    keys_start(&c->tx, suite, AEAD_SEAL);
    return c;
}

/* Turn a script into the bytes of a peer.  Gives their number. */
static size_t script_run(const struct keys_suite *suite, const uint8_t *data, size_t len)
{
    struct record_keys k;
    size_t out = 0;
    keys_start(&k, suite, AEAD_SEAL);
    while (len >= 2) {
        uint8_t kind = data[0];
        size_t n = data[1] < len - 2 ? data[1] : len - 2;
        struct iovec pieces[2] = {{(void *)(uintptr_t)(data + 2), n}};
        if (kind & KIND_RAW) {
            memcpy(bytes + out, data + 2, n);
            out += n;
        } else {
            WEIR_ASSERT(record_seal(&k, suite, kind, pieces, 1, n, bytes + out) == WEIR_OK);
            k.seq++;
            out += n + RECORD_OVERHEAD;
            bool is_update = kind == CONTENT_HANDSHAKE && n == KEY_UPDATE_LEN && data[2] == 24;
            if (is_update)
                WEIR_ASSERT(record_keys_update(&k, suite, AEAD_SEAL) == WEIR_OK);
        }
        data += 2 + n;
        len -= 2 + n;
    }
    record_keys_deinit(&k, suite);
    return out;
}

/* Take all that is in a list; gives its length and adds to a sum of it. */
static size_t take(struct weir_gather *list, uint32_t *sum)
{
    size_t len = list->len;
    while (list->len > 0) {
        const struct weir_slice *s = weir_gather_front(list);
        for (size_t i = 0; i < s->len; i++)
            *sum = *sum * 31 + s->ptr[i];
        weir_gather_consume(list, s->len);
    }
    return len;
}

static void check_end(struct tls_conn *c, struct weir_gather *plain, struct outcome *o)
{
    struct weir_gather wire;
    weir_gather_init(&wire, mem);
    enum weir_err err = tls_conn_seal(c, plain, &wire, 100000);
    bool failed = c->read == TLS_READ_FAILED;
    WEIR_ASSERT(err == (failed ? WEIR_CLOSED : WEIR_OK));
    o->said = take(&wire, &o->said_sum);
    if (failed)
        WEIR_ASSERT(tls_conn_seal(c, plain, &wire, 100000) == WEIR_CLOSED && wire.len == 0);
    weir_gather_deinit(&wire);
}

static struct outcome feed_all(const struct keys_suite *suite, size_t len, size_t chunk)
{
    struct outcome o = {.fed = WEIR_OK};
    struct tls_conn *c = conn_start(suite);
    struct weir_gather received;
    weir_gather_init(&received, mem);
    for (size_t at = 0; at < len && o.fed == WEIR_OK; at += chunk) {
        size_t n = len - at < chunk ? len - at : chunk;
        struct weir_buf *b = block_take(mem, n <= BLOCK_SMALL_CAP ? BLOCK_SMALL : BLOCK_LARGE);
        memcpy(b->base, bytes + at, n);
        struct weir_slice in = {b, b->base, n};
        o.fed = tls_conn_feed(c, &in, &received);
        weir_buf_unref(&b);
        o.received += take(&received, &o.sum);
    }
    o.alert = c->alert;
    check_end(c, &received, &o);
    weir_gather_deinit(&received);
    tls_conn_free(c);
    WEIR_ASSERT(mem_live(mem) == 0);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const size_t chunks[] = {1, 7, 1400};
    if (len > SCRIPT_MAX)
        return 0;
    setup();
    size_t alg = len % AEAD_ALGS;
    size_t engine = len / AEAD_ALGS % engines;
    size_t total = script_run(&suites[engine][alg], data, len);
    struct outcome whole = feed_all(&suites[engine][alg], total, BLOCK_LARGE_CAP);
    for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
        struct outcome cut = feed_all(&suites[++engine % engines][alg], total, chunks[i]);
        WEIR_ASSERT(cut.fed == whole.fed && cut.alert == whole.alert);
        WEIR_ASSERT(cut.received == whole.received && cut.sum == whole.sum);
        WEIR_ASSERT(cut.said == whole.said && cut.said_sum == whole.said_sum);
    }
    return 0;
}
