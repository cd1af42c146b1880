/* The handshake: what is negotiated, tickets, and how it fails. */
#include <openssl/err.h>

#include "handshake.h"
#include "tickets.h"
#include "tls_peer.h"

#define PERIOD_S ((int64_t)TLS_TICKET_PERIOD_S)

#define SUITE_128 "TLS_AES_128_GCM_SHA256"
#define SUITE_256 "TLS_AES_256_GCM_SHA384"
#define SUITE_CHACHA "TLS_CHACHA20_POLY1305_SHA256"

/* The alert that the client was sent, or -1. */
static int client_alert(struct peer *p)
{
    ERR_clear_error();
    int done = SSL_is_init_finished(p->ssl) ? 0 : SSL_do_handshake(p->ssl);
    assert_true(done <= 0);
    int reason = ERR_GET_REASON(ERR_peek_error());
    ERR_clear_error();
    return reason >= SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : -1;
}

/* One round of the handshake up to weir's answer, which the client has not looked at. */
static void half_shake(struct peer *p)
{
    uint8_t bytes[16384];
    SSL_do_handshake(p->ssl);
    int n = BIO_read(SSL_get_wbio(p->ssl), bytes, sizeof(bytes));
    assert_true(n > 0);
    peer_feed(p, bytes, (size_t)n);
    peer_seal(p);
    size_t len = peer_take_wire(p, bytes, sizeof(bytes));
    assert_int_equal(BIO_write(SSL_get_rbio(p->ssl), bytes, (int)len), len);
}

static void suites_follow_our_order_unless_the_client_puts_chacha_first(void **state)
{
    (void)state;
    static const struct {
        const char *offer;
        const char *chosen;
    } cases[] = {
        {SUITE_256 ":" SUITE_CHACHA ":" SUITE_128, SUITE_128},
        {SUITE_256 ":" SUITE_CHACHA, SUITE_256},
        {SUITE_CHACHA ":" SUITE_128 ":" SUITE_256, SUITE_CHACHA},
        {SUITE_CHACHA, SUITE_CHACHA},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct peer p;
        peer_init(&p, peer_contexts[0],
                  &(struct peer_config){.alpn = ALPN_H2, .suites = cases[i].offer});

        peer_shake_hands(&p);

        assert_string_equal(SSL_get_cipher_name(p.ssl), cases[i].chosen);
        peer_deinit(&p);
    }
}

static void any_group_of_ours_will_do(void **state)
{
    (void)state;
    /* The last two are answered by a HelloRetryRequest: no key share fits. */
    static const char *const groups[] = {"X25519", "P-256", "P-384", "P-521:P-256", "X448:P-384"};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        for (size_t chunk = 0; chunk < 2; chunk++) {
            struct peer p;
            peer_init(&p, peer_contexts[0],
                      &(struct peer_config){.alpn = ALPN_H2, .groups = groups[i], .chunk = chunk});

            peer_shake_hands(&p);

            peer_deinit(&p);
        }
    }
}

/* Attack T16. */
static void alpn_prefers_h2_and_defaults_to_http1(void **state)
{
    (void)state;
    static const struct {
        const char *offer;
        const char *chosen;
    } cases[] = {
        {ALPN_H2, "h2"},          {ALPN_HTTP1 ALPN_H2, "h2"},
        {ALPN_HTTP1, "http/1.1"}, {"\x03zap" ALPN_HTTP1, "http/1.1"},
        {NULL, "http/1.1"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct peer p;
        peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = cases[i].offer});
        assert_null(tls_conn_alpn(p.conn));

        peer_shake_hands(&p);

        assert_string_equal(tls_conn_alpn(p.conn), cases[i].chosen);
        const unsigned char *alpn;
        unsigned len;
        SSL_get0_alpn_selected(p.ssl, &alpn, &len);
        assert_int_equal(len, cases[i].offer == NULL ? 0 : strlen(cases[i].chosen));
        peer_deinit(&p);
    }
}

