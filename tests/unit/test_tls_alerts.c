/* What a peer must not send after the handshake, and the alert that answers it (RFC 8446 5, 6). */
#include "alert.h"
#include "tls_conn_state.h"
#include "tls_peer.h"

static void start_with(struct peer *p, size_t engine, const struct peer_config *config)
{
    peer_init(p, peer_contexts[engine], config);
    peer_shake_hands(p);
    peer_take_over(p);
}

static void start(struct peer *p)
{
    start_with(p, 0, &(struct peer_config){.alpn = ALPN_H2});
}

/* The connection failed by this alert, sealed, and nothing after it. */
static void check_alert(struct peer *p, enum alert alert)
{
    uint8_t type;
    uint8_t text[RECORD_BODY_MAX];
    size_t len;
    assert_int_equal(p->fed, WEIR_PROTO);
    assert_non_null(tls_conn_fault(p->conn));
    assert_true(tls_conn_wants_seal(p->conn));
    assert_int_equal(weir_gather_append_copy(&p->plain, "rest", 4), WEIR_OK);

    peer_seal(p);

    assert_int_equal(p->sealed, WEIR_CLOSED);
    assert_true(peer_receive(p, &type, text, &len));
    assert_int_equal(type, CONTENT_ALERT);
    assert_int_equal(len, 2);
    assert_int_equal(text[0], ALERT_LEVEL_FATAL);
    assert_int_equal(text[1], alert);
    assert_int_equal(p->stats.alerts_sent, 1);
    tls_conn_close(p->conn);
    peer_seal(p);
    peer_send(p, CONTENT_APPLICATION_DATA, "more", 4);
    assert_int_equal(p->fed, WEIR_PROTO);
    assert_int_equal(p->sealed, WEIR_CLOSED);
    assert_int_equal(p->wire.len, 0);
}

/* One protected record, and its answer. */
struct content_case {
    const char *name;
    enum content_type type;
    enum alert alert;
    const char *text;
    size_t len;
};

