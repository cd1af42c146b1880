/*
 * Memory that runs out: every allocation of weir's and of OpenSSL's that the server side of a
 * scenario makes is failed in turn, alone and with all that follow.  The connection may end,
 * nothing else: no crash, no leak, no wrong byte, no client that waits for ever.
 *
 * And what an idle connection holds, OpenSSL's part included.
 */
#include "tls_peer.h"

#include <openssl/crypto.h>
#include <openssl/err.h>

#define MEMORY ((size_t)64 * 1024 * 1024)
#define BUDGET ((size_t)64 * 1024)
#define UP_LEN 20000
#define DOWN_LEN 100000

static struct mem *mem;    /* of all runs: to make it is most of the work */
static bool is_server;     /* what is allocated now is the server's */
static size_t fail_in;     /* allocations of the server until one fails; 0: none does */
static bool fails_forever; /* from then on */
static size_t failures;    /* that have happened */
static size_t held;        /* items of OpenSSL's that are allocated */
static size_t server_held; /* bytes of them that the server allocated */

static bool fails_now(void)
{
    if (!is_server || fail_in == 0)
        return false;
    if (fail_in > 1) {
        fail_in--;
        return false;
    }
    failures++;
    if (!fails_forever)
        fail_in = 0;
    return true;
}

/* The linker puts this in the place of pool_take(): see CMakeLists.txt. */
/* NOLINTBEGIN(readability-identifier-naming): the names are the linker's */
void *__real_pool_take(struct pool *p);
void *__wrap_pool_take(struct pool *p);

void *__wrap_pool_take(struct pool *p)
{
    return fails_now() ? NULL : __real_pool_take(p);
}
/* NOLINTEND(readability-identifier-naming) */

/* What lies before the bytes that OpenSSL gets. */
struct item {
    size_t len;
    size_t server_len; /* len, or 0 if it is the client's */
};

static void item_count(const struct item *item, bool is_added)
{
    held += is_added ? 1 : (size_t)-1;
    server_held += is_added ? item->server_len : 0 - item->server_len;
}

static void *crypto_malloc(size_t len, const char *file, int line)
{
    (void)file;
    (void)line;
    struct item *item = fails_now() ? NULL : malloc(sizeof(*item) + len);
    if (item == NULL)
        return NULL;
    *item = (struct item){len, is_server ? len : 0};
    item_count(item, true);
    return item + 1;
}

static void crypto_free(void *bytes, const char *file, int line)
{
    (void)file;
    (void)line;
    if (bytes == NULL)
        return;
    struct item *item = (struct item *)bytes - 1;
    item_count(item, false);
    free(item);
}

static void *crypto_realloc(void *bytes, size_t len, const char *file, int line)
{
    void *bigger = len > 0 ? crypto_malloc(len, file, line) : NULL;
    if (len > 0 && bigger == NULL)
        return NULL;
    if (bytes != NULL && bigger != NULL) {
        size_t old_len = ((struct item *)bytes - 1)->len;
        memcpy(bigger, bytes, old_len < len ? old_len : len);
    }
    crypto_free(bytes, file, line);
    return bigger;
}

/* ---- a scenario ---- */

struct scenario {
    const char *name;
    bool is_resumed; /* by a ticket */
    bool updates;    /* the client changes keys and asks for the same */
    bool forever;    /* also with all that follow the one that fails */
    uint8_t fragment;
    size_t least; /* allocations that it makes at least, else the sweep has missed it */
};

static uint8_t up[UP_LEN];
static uint8_t down[DOWN_LEN];
static SSL_SESSION *ticket;
static SSL_CTX *client;

static bool is_over(const struct peer *p)
{
    return p->fed != WEIR_OK || (p->sealed != WEIR_OK && p->sealed != WEIR_AGAIN);
}

static void server_feed(struct peer *p, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len && p->fed == WEIR_OK; at += BLOCK_LARGE_CAP) {
        size_t n = len - at < BLOCK_LARGE_CAP ? len - at : BLOCK_LARGE_CAP;
        struct weir_buf *b = block_take(p->mem, n <= BLOCK_SMALL_CAP ? BLOCK_SMALL : BLOCK_LARGE);
        memcpy(b->base, bytes + at, n);
        struct weir_slice in = {b, b->base, n};
        is_server = true;
        p->fed = tls_conn_feed(p->conn, &in, &p->received);
        is_server = false;
        weir_buf_unref(&b);
    }
}

