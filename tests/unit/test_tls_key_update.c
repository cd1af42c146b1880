/* KeyUpdate: received, answered, and sent in time (RFC 8446 4.6.3, 5.5). */
#include "tls_peer.h"

/* Receive a record with the test's keys, and change them if it is a KeyUpdate. */
static bool receive(struct peer *p, uint8_t *type, uint8_t *text, size_t *len)
{
    if (!peer_receive(p, type, text, len))
        return false;
    if (*type == CONTENT_HANDSHAKE)
        assert_int_equal(record_keys_update(&p->rx, &p->suite, AEAD_OPEN), WEIR_OK);
    return true;
}

static void keys_change_both_ways_again_and_again(void **state)
{
    (void)state;
    for (size_t e = 0; e < peer_context_count; e++) {
        struct peer p;
        peer_init(&p, peer_contexts[e], &(struct peer_config){.alpn = ALPN_H2});
        peer_shake_hands(&p);

        for (uint64_t i = 1; i <= 100; i++) {
            int request = i % 2 == 0 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED;
            assert_int_equal(SSL_key_update(p.ssl, request), 1);
            peer_check_up(&p, 100);
            peer_check_down(&p, 20000);
            assert_int_equal(p.stats.key_updates, i + i / 2);
        }

        peer_deinit(&p);
    }
}

/* Attack T6. */
static void many_requests_for_new_keys_get_one_reply(void **state)
{
    (void)state;
    struct peer p;
    uint8_t type;
    uint8_t text[RECORD_BODY_MAX];
    size_t len;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    peer_take_over(&p);

    for (size_t i = 0; i < 20; i++) {
        peer_send(&p, CONTENT_HANDSHAKE, "\x18\x00\x00\x01\x01", 5);
        assert_int_equal(record_keys_update(&p.tx, &p.suite, AEAD_SEAL), WEIR_OK);
    }
    assert_true(tls_conn_wants_seal(p.conn));
    peer_seal(&p);
    assert_int_equal(weir_gather_append_copy(&p.plain, "data", 4), WEIR_OK);
    peer_seal(&p);

    assert_true(receive(&p, &type, text, &len));
    assert_int_equal(type, CONTENT_HANDSHAKE);
    assert_memory_equal(text, "\x18\x00\x00\x01\x00", 5);
    assert_true(receive(&p, &type, text, &len));
    assert_int_equal(type, CONTENT_APPLICATION_DATA);
    assert_memory_equal(text, "data", 4);
    assert_false(receive(&p, &type, text, &len));
    peer_deinit(&p);
}

static void a_key_update_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct peer p;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    peer_take_over(&p);

    for (size_t i = 0; i < KEY_UPDATE_LEN; i++)
        peer_send(&p, CONTENT_HANDSHAKE, &"\x18\x00\x00\x01\x00"[i], 1);
    assert_int_equal(record_keys_update(&p.tx, &p.suite, AEAD_SEAL), WEIR_OK);
    peer_send(&p, CONTENT_APPLICATION_DATA, "x", 1);

    assert_int_equal(p.fed, WEIR_OK);
    assert_int_equal(p.received.len, 1);
    peer_deinit(&p);
}

/* Attack T5. */
static void a_key_is_replaced_before_it_has_sealed_too_much(void **state)
{
    (void)state;
    struct peer p;
    uint8_t type;
    static uint8_t text[RECORD_BODY_MAX];
    static uint8_t body[5000];
    size_t len;
    size_t total = 0;
    size_t updates = 0;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    peer_take_over(&p);
    p.conn->tx.seq = p.rx.seq = LIMIT_KEY_RECORDS - 2;
    assert_int_equal(weir_gather_append_copy(&p.plain, body, sizeof(body)), WEIR_OK);

    peer_seal(&p);
    while (receive(&p, &type, text, &len)) {
        if (type == CONTENT_HANDSHAKE)
            updates++;
        else
            total += len;
    }

    assert_int_equal(updates, 1);
    assert_int_equal(total, sizeof(body));
    assert_int_equal(p.conn->tx.seq, 2);
    assert_int_equal(p.stats.key_updates, 1);
    peer_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_change_both_ways_again_and_again),
        cmocka_unit_test(many_requests_for_new_keys_get_one_reply),
        cmocka_unit_test(a_key_update_may_come_byte_by_byte),
        cmocka_unit_test(a_key_is_replaced_before_it_has_sealed_too_much),
    };
    return cmocka_run_group_tests(tests, peer_make_contexts, peer_free_contexts);
}
