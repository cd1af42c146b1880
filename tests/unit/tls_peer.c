/* See tls_peer.h. */
#include "tls_peer.h"

#include <openssl/err.h>

#include "engines.h"

#define PEER_MEM ((size_t)64 * 1024 * 1024)
#define PEER_BUDGET ((size_t)256 * 1024)

struct tls_ctx *peer_tls_ctx(enum tls_aead_choice aead)
{
    char message[TLS_MESSAGE_LEN];
    struct tls_ctx *ctx;
    if (tls_ctx_new(&(struct tls_config){.aead = aead}, &ctx, message) != WEIR_OK)
        fail_msg("%s", message);
    return ctx;
}

struct tls_ctx *peer_contexts[PEER_CONTEXTS];
size_t peer_context_count;

int peer_make_contexts(void **state)
{
    (void)state;
    const struct engine *best = engine_choose(TLS_AEAD_AUTO);
    peer_contexts[peer_context_count++] = peer_tls_ctx(TLS_AEAD_AUTO);
    for (enum tls_aead_choice c = TLS_AEAD_AUTO + 1; c <= TLS_AEAD_OPENSSL; c++) {
        const struct engine *engine = engine_choose(c);
        if (engine != NULL && engine != best)
            peer_contexts[peer_context_count++] = peer_tls_ctx(c);
    }
    return 0;
}

int peer_free_contexts(void **state)
{
    (void)state;
    while (peer_context_count > 0)
        tls_ctx_free(peer_contexts[--peer_context_count]);
    return 0;
}