/* Gives the number of bytes that went to the client. */
static size_t server_seal(struct peer *p)
{
    uint8_t bytes[BLOCK_LARGE_CAP];
    size_t total = 0;
    size_t n;
    is_server = true;
    p->sealed = tls_conn_seal(p->conn, &p->plain, &p->wire, BUDGET);
    is_server = false;
    while ((n = peer_take_wire(p, bytes, sizeof(bytes))) > 0) {
        assert_int_equal(BIO_write(SSL_get_rbio(p->ssl), bytes, (int)n), n);
        total += n;
    }
    return total;
}

/* Carry bytes both ways until nothing moves; *got grows by what the client reads. */
static void pump(struct peer *p, size_t *got)
{
    uint8_t bytes[BLOCK_LARGE_CAP];
    size_t moved;
    do {
        int n;
        moved = 0;
        ERR_clear_error();
        if (!SSL_is_init_finished(p->ssl))
            SSL_do_handshake(p->ssl);
        while (SSL_is_init_finished(p->ssl) && (n = SSL_read(p->ssl, bytes, sizeof(bytes))) > 0) {
            assert_true(*got + (size_t)n <= sizeof(down));
            assert_memory_equal(bytes, down + *got, (size_t)n);
            *got += (size_t)n;
        }
        while ((n = BIO_read(SSL_get_wbio(p->ssl), bytes, sizeof(bytes))) > 0) {
            server_feed(p, bytes, (size_t)n);
            moved += (size_t)n;
        }
        moved += server_seal(p);
    } while (moved > 0 || (p->sealed == WEIR_AGAIN && p->plain.len > 0));
}

static void talk(struct peer *p, const struct scenario *s, size_t *got)
{
    static uint8_t bytes[UP_LEN + 1];
    pump(p, got);
    if (is_over(p) || !SSL_is_init_finished(p->ssl))
        return;
    assert_int_equal(tls_conn_is_resumed(p->conn) && !s->is_resumed, false);
    if (s->updates)
        assert_int_equal(SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(SSL_write(p->ssl, up, sizeof(up)), sizeof(up));
    assert_int_equal(weir_gather_append_copy(&p->plain, down, sizeof(down)), WEIR_OK);
    pump(p, got);
    size_t received = p->received.len;
    assert_true(received <= sizeof(up));
    assert_int_equal(peer_take_received(p, bytes, sizeof(bytes)), received);
    assert_memory_equal(bytes, up, received);
    if (is_over(p))
        return;
    assert_int_equal(received, sizeof(up));
    assert_int_equal(*got, sizeof(down));
    tls_conn_close(p->conn);
    SSL_shutdown(p->ssl);
    pump(p, got);
}

static void play(const struct tls_ctx *ctx, const struct scenario *s)
{
    struct peer p;
    size_t got = 0;
    SSL_SESSION *copy = s->is_resumed ? SSL_SESSION_dup(ticket) : NULL;
    peer_init(&p, ctx,
              &(struct peer_config){.alpn = ALPN_H2,
                                    .session = copy,
                                    .max_fragment = s->fragment,
                                    .mem = mem,
                                    .client = client});
    SSL_SESSION_free(copy);
    p.fed = WEIR_OK;
    p.sealed = WEIR_OK;

    talk(&p, s, &got);

    assert_true(is_over(&p)); /* also without a failure: both sides have closed */
    if (failures == 0) {
        assert_int_equal(p.fed, WEIR_CLOSED);
        assert_int_equal(p.sealed, WEIR_CLOSED);
        assert_int_equal(tls_conn_is_resumed(p.conn), s->is_resumed);
    }
    peer_deinit(&p);
    OPENSSL_thread_stop(); /* its list of errors keeps the strings of past ones */
}

static void sweep(const struct tls_ctx *ctx, const struct scenario *s, bool forever)
{
    size_t swept = 0;
    fails_forever = forever;
    do {
        size_t before = held;
        failures = 0;
        fail_in = ++swept;
        play(ctx, s);
        fail_in = 0;
        if (held != before)
            fail_msg("%s: allocation %zu leaks %zd items", s->name, swept,
                     (ssize_t)(held - before));
    } while (failures > 0);
    print_message("%s: %zu allocations\n", s->name, swept - 1);
    assert_true(swept > s->least);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const struct scenario scenarios[] = {
        {.name = "handshake and data", .forever = true, .least = 100},
        {.name = "resumed", .is_resumed = true, .forever = true, .least = 80},
        {.name = "keys changed", .updates = true, .least = 100},
        {.name = "short records", .fragment = TLSEXT_max_fragment_length_512, .least = 100},
    };
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        failures = 0;
        play(peer_contexts[0], &scenarios[i]); /* fills OpenSSL's caches */
        sweep(peer_contexts[0], &scenarios[i], false);
        if (scenarios[i].forever)
            sweep(peer_contexts[0], &scenarios[i], true);
    }
}

