/* TLS connections against OpenSSL's client: handshakes of every shape, data both ways, the end. */
#include "tls_peer.h"

static void data_goes_both_ways_by_every_suite_and_engine(void **state)
{
    (void)state;
    static const char *const suites[] = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384",
                                         "TLS_CHACHA20_POLY1305_SHA256"};
    static const size_t lens[] = {1, 100, 1369, 1370, 16384, 16385, 300000};
    for (size_t e = 0; e < peer_context_count; e++) {
        for (size_t i = 0; i < 3; i++) {
            struct peer p;
            peer_init(&p, peer_contexts[e],
                      &(struct peer_config){.alpn = ALPN_BOTH, .suites = suites[i]});
            peer_shake_hands(&p);

            for (size_t l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
                peer_check_up(&p, lens[l]);
                peer_check_down(&p, lens[l]);
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
        peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2, .chunk = chunk});

        peer_shake_hands(&p);
        peer_check_up(&p, 5000);
        peer_check_down(&p, 5000);

        peer_deinit(&p);
    }
}

/*
 * Attack T12.  The record log: every protected record that left, in order.  Each opens under the
 * number that is one above the last, so no number was used twice, by OpenSSL or by us.
 */
static void no_nonce_is_used_twice(void **state)
{
    (void)state;
    struct peer p;
    static uint8_t record[RECORD_HEAD_LEN + RECORD_BODY_MAX];
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    peer_check_down(&p, 100000);
    peer_check_down(&p, 10);
    tls_conn_close(p.conn);
    peer_pump(&p);
    peer_take_over(&p);
    const uint64_t sealed = p.conn->tx.seq;

    size_t at = 0;
    p.rx.seq = 0;
    while (at < p.log_len) {
        struct record_content content;
        size_t body_len = (size_t)p.log[at + 3] << 8 | p.log[at + 4];
        memcpy(record, p.log + at, RECORD_HEAD_LEN + body_len);
        at += RECORD_HEAD_LEN + body_len;
        bool opened = record[0] == CONTENT_APPLICATION_DATA &&
                      record_open(&p.rx, &p.suite, record, body_len, &content) == ALERT_NONE;
        /* Those before the first are under handshake keys; behind it there are no others. */
        assert_true(opened || p.rx.seq == 0);
    }

    assert_int_equal(at, p.log_len);
    assert_int_equal(p.rx.seq, sealed);
    assert_true(sealed > 2 + 100000 / RECORD_TEXT_MAX);
    peer_deinit(&p);
}

static void records_are_short_at_first_and_after_a_pause(void **state)
{
    (void)state;
    struct peer p;
    uint8_t type;
    static uint8_t text[RECORD_BODY_MAX];
    static uint8_t body[200000];
    size_t len;
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    peer_take_over(&p);
    for (size_t round = 0; round < 2; round++) {
        size_t total = 0;
        assert_int_equal(weir_gather_append_copy(&p.plain, body, sizeof(body)), WEIR_OK);
        peer_seal(&p);
        while (peer_receive(&p, &type, text, &len)) {
            if (total < (size_t)64 * 1024)
                assert_int_equal(len, 1369);
            else
                assert_true(len == RECORD_TEXT_MAX || total + len == sizeof(body));
            total += len;
        }
        assert_int_equal(total, sizeof(body));

        /* no pause: long at once */
        p.clock.now_ms += 1000;
        assert_int_equal(weir_gather_append_copy(&p.plain, body, 5000), WEIR_OK);
        peer_seal(&p);
        assert_true(peer_receive(&p, &type, text, &len));
        assert_int_equal(len, 5000);
        p.clock.now_ms += 1001;
    }
    peer_deinit(&p);
}

static void a_budget_stops_sealing_and_is_no_error(void **state)
{
    (void)state;
    struct peer p;
    static uint8_t body[100000];
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    assert_int_equal(weir_gather_append_copy(&p.plain, body, sizeof(body)), WEIR_OK);

    assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 0), WEIR_AGAIN);
    assert_int_equal(p.wire.len, 0);
    assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 3000), WEIR_AGAIN);
    assert_true(p.wire.len >= 3000 && p.wire.len < 3000 + 1400);
    assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 1000000), WEIR_OK);
    assert_int_equal(p.plain.len, 0);

    peer_deinit(&p);
}