static void read_hex(const char *hex, uint8_t *out, size_t cap)
{
    for (size_t i = 0; i < cap && hex[2 * i] > ' '; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static void on_client_keylog(const SSL *ssl, const char *line)
{
    struct peer *p = SSL_get_app_data(ssl);
    const char *hex = strrchr(line, ' ') + 1;
    if (strncmp(line, "CLIENT_TRAFFIC_SECRET_0", 23) == 0)
        read_hex(hex, p->client_secret, sizeof(p->client_secret));
    if (strncmp(line, "SERVER_TRAFFIC_SECRET_0", 23) == 0)
        read_hex(hex, p->server_secret, sizeof(p->server_secret));
}

static int on_client_session(SSL *ssl, SSL_SESSION *session)
{
    struct peer *p = SSL_get_app_data(ssl);
    SSL_SESSION_free(p->session);
    p->session = session;
    return 1; /* taken */
}

static void client_init(struct peer *p, const struct peer_config *config)
{
    p->ctx = config->client;
    if (p->ctx == NULL)
        p->ctx = SSL_CTX_new(TLS_client_method());
    else
        SSL_CTX_up_ref(p->ctx);
    SSL_CTX_set_keylog_callback(p->ctx, on_client_keylog);
    SSL_CTX_set_session_cache_mode(p->ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(p->ctx, on_client_session);
    if (config->max_version != 0)
        assert_int_equal(SSL_CTX_set_max_proto_version(p->ctx, config->max_version), 1);
    if (config->suites != NULL)
        assert_int_equal(SSL_CTX_set_ciphersuites(p->ctx, config->suites), 1);
    if (config->groups != NULL)
        assert_int_equal(SSL_CTX_set1_groups_list(p->ctx, config->groups), 1);
    p->ssl = SSL_new(p->ctx);
    SSL_set_app_data(p->ssl, p);
    SSL_set_bio(p->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(p->ssl);
    if (config->alpn != NULL)
        assert_int_equal(SSL_set_alpn_protos(p->ssl, (const unsigned char *)config->alpn,
                                             (unsigned)strlen(config->alpn)),
                         0);
    if (config->sni != NULL)
        assert_int_equal(SSL_set_tlsext_host_name(p->ssl, config->sni), 1);
    if (config->max_fragment != 0)
        assert_int_equal(SSL_set_tlsext_max_fragment_length(p->ssl, config->max_fragment), 1);
    if (config->session != NULL)
        assert_int_equal(SSL_set_session(p->ssl, config->session), 1);
}

void peer_init(struct peer *p, const struct tls_ctx *ctx, const struct peer_config *config)
{
    *p = (struct peer){.chunk = config->chunk, .mem = config->mem};
    p->is_mem_borrowed = config->mem != NULL;
    if (!p->is_mem_borrowed)
        assert_int_equal(mem_new(PEER_MEM, &p->mem), WEIR_OK);
    clock_tick(&p->clock);
    p->env = (struct tls_env){p->mem, &p->clock, &p->stats};
    assert_int_equal(tls_conn_new(ctx, &p->env, &p->conn), WEIR_OK);
    weir_gather_init(&p->received, p->mem);
    weir_gather_init(&p->plain, p->mem);
    weir_gather_init(&p->wire, p->mem);
    client_init(p, config);
}

void peer_deinit(struct peer *p)
{
    if (p->suite.md != NULL) {
        record_keys_deinit(&p->tx, &p->suite);
        record_keys_deinit(&p->rx, &p->suite);
    }
    weir_gather_deinit(&p->received);
    weir_gather_deinit(&p->plain);
    weir_gather_deinit(&p->wire);
    tls_conn_free(p->conn);
    SSL_set_shutdown(p->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* keep the session */
    SSL_free(p->ssl);
    SSL_CTX_free(p->ctx);
    SSL_SESSION_free(p->session);
    free(p->log);
    ERR_clear_error();
    assert_int_equal(mem_live(p->mem), 0);
    if (!p->is_mem_borrowed)
        mem_free(p->mem);
}

void peer_feed(struct peer *p, const uint8_t *bytes, size_t len)
{
    size_t chunk = p->chunk > 0 && p->chunk < BLOCK_LARGE_CAP ? p->chunk : BLOCK_LARGE_CAP;
    while (len > 0) {
        size_t n = len < chunk ? len : chunk;
        struct weir_buf *b = block_take(p->mem, n <= BLOCK_SMALL_CAP ? BLOCK_SMALL : BLOCK_LARGE);
        memcpy(b->base, bytes, n);
        struct weir_slice in = {b, b->base, n};
        p->fed = tls_conn_feed(p->conn, &in, &p->received);
        weir_buf_unref(&b);
        bytes += n;
        len -= n;
    }
}

void peer_seal(struct peer *p)
{
    do
        p->sealed = tls_conn_seal(p->conn, &p->plain, &p->wire, p->wire.len + PEER_BUDGET);
    while (p->sealed == WEIR_AGAIN);
}

static size_t take(struct weir_gather *g, uint8_t *out, size_t cap)
{
    size_t taken = 0;
    while (g->len > 0 && taken < cap) {
        const struct weir_slice *s = weir_gather_front(g);
        size_t n = s->len < cap - taken ? s->len : cap - taken;
        memcpy(out + taken, s->ptr, n);
        taken += n;
        weir_gather_consume(g, n);
    }
    return taken;
}

size_t peer_take_wire(struct peer *p, uint8_t *out, size_t cap)
{
    return take(&p->wire, out, cap);
}

size_t peer_take_received(struct peer *p, uint8_t *out, size_t cap)
{
    return take(&p->received, out, cap);
}

/* Hand what the client wrote to weir.  Gives the number of bytes. */
static size_t pump_up(struct peer *p)
{
    uint8_t bytes[BLOCK_LARGE_CAP];
    size_t total = 0;
    int n;
    while ((n = BIO_read(SSL_get_wbio(p->ssl), bytes, sizeof(bytes))) > 0) {
        peer_feed(p, bytes, (size_t)n);
        total += (size_t)n;
    }
    return total;
}

static size_t pump_down(struct peer *p)
{
    uint8_t bytes[BLOCK_LARGE_CAP];
    size_t total = 0;
    size_t n;
    peer_seal(p);
    while ((n = peer_take_wire(p, bytes, sizeof(bytes))) > 0) {
        assert_int_equal(BIO_write(SSL_get_rbio(p->ssl), bytes, (int)n), n);
        p->log = realloc(p->log, p->log_len + n);
        memcpy(p->log + p->log_len, bytes, n);
        p->log_len += n;
        total += n;
    }
    return total;
}

void peer_pump(struct peer *p)
{
    size_t moved;
    do {
        uint8_t none[1];
        ERR_clear_error();
        if (!SSL_is_init_finished(p->ssl))
            SSL_do_handshake(p->ssl);
        else
            SSL_peek(p->ssl, none, 1); /* tickets, KeyUpdates, alerts */
        moved = pump_up(p);
        moved += pump_down(p);
    } while (moved > 0);
}

void peer_shake_hands(struct peer *p)
{
    peer_pump(p);
    assert_true(SSL_is_init_finished(p->ssl));
    assert_true(tls_conn_is_open(p->conn));
    assert_int_equal(p->fed, WEIR_OK);
}

static void fill(uint8_t *bytes, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)((i * 31 + seed) >> (i % 5));
}

void peer_check_up(struct peer *p, size_t len)
{
    uint8_t *sent = malloc(len);
    uint8_t *got = malloc(len + 1);
    fill(sent, len, 1);

    assert_int_equal(SSL_write(p->ssl, sent, (int)len), len);
    peer_pump(p);

    assert_int_equal(peer_take_received(p, got, len + 1), len);
    assert_memory_equal(got, sent, len);
    free(sent);
    free(got);
}

void peer_check_down(struct peer *p, size_t len)
{
    uint8_t *sent = malloc(len);
    uint8_t *got = malloc(len + 1);
    fill(sent, len, 2);

    assert_int_equal(weir_gather_append_copy(&p->plain, sent, len), WEIR_OK);
    peer_pump(p);

    size_t total = 0;
    int n;
    while (total <= len && (n = SSL_read(p->ssl, got + total, (int)(len + 1 - total))) > 0)
        total += (size_t)n;
    assert_int_equal(total, len);
    assert_memory_equal(got, sent, len);
    free(sent);
    free(got);
}

void peer_take_over(struct peer *p)
{
    p->suite = *p->conn->suite;
    p->suite.aead = aead_openssl((enum aead_alg)(p->suite.id - 0x1301));
    assert_int_equal(record_keys_init(&p->tx, &p->suite, AEAD_SEAL, p->client_secret, p->mem),
                     WEIR_OK);
    assert_int_equal(record_keys_init(&p->rx, &p->suite, AEAD_OPEN, p->server_secret, p->mem),
                     WEIR_OK);
    p->tx.seq = p->conn->rx.seq;
    p->rx.seq = p->conn->tx.seq;
}

size_t peer_record(struct peer *p, uint8_t type, const void *text, size_t len, size_t pad,
                   uint8_t *out)
{
    static const uint8_t zeros[RECORD_BODY_MAX];
    assert_true(pad <= sizeof(zeros));
    size_t body_len = len + 1 + pad + AEAD_TAG_LEN;
    uint8_t head[] = {CONTENT_APPLICATION_DATA, 3, 3, (uint8_t)(body_len >> 8), (uint8_t)body_len};
    struct iovec pieces[] = {
        {(void *)(uintptr_t)text, len}, {&type, 1}, {(void *)(uintptr_t)zeros, pad}};
    uint8_t nonce[AEAD_NONCE_LEN];
    memcpy(nonce, p->tx.iv, sizeof(nonce));
    for (unsigned i = 0; i < 8; i++)
        nonce[AEAD_NONCE_LEN - 1 - i] ^= (uint8_t)(p->tx.seq >> (8 * i));
    memcpy(out, head, sizeof(head));
    assert_int_equal(
        p->suite.aead->seal(p->tx.state, nonce, head, sizeof(head), pieces, 3, out + sizeof(head)),
        WEIR_OK);
    p->tx.seq++;
    return sizeof(head) + body_len;
}

void peer_send(struct peer *p, uint8_t type, const void *text, size_t len)
{
    uint8_t record[RECORD_HEAD_LEN + RECORD_BODY_MAX];
    peer_feed(p, record, peer_record(p, type, text, len, 0, record));
}

bool peer_receive(struct peer *p, uint8_t *type, uint8_t *text, size_t *len)
{
    uint8_t record[RECORD_HEAD_LEN + RECORD_BODY_MAX];
    size_t body_len;
    struct record_content content;
    if (p->wire.len == 0)
        return false;
    assert_int_equal(peer_take_wire(p, record, RECORD_HEAD_LEN), RECORD_HEAD_LEN);
    assert_int_equal(record_check_head(record, &body_len), ALERT_NONE);
    assert_int_equal(peer_take_wire(p, record + RECORD_HEAD_LEN, body_len), body_len);
    assert_int_equal(record_open(&p->rx, &p->suite, record, body_len, &content), ALERT_NONE);
    *type = content.type;
    *len = content.len;
    memcpy(text, content.bytes, content.len);
    return true;
}