/* Attacks T4, T6-T11. */
static void content_that_must_not_come_is_answered_by_its_alert(void **state)
{
    (void)state;
    static const struct content_case cases[] = {
        {"empty handshake", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE, "", 0},
        {"ClientHello", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE, "\x01\x00\x00\x02\x03\x03", 6},
        {"NewSessionTicket", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE, "\x04\x00\x00\x01\x00",
         5},
        {"EndOfEarlyData", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE, "\x05\x00\x00\x00", 4},
        {"CertificateRequest", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE, "\x0d\x00\x00\x01\x00",
         5},
        {"Certificate", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE,
         "\x0b\x00\x00\x04\x00\x00\x00\x00", 8},
        {"Finished", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE, "\x14\x00\x00\x20", 4},
        {"message of 16 MiB", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE, "\x04\xff\xff\xff", 4},
        {"KeyUpdate of 16 MiB", CONTENT_HANDSHAKE, ALERT_DECODE_ERROR, "\x18\xff\xff\xff", 4},
        {"KeyUpdate without body", CONTENT_HANDSHAKE, ALERT_DECODE_ERROR, "\x18\x00\x00\x00", 4},
        {"KeyUpdate of 2 bytes", CONTENT_HANDSHAKE, ALERT_DECODE_ERROR, "\x18\x00\x00\x02\x00\x00",
         6},
        {"KeyUpdate asks for 2", CONTENT_HANDSHAKE, ALERT_ILLEGAL_PARAMETER, "\x18\x00\x00\x01\x02",
         5},
        {"KeyUpdate asks for 255", CONTENT_HANDSHAKE, ALERT_ILLEGAL_PARAMETER,
         "\x18\x00\x00\x01\xff", 5},
        {"byte behind a KeyUpdate", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE,
         "\x18\x00\x00\x01\x00\x18", 6},
        {"two KeyUpdates in a record", CONTENT_HANDSHAKE, ALERT_UNEXPECTED_MESSAGE,
         "\x18\x00\x00\x01\x00\x18\x00\x00\x01\x00", 10},
        {"change_cipher_spec", CONTENT_CHANGE_CIPHER_SPEC, ALERT_UNEXPECTED_MESSAGE, "\x01", 1},
        {"type 0 does not exist", 0, ALERT_UNEXPECTED_MESSAGE, "\x00\x00", 2},
        {"type 24", 24, ALERT_UNEXPECTED_MESSAGE, "x", 1},
        {"type 255", 255, ALERT_UNEXPECTED_MESSAGE, "x", 1},
        {"empty alert", CONTENT_ALERT, ALERT_UNEXPECTED_MESSAGE, "", 0},
        {"alert of one byte", CONTENT_ALERT, ALERT_DECODE_ERROR, "\x02", 1},
        {"two alerts", CONTENT_ALERT, ALERT_DECODE_ERROR, "\x01\x5a\x01\x00", 4},
        {"warning handshake_failure", CONTENT_ALERT, ALERT_UNEXPECTED_MESSAGE, "\x01\x28", 2},
        {"warning of unknown kind", CONTENT_ALERT, ALERT_UNEXPECTED_MESSAGE, "\x01\xc8", 2},
        {"alert of level 0", CONTENT_ALERT, ALERT_UNEXPECTED_MESSAGE, "\x00\x28", 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct peer p;
        start(&p);

        peer_send(&p, (uint8_t)cases[i].type, cases[i].text, cases[i].len);

        if (p.fed != WEIR_PROTO || p.conn->alert != cases[i].alert)
            print_error("case: %s\n", cases[i].name);
        check_alert(&p, cases[i].alert);
        assert_int_equal(p.received.len, 0);
        peer_deinit(&p);
    }
}

/* Attacks T1, T2, T10. */
static void heads_that_cannot_be_right_are_answered_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *bytes; /* a head, and a byte more where that counts */
        size_t len;
        enum alert alert;
    } cases[] = {
        {"\x17\x03\x03\x41\x01", 5, ALERT_RECORD_OVERFLOW}, /* 2^14 + 257 */
        {"\x17\x03\x03\xff\xff", 5, ALERT_RECORD_OVERFLOW},
        {"\x17\x03\x03\x40\x12", 5, ALERT_RECORD_OVERFLOW}, /* 2^14 + 18: no content fits */
        {"\x17\x03\x03\x00\x00", 5, ALERT_BAD_RECORD_MAC},
        {"\x17\x03\x03\x00\x01\x00", 6, ALERT_BAD_RECORD_MAC},
        {"\x17\x03\x03\x00\x10", 5, ALERT_BAD_RECORD_MAC},
        {"\x16\x03\x03\x00\x05", 5, ALERT_UNEXPECTED_MESSAGE},
        {"\x15\x03\x03\x00\x02", 5, ALERT_UNEXPECTED_MESSAGE},
        {"\x14\x03\x03\x00\x01", 5, ALERT_UNEXPECTED_MESSAGE},
        {"\x80\x03\x03\x00\x20", 5, ALERT_UNEXPECTED_MESSAGE},
        {"GET /", 5, ALERT_UNEXPECTED_MESSAGE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t chunk = 0; chunk < 2; chunk++) {
            struct peer p;
            start_with(&p, 0, &(struct peer_config){.alpn = ALPN_H2, .chunk = chunk});

            peer_feed(&p, (const uint8_t *)cases[i].bytes, cases[i].len);

            assert_true(p.conn->partial == NULL); /* nothing was set aside for its body */
            check_alert(&p, cases[i].alert);
            peer_deinit(&p);
        }
    }
}