/* Attacks T16, T18. */
static void clients_that_do_not_fit_are_told_why(void **state)
{
    (void)state;
    static const struct {
        struct peer_config config;
        int alert;
    } cases[] = {
        {{.alpn = "\x03"
                  "ftp"},
         SSL_AD_NO_APPLICATION_PROTOCOL},
        {{.max_version = TLS1_2_VERSION}, SSL_AD_PROTOCOL_VERSION},
        {{.groups = "P-521"}, SSL_AD_HANDSHAKE_FAILURE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct peer p;
        peer_init(&p, peer_contexts[0], &cases[i].config);

        half_shake(&p);

        assert_int_equal(p.fed, WEIR_PROTO);
        assert_int_equal(p.sealed, WEIR_CLOSED);
        assert_int_equal(client_alert(&p), cases[i].alert);
        assert_false(tls_conn_is_open(p.conn));
        assert_non_null(tls_conn_fault(p.conn));
        assert_int_equal(p.stats.handshake_faults, 1);
        assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 1000), WEIR_CLOSED);
        assert_int_equal(p.wire.len, 0);
        peer_deinit(&p);
    }
}

static void what_is_not_tls_is_refused_by_its_first_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", 18},
        {"PRI * HTTP/2.0\r\n", 16},
        {"\x16\x03\x01\x48\x01", 5},         /* 2^14 + 2049: over-long on its head alone */
        {"\x17\x03\x03\x00\x01\x00", 6},     /* application data */
        {"\x15\x03\x03\x00\x02\x02\x28", 7}, /* a fatal alert */
        /* an SSL 2 hello that offers TLS 1.0 */
        {"\x80\x1c\x01\x03\x01\x00\x03\x00\x00\x00\x10\x00\x00\x2f"
         "0123456789abcdef",
         30},
        {"\x00\x00\x00\x00\x00\x00", 6},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct peer p;
        peer_init(&p, peer_contexts[0], &(struct peer_config){.chunk = 1});

        peer_feed(&p, (const uint8_t *)cases[i].bytes, cases[i].len);
        peer_seal(&p);

        assert_true(p.fed == WEIR_PROTO || p.fed == WEIR_IO);
        assert_int_equal(p.sealed, WEIR_CLOSED);
        peer_deinit(&p);
    }
}

/* Attack T17. */
static void a_hello_that_never_ends_meets_a_limit(void **state)
{
    (void)state;
    struct peer p;
    static const uint8_t hello[] = {1, 1, 0xff, 0xff}; /* ClientHello, 130 KB */
    uint8_t record[5 + 16384] = {22, 3, 1, 0x40, 0};
    peer_init(&p, peer_contexts[0], &(struct peer_config){.chunk = 1000});
    memcpy(record + 5, hello, sizeof(hello));

    peer_feed(&p, record, sizeof(record));
    assert_int_equal(p.fed, WEIR_OK);
    memset(record + 5, 0, sizeof(hello));
    peer_feed(&p, record, sizeof(record));

    assert_int_equal(p.fed, WEIR_LIMIT);
    assert_true(p.conn->handshake == NULL);
    peer_deinit(&p);
}

static void a_client_that_gives_up_gets_no_answer(void **state)
{
    (void)state;
    struct peer p;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    SSL_set_verify(p.ssl, SSL_VERIFY_PEER, NULL); /* nobody vouches for our certificate */

    peer_pump(&p);

    assert_int_equal(p.fed, WEIR_IO);
    assert_int_equal(p.sealed, WEIR_CLOSED);
    assert_int_equal(p.wire.len, 0);
    peer_deinit(&p);
}