static void keys_of_every_engine_may_fail(void **state)
{
    (void)state;
    static const struct scenario s = {.name = "an engine", .updates = true, .least = 100};
    for (size_t e = 1; e < peer_context_count; e++) {
        failures = 0;
        play(peer_contexts[e], &s);
        sweep(peer_contexts[e], &s, false);
    }
}

static void a_context_fails_with_a_message(void **state)
{
    (void)state;
    size_t swept = 0;
    fails_forever = false;
    OPENSSL_thread_stop();
    do {
        char message[TLS_MESSAGE_LEN] = "";
        struct tls_ctx *ctx;
        size_t before = held;
        failures = 0;
        fail_in = ++swept;
        is_server = true;
        enum weir_err err = tls_ctx_new(&(struct tls_config){0}, &ctx, message);
        is_server = false;
        fail_in = 0;
        assert_true(failures > 0 || err == WEIR_OK);
        assert_int_equal(err == WEIR_OK, message[0] == '\0');
        assert_int_equal(err == WEIR_OK, ctx != NULL);
        tls_ctx_free(ctx);
        OPENSSL_thread_stop();
        if (held != before)
            fail_msg("allocation %zu leaks %zd items", swept, (ssize_t)(held - before));
    } while (failures > 0);
    print_message("%zu allocations\n", swept - 1);
    assert_true(swept > 500);
}

/* ---- what stays ---- */

static size_t item_len(const void *ptr)
{
    return pool_of(ptr)->item_len;
}

static void an_idle_connection_costs_less_than_3_kib(void **state)
{
    (void)state;
    for (size_t e = 0; e < peer_context_count; e++) {
        struct peer p;
        size_t got = 0;
        peer_init(&p, peer_contexts[e], &(struct peer_config){.alpn = ALPN_H2, .mem = mem});
        size_t before = server_held;
        size_t items = mem_live(mem);
        pump(&p, &got);
        assert_true(tls_conn_is_open(p.conn));

        size_t conn = item_len(p.conn);
        size_t keys = item_len(p.conn->rx.state) + item_len(p.conn->tx.state);
        size_t openssl = server_held - before;

        print_message("%s: connection %zu, keys %zu, OpenSSL's %zu bytes\n",
                      tls_ctx_engine(peer_contexts[e]), conn, keys, openssl);
        assert_true(conn + keys + openssl < 3072);
        assert_int_equal(mem_live(mem), items + 2); /* the keys, and nothing else */
        assert_null(p.conn->handshake);
        peer_deinit(&p);
    }
}

static int setup(void **state)
{
    if (mem_new(MEMORY, &mem) != WEIR_OK)
        return -1;
    for (size_t i = 0; i < sizeof(down); i++)
        down[i] = (uint8_t)(i * 7 >> i % 3);
    memcpy(up, down + 1000, sizeof(up));
    peer_make_contexts(state);
    struct peer p;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2, .mem = mem});
    peer_shake_hands(&p);
    ticket = p.session;
    p.session = NULL;
    client = p.ctx;
    SSL_CTX_up_ref(client);
    peer_deinit(&p);
    return ticket != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    SSL_SESSION_free(ticket);
    SSL_CTX_free(client);
    peer_free_contexts(state);
    mem_free(mem);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_connection_costs_less_than_3_kib),
        cmocka_unit_test(a_context_fails_with_a_message),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(keys_of_every_engine_may_fail),
    };
    if (CRYPTO_set_mem_functions(crypto_malloc, crypto_realloc, crypto_free) != 1)
        return 1;
    return cmocka_run_group_tests(tests, setup, teardown);
}