/* Attack T3. */
static void any_wrong_bit_is_a_bad_record_mac(void **state)
{
    (void)state;
    static const char text[] = "every bit of the ciphertext and of the tag counts";
    for (size_t engine = 0; engine < peer_context_count; engine++) {
        struct peer p;
        start_with(&p, engine, &(struct peer_config){.alpn = ALPN_H2});
        uint8_t record[256];
        size_t len = peer_record(&p, CONTENT_APPLICATION_DATA, text, sizeof(text), 0, record);
        for (size_t bit = (size_t)8 * RECORD_HEAD_LEN; bit < 8 * len; bit++) {
            p.conn->read = TLS_READ_OPEN;
            record[bit / 8] ^= (uint8_t)(1U << (bit % 8));

            peer_feed(&p, record, len);

            assert_int_equal(p.fed, WEIR_PROTO);
            assert_int_equal(p.conn->alert, ALERT_BAD_RECORD_MAC);
            assert_int_equal(p.received.len, 0);
            record[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        }
        p.conn->read = TLS_READ_OPEN;
        peer_feed(&p, record, len);
        assert_int_equal(p.fed, WEIR_OK);
        assert_int_equal(p.received.len, sizeof(text));
        peer_deinit(&p);
    }
}

/* Attack T3. */
static void a_wrong_tag_fails_the_connection(void **state)
{
    (void)state;
    struct peer p;
    uint8_t record[64];
    start(&p);
    size_t len = peer_record(&p, CONTENT_APPLICATION_DATA, "x", 1, 0, record);
    record[len - 1] ^= 1;

    peer_feed(&p, record, len);

    check_alert(&p, ALERT_BAD_RECORD_MAC);
    peer_deinit(&p);
}

static void a_replayed_record_is_a_bad_record_mac(void **state)
{
    (void)state;
    struct peer p;
    uint8_t record[64];
    start(&p);
    size_t len = peer_record(&p, CONTENT_APPLICATION_DATA, "x", 1, 0, record);

    peer_feed(&p, record, len);
    assert_int_equal(p.fed, WEIR_OK);
    peer_feed(&p, record, len);

    check_alert(&p, ALERT_BAD_RECORD_MAC);
    peer_deinit(&p);
}

/* Attack T4. */
static void padding_is_dropped_and_counts_against_the_length(void **state)
{
    (void)state;
    static uint8_t text[RECORD_TEXT_MAX + 2];
    static uint8_t record[RECORD_HEAD_LEN + RECORD_BODY_MAX + 256];
    static const struct {
        size_t len;
        size_t pad;
        size_t received; /* 0: record_overflow */
    } cases[] = {
        {1, 0, 1},           {1, 1, 1},     {1, 16383, 1}, {100, 1000, 100}, {16384, 0, 16384},
        {16000, 384, 16000}, {16384, 1, 0}, {16385, 0, 0}, {1, 16384, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct peer p;
        start(&p);
        memset(text, 'x', sizeof(text));

        peer_feed(
            &p, record,
            peer_record(&p, CONTENT_APPLICATION_DATA, text, cases[i].len, cases[i].pad, record));

        if (cases[i].received > 0) {
            assert_int_equal(p.fed, WEIR_OK);
            assert_int_equal(p.received.len, cases[i].received);
        } else {
            check_alert(&p, ALERT_RECORD_OVERFLOW);
        }
        peer_deinit(&p);
    }
}

/* Attack T4. */
static void zeros_without_a_type_are_unexpected(void **state)
{
    (void)state;
    static const uint8_t zeros[RECORD_TEXT_MAX];
    static const size_t lens[] = {0, 1, 1000, RECORD_TEXT_MAX};
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct peer p;
        start(&p);

        peer_send(&p, 0, zeros, lens[i]);

        check_alert(&p, ALERT_UNEXPECTED_MESSAGE);
        peer_deinit(&p);
    }
}

/* Attack T7. */
static void a_record_between_parts_of_a_message_is_unexpected(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < KEY_UPDATE_LEN; cut++) {
        struct peer p;
        start(&p);

        peer_send(&p, CONTENT_HANDSHAKE, "\x18\x00\x00\x01\x00", cut);
        assert_int_equal(p.fed, WEIR_OK);
        peer_send(&p, CONTENT_APPLICATION_DATA, "x", 1);

        check_alert(&p, ALERT_UNEXPECTED_MESSAGE);
        assert_int_equal(p.received.len, 0);
        peer_deinit(&p);
    }
}

/* `count` times the same record; gives what the last feed said. */
static enum weir_err send_many(struct peer *p, size_t count, uint8_t type, const char *text,
                               size_t len)
{
    for (size_t i = 0; i < count; i++) {
        peer_send(p, type, text, len);
        if (type == CONTENT_HANDSHAKE)
            weir_ignore(record_keys_update(&p->tx, &p->suite, AEAD_SEAL));
    }
    return p->fed;
}