/* Attack T12. */
static void a_request_behind_the_finished_is_not_lost(void **state)
{
    (void)state;
    for (size_t chunk = 0; chunk < 60; chunk += 7) {
        struct peer p;
        uint8_t bytes[16384];
        uint8_t got[32];
        peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2, .chunk = chunk});

        half_shake(&p);
        assert_int_equal(SSL_do_handshake(p.ssl), 1);
        assert_int_equal(SSL_write(p.ssl, "request", 7), 7);
        assert_int_equal(SSL_write(p.ssl, " and more", 9), 9);
        int n = BIO_read(SSL_get_wbio(p.ssl), bytes, sizeof(bytes)); /* one segment */
        peer_feed(&p, bytes, (size_t)n);

        assert_int_equal(p.fed, WEIR_OK);
        assert_int_equal(peer_take_received(&p, got, sizeof(got)), 16);
        assert_memory_equal(got, "request and more", 16);
        peer_deinit(&p);
    }
}

static void the_limit_of_a_handshake_does_not_count_what_follows_it(void **state)
{
    (void)state;
    struct peer p;
    static uint8_t body[60000];
    static uint8_t bytes[70000];
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});

    half_shake(&p);
    assert_int_equal(SSL_do_handshake(p.ssl), 1);
    assert_int_equal(SSL_write(p.ssl, body, sizeof(body)), sizeof(body));
    int n = BIO_read(SSL_get_wbio(p.ssl), bytes, sizeof(bytes));
    assert_true(n > (int)sizeof(body));
    peer_feed(&p, bytes, (size_t)n);

    assert_int_equal(p.fed, WEIR_OK);
    assert_int_equal(p.received.len, sizeof(body));
    peer_deinit(&p);
}

/* A ticket for `sni`, from a handshake at `date_s`.  Own. */
static SSL_SESSION *ticket_for(const char *sni, int64_t date_s)
{
    struct peer p;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2, .sni = sni});
    p.clock.date_s = date_s;
    peer_shake_hands(&p);
    assert_int_equal(p.conn->tx.seq, 2); /* two tickets, counted */
    SSL_SESSION *session = p.session;
    assert_non_null(session);
    assert_true(SSL_SESSION_get_ticket_lifetime_hint(session) <= 7200);
    assert_int_equal(SSL_SESSION_get_max_early_data(session), 0);
    p.session = NULL;
    peer_deinit(&p);
    return session;
}

static bool is_resumed(SSL_SESSION *session, const char *sni, int64_t date_s)
{
    struct peer p;
    SSL_SESSION *copy = SSL_SESSION_dup(session); /* the client takes a ticket once */
    peer_init(&p, peer_contexts[0],
              &(struct peer_config){.alpn = ALPN_H2, .sni = sni, .session = copy});
    SSL_SESSION_free(copy);
    p.clock.date_s = date_s;
    peer_shake_hands(&p);
    bool resumed = tls_conn_is_resumed(p.conn);
    assert_int_equal(SSL_session_reused(p.ssl), resumed);
    assert_int_equal(p.stats.resumed, resumed);
    assert_int_equal(p.conn->tx.seq, resumed ? 1 : 2);
    peer_deinit(&p);
    return resumed;
}

/* Attack T15. */
static void a_ticket_is_good_for_this_period_and_the_next(void **state)
{
    (void)state;
    const int64_t start = 500000 * PERIOD_S;
    SSL_SESSION *session = ticket_for("localhost", start + 10);

    assert_true(is_resumed(session, "localhost", start + 20));
    assert_true(is_resumed(session, "localhost", start + PERIOD_S));
    assert_true(is_resumed(session, "localhost", start + 2 * PERIOD_S - 1));
    assert_false(is_resumed(session, "localhost", start + 2 * PERIOD_S));
    assert_false(is_resumed(session, "localhost", start - 1));

    SSL_SESSION_free(session);
}

/* Attack T15. */
static void a_ticket_is_good_for_its_name_alone(void **state)
{
    (void)state;
    const int64_t now = 500000 * PERIOD_S;
    SSL_SESSION *session = ticket_for("a.example", now);
    SSL_SESSION *nameless = ticket_for(NULL, now);

    assert_true(is_resumed(session, "a.example", now));
    assert_false(is_resumed(session, "b.example", now));
    assert_false(is_resumed(session, NULL, now));
    assert_true(is_resumed(nameless, NULL, now));
    assert_false(is_resumed(nameless, "a.example", now));

    SSL_SESSION_free(session);
    SSL_SESSION_free(nameless);
}

