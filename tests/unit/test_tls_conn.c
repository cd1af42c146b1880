/* TLS connections against OpenSSL's client: handshakes of every shape, data both ways, the end. */
#include "cm.h"

#include <string.h>

#include "tls_peer.h"

#define ALPN_H2 "\x02h2"
#define ALPN_BOTH "\x02h2\x08http/1.1"

static struct tls_ctx *contexts[2]; /* by engine: as fast as can be, and OpenSSL */

static int make_contexts(void **state)
{
    (void)state;
    contexts[0] = peer_tls_ctx(TLS_AEAD_AUTO);
    contexts[1] = peer_tls_ctx(TLS_AEAD_OPENSSL);
    return 0;
}

static int free_contexts(void **state)
{
    (void)state;
    tls_ctx_free(contexts[0]);
    tls_ctx_free(contexts[1]);
    return 0;
}

static void fill(uint8_t *bytes, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)((i * 31 + seed) >> (i % 5));
}

/* The client sends, weir receives the same. */
static void check_up(struct peer *p, size_t len)
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

/* Weir sends, the client receives the same. */
static void check_down(struct peer *p, size_t len)
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

static void data_goes_both_ways_by_every_suite_and_engine(void **state)
{
    (void)state;
    static const char *const suites[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                         "TLS_CHACHA20_POLY1305_SHA256"};
    static const size_t lens[] = {1, 100, 1369, 1370, 16384, 16385, 300000};
    for (size_t e = 0; e < 2; e++) {
        for (size_t i = 0; i < 3; i++) {
            struct peer p;
            peer_init(&p, contexts[e],
                      &(struct peer_config){.alpn = ALPN_BOTH, .suites = suites[i]});
            peer_shake_hands(&p);

            for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
                check_up(&p, lens[l]);
                check_down(&p, lens[l]);
            }

            assert_string_equal(SSL_get_cipher_name(p.ssl), suites[i]);
            assert_string_equal(tls_conn_alpn(p.conn), "h2");
            peer_deinit(&p);
        }
    }
}

static void a_handshake_may_come_in_pieces_of_any_length(void **state)
{
    (void)state;
    for (size_t chunk = 1; chunk < 40; chunk += chunk < 8 ? 1 : 7) {
        struct peer p;
        peer_init(&p, contexts[0], &(struct peer_config){.alpn = ALPN_H2, .chunk = chunk});

        peer_shake_hands(&p);
        check_up(&p, 5000);
        check_down(&p, 5000);

        peer_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_goes_both_ways_by_every_suite_and_engine),
        cmocka_unit_test(a_handshake_may_come_in_pieces_of_any_length),
    };
    return cmocka_run_group_tests(tests, make_contexts, free_contexts);
}