static void bytes_of_a_poisoned_buffer_do_not_leave(void **state)
{
    (void)state;
    struct peer p;
    uint8_t type;
    static uint8_t text[RECORD_BODY_MAX];
    static uint8_t bytes[4000];
    size_t len;
    struct weir_buf map = {.refs = 1, .base = bytes, .cap = sizeof(bytes), .poisoned = true};
    memset(bytes, 'p', sizeof(bytes));
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    peer_take_over(&p);
    static uint8_t good[3000];
    assert_int_equal(weir_gather_append_copy(&p.plain, good, sizeof(good)), WEIR_OK);
    assert_int_equal(weir_gather_append(&p.plain, weir_slice_of(&map, bytes, sizeof(bytes))),
                     WEIR_OK);

    peer_seal(&p);
    assert_int_equal(p.sealed, WEIR_STREAM);
    size_t left = p.plain.len;
    peer_seal(&p);
    assert_int_equal(p.sealed, WEIR_STREAM);
    assert_int_equal(p.plain.len, left);
    weir_gather_consume(&p.plain, left);
    assert_int_equal(weir_gather_append_copy(&p.plain, "next", 4), WEIR_OK);
    peer_seal(&p);
    assert_int_equal(p.sealed, WEIR_OK);

    size_t total = 0;
    while (peer_receive(&p, &type, text, &len)) {
        assert_null(memchr(text, 'p', len));
        total += len;
    }
    assert_int_equal(total, sizeof(good) + sizeof(bytes) - left + 4);
    assert_int_equal(map.refs, 1);
    peer_deinit(&p);
}

static void memory_that_runs_out_sheds_the_connection(void **state)
{
    (void)state;
    struct peer p;
    static uint8_t body[100000];
    struct weir_buf buf = {.refs = 1, .base = body, .cap = sizeof(body)};
    peer_init(&p, peer_contexts[0], &(struct peer_config){.alpn = ALPN_H2});
    peer_shake_hands(&p);
    struct weir_gather hoard;
    weir_gather_init(&hoard, p.mem);
    assert_int_equal(weir_gather_append(&p.plain, weir_slice_of(&buf, body, sizeof(body))),
                     WEIR_OK);
    struct weir_buf *b;
    while ((b = block_take(p.mem, BLOCK_LARGE)) != NULL) {
        b->base[0] = 0;
        assert_int_equal(weir_gather_append(&hoard, (struct weir_slice){b, b->base, 1000}),
                         WEIR_OK);
    }

    weir_gather_consume(&hoard, 1000); /* one block is left */
    assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 1000000), WEIR_AGAIN);
    assert_true(p.wire.len > 0);
    weir_gather_consume(&p.wire, p.wire.len); /* as if it were sent */
    assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 1000000), WEIR_AGAIN);
    struct weir_gather kept;
    weir_gather_init(&kept, p.mem);
    assert_int_equal(weir_gather_split(&p.wire, p.wire.len, &kept), WEIR_OK);
    assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 1000000), WEIR_NOMEM);
    assert_int_equal(p.wire.len, 0);

    weir_gather_deinit(&kept);
    weir_gather_deinit(&hoard);
    assert_int_equal(tls_conn_seal(p.conn, &p.plain, &p.wire, 1000000), WEIR_CLOSED);
    peer_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_goes_both_ways_by_every_suite_and_engine),
        cmocka_unit_test(a_handshake_may_come_in_pieces_of_any_length),
        cmocka_unit_test(no_nonce_is_used_twice),
        cmocka_unit_test(records_are_short_at_first_and_after_a_pause),
        cmocka_unit_test(a_budget_stops_sealing_and_is_no_error),
        cmocka_unit_test(bytes_of_a_poisoned_buffer_do_not_leave),
        cmocka_unit_test(memory_that_runs_out_sheds_the_connection),
    };
    return cmocka_run_group_tests(tests, peer_make_contexts, peer_free_contexts);
}