static void a_ticket_of_another_process_means_a_full_handshake(void **state)
{
    (void)state;
    const int64_t now = 500000 * PERIOD_S;
    SSL_SESSION *session = ticket_for("localhost", now);
    struct tls_ctx *first = peer_contexts[0];
    peer_contexts[0] = peer_tls_ctx(TLS_AEAD_OPENSSL);

    assert_false(is_resumed(session, "localhost", now));

    tls_ctx_free(peer_contexts[0]);
    peer_contexts[0] = first;
    SSL_SESSION_free(session);
}

/* Attack T14. */
static void early_data_is_skipped(void **state)
{
    (void)state;
    struct peer p;
    SSL_SESSION *session = ticket_for("localhost", 500000 * PERIOD_S);
    assert_int_equal(SSL_SESSION_set_max_early_data(session, 16384), 1); /* as if we took it */
    peer_init(&p, peer_contexts[0],
              &(struct peer_config){.alpn = ALPN_H2, .sni = "localhost", .session = session});
    p.clock.date_s = 500000 * PERIOD_S;
    size_t written;

    assert_int_equal(SSL_write_early_data(p.ssl, "early", 5, &written), 1);
    peer_shake_hands(&p);
    assert_int_equal(SSL_write(p.ssl, "late", 4), 4);
    peer_pump(&p);

    uint8_t got[16];
    assert_int_equal(SSL_get_early_data_status(p.ssl), SSL_EARLY_DATA_REJECTED);
    assert_int_equal(peer_take_received(&p, got, sizeof(got)), 4);
    assert_memory_equal(got, "late", 4);
    peer_deinit(&p);
    SSL_SESSION_free(session);
}

/* Attack T14.  A record more than a client may send before it has an answer is one too many. */
static void early_data_is_skipped_to_a_limit(void **state)
{
    (void)state;
    struct peer p;
    static const uint8_t early[20000];
    SSL_SESSION *session = ticket_for("localhost", 500000 * PERIOD_S);
    assert_int_equal(SSL_SESSION_set_max_early_data(session, sizeof(early)), 1);
    peer_init(&p, peer_contexts[0],
              &(struct peer_config){.alpn = ALPN_H2, .sni = "localhost", .session = session});
    p.clock.date_s = 500000 * PERIOD_S;
    size_t written;

    assert_int_equal(SSL_write_early_data(p.ssl, early, sizeof(early), &written), 1);
    peer_pump(&p);

    assert_int_equal(p.fed, WEIR_PROTO);
    assert_false(tls_conn_is_open(p.conn));
    assert_string_equal(tls_conn_fault(p.conn), "too much early data");
    peer_deinit(&p);
    SSL_SESSION_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suites_follow_our_order_unless_the_client_puts_chacha_first),
        cmocka_unit_test(any_group_of_ours_will_do),
        cmocka_unit_test(alpn_prefers_h2_and_defaults_to_http1),
        cmocka_unit_test(clients_that_do_not_fit_are_told_why),
        cmocka_unit_test(what_is_not_tls_is_refused_by_its_first_bytes),
        cmocka_unit_test(a_hello_that_never_ends_meets_a_limit),
        cmocka_unit_test(a_client_that_gives_up_gets_no_answer),
        cmocka_unit_test(a_request_behind_the_finished_is_not_lost),
        cmocka_unit_test(the_limit_of_a_handshake_does_not_count_what_follows_it),
        cmocka_unit_test(a_ticket_is_good_for_this_period_and_the_next),
        cmocka_unit_test(a_ticket_is_good_for_its_name_alone),
        cmocka_unit_test(a_ticket_of_another_process_means_a_full_handshake),
        cmocka_unit_test(early_data_is_skipped),
        cmocka_unit_test(early_data_is_skipped_to_a_limit),
    };
    return cmocka_run_group_tests(tests, peer_make_contexts, peer_free_contexts);
}
