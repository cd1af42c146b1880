/* How a TLS connection ends when nobody did wrong (RFC 8446 6.1). */
#include "tls_peer.h"

static void close_notify_ends_our_direction_alone(void **state)
{
    (void)state;
    struct peer p;
    uint8_t got[16];
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    assert_int_equal(weir_gather_append_copy(&p.plain, "last", 4), WEIR_OK);

    tls_conn_close(p.conn);
    tls_conn_close(p.conn);
    peer_pump(&p);

    assert_int_equal(SSL_read(p.ssl, got, sizeof(got)), 4);
    assert_int_equal(SSL_read(p.ssl, got, sizeof(got)), 0);
    assert_int_equal(SSL_get_error(p.ssl, 0), SSL_ERROR_ZERO_RETURN);
    assert_int_equal(p.sealed, WEIR_CLOSED);
    assert_false(tls_conn_wants_seal(p.conn));
    peer_check_up(&p, 1000);
    size_t sent = p.log_len;
    assert_int_equal(weir_gather_append_copy(&p.plain, "late", 4), WEIR_OK);
    peer_pump(&p);
    assert_int_equal(p.log_len, sent);
    peer_deinit(&p);
}

static void close_notify_of_the_peer_ends_its_direction_alone(void **state)
{
    (void)state;
    struct peer p;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    assert_int_equal(SSL_write(p.ssl, "last", 4), 4);

    SSL_shutdown(p.ssl);
    peer_pump(&p);

    assert_int_equal(p.fed, WEIR_CLOSED);
    assert_int_equal(p.received.len, 4);
    assert_int_equal(tls_conn_feed_end(p.conn), WEIR_OK);
    assert_int_equal(p.stats.truncations, 0);
    peer_check_down(&p, 50000);
    peer_feed(&p, (const uint8_t *)"whatever comes now is not looked at", 35);
    assert_int_equal(p.fed, WEIR_CLOSED);
    peer_deinit(&p);
}

/* Attack T13. */
static void a_cut_connection_is_told_from_a_closed_one(void **state)
{
    (void)state;
    struct peer p;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    assert_int_equal(tls_conn_feed_end(p.conn), WEIR_IO);
    assert_int_equal(p.stats.truncations, 0);
    peer_shake_hands(&p);

    assert_int_equal(tls_conn_feed_end(p.conn), WEIR_IO);

    assert_int_equal(p.stats.truncations, 1);
    peer_deinit(&p);
}

static void closing_before_the_handshake_is_done_sends_nothing_secret(void **state)
{
    (void)state;
    struct peer p;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});

    tls_conn_close(p.conn);
    peer_seal(&p);

    assert_int_equal(p.sealed, WEIR_CLOSED);
    assert_int_equal(p.wire.len, 0);
    peer_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_notify_ends_our_direction_alone),
        cmocka_unit_test(close_notify_of_the_peer_ends_its_direction_alone),
        cmocka_unit_test(a_cut_connection_is_told_from_a_closed_one),
        cmocka_unit_test(closing_before_the_handshake_is_done_sends_nothing_secret),
    };
    return cmocka_run_group_tests(tests, peer_make_contexts, peer_free_contexts);
}