/* Attacks T6, T8, T9. */
static void floods_are_unexpected_and_data_starts_the_count_anew(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        const char *text;
        size_t len;
        size_t limit;
    } cases[] = {
        {CONTENT_HANDSHAKE, "\x18\x00\x00\x01\x00", 5, LIMIT_KEY_UPDATES},
        {CONTENT_APPLICATION_DATA, "", 0, LIMIT_EMPTY_RECORDS},
        {CONTENT_ALERT, "\x01\x5a", 2, LIMIT_WARNINGS}, /* user_canceled */
        {CONTENT_ALERT, "\x02\x5a", 2, LIMIT_WARNINGS},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t limit = cases[i].limit;
        uint8_t type = cases[i].type;
        struct peer p;
        start(&p);

        for (size_t round = 0; round < 3; round++) {
            assert_int_equal(send_many(&p, limit, type, cases[i].text, cases[i].len), WEIR_OK);
            peer_send(&p, CONTENT_APPLICATION_DATA, "x", 1);
            assert_int_equal(p.fed, WEIR_OK);
        }
        assert_int_equal(send_many(&p, limit, type, cases[i].text, cases[i].len), WEIR_OK);
        assert_int_equal(send_many(&p, 1, type, cases[i].text, cases[i].len), WEIR_PROTO);

        check_alert(&p, ALERT_UNEXPECTED_MESSAGE);
        peer_deinit(&p);
    }
}

/* Attack T9. */
static void a_fatal_alert_ends_everything_without_a_word(void **state)
{
    (void)state;
    struct peer p;
    start(&p);
    assert_int_equal(weir_gather_append_copy(&p.plain, "rest", 4), WEIR_OK);

    peer_send(&p, CONTENT_ALERT, "\x02\x28", 2);
    peer_seal(&p);

    assert_int_equal(p.fed, WEIR_IO);
    assert_int_equal(p.sealed, WEIR_CLOSED);
    assert_int_equal(p.wire.len, 0);
    assert_int_equal(p.stats.alerts_received, 1);
    assert_int_equal(p.stats.alerts_sent, 0);
    peer_deinit(&p);
}

static void the_negotiated_length_binds_both(void **state)
{
    (void)state;
    uint8_t type;
    static uint8_t text[RECORD_BODY_MAX];
    size_t len;
    struct peer p;
    start_with(&p, 0, &(struct peer_config){.max_fragment = TLSEXT_max_fragment_length_512});
    static uint8_t body[5000];
    assert_int_equal(weir_gather_append_copy(&p.plain, body, sizeof(body)), WEIR_OK);

    peer_seal(&p);
    size_t total = 0;
    while (peer_receive(&p, &type, text, &len)) {
        assert_true(len <= 512);
        total += len;
    }
    assert_int_equal(total, sizeof(body));

    peer_send(&p, CONTENT_APPLICATION_DATA, body, 512);
    assert_int_equal(p.fed, WEIR_OK);
    peer_send(&p, CONTENT_APPLICATION_DATA, body, 513);
    check_alert(&p, ALERT_RECORD_OVERFLOW);
    peer_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_that_must_not_come_is_answered_by_its_alert),
        cmocka_unit_test(heads_that_cannot_be_right_are_answered_at_once),
        cmocka_unit_test(any_wrong_bit_is_a_bad_record_mac),
        cmocka_unit_test(a_wrong_tag_fails_the_connection),
        cmocka_unit_test(a_replayed_record_is_a_bad_record_mac),
        cmocka_unit_test(padding_is_dropped_and_counts_against_the_length),
        cmocka_unit_test(zeros_without_a_type_are_unexpected),
        cmocka_unit_test(a_record_between_parts_of_a_message_is_unexpected),
        cmocka_unit_test(floods_are_unexpected_and_data_starts_the_count_anew),
        cmocka_unit_test(a_fatal_alert_ends_everything_without_a_word),
        cmocka_unit_test(the_negotiated_length_binds_both),
    };
    return cmocka_run_group_tests(tests, peer_make_contexts, peer_free_contexts);
}
