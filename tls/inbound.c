/*
 * What comes in after the handshake: records are cut from the bytes, opened where they lie, and
 * their content is acted on (RFC 8446 4.6.3, 5, 6).
 *
 * A record that lies whole in the receive block costs no copy.  One that straddles receive blocks
 * is joined in a block of its own, once its head says that it is worth one.
 */
#include <string.h>

#include "tls_conn_state.h"
#include "internal/assert.h"
#include "mem.h"

/* RFC 8446 4.6.3 */
#define KEY_UPDATE 24
#define KEY_UPDATE_REQUESTED 1

static enum weir_err on_application_data(struct tls_conn *c, struct weir_buf *buf,
                                         struct record_content content, struct weir_gather *plain)
{
    if (content.len == 0) {
        if (++c->empty_records > LIMIT_EMPTY_RECORDS)
            return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "flood of empty records");
        return WEIR_OK;
    }
    c->empty_records = 0;
    c->key_updates = 0;
    c->warnings = 0;
    enum weir_err err = weir_gather_append(plain, weir_slice_of(buf, content.bytes, content.len));
    return err == WEIR_OK ? err : conn_end(c, TLS_READ_FAILED, err);
}

/*
 * RFC 8446 6: the level says nothing about close_notify and user_canceled; of all others, which are
 * errors, it must be fatal.
 */
static enum weir_err on_alert(struct tls_conn *c, struct record_content content)
{
    if (content.len == 0)
        return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "empty alert");
    if (content.len != 2)
        return conn_fail(c, ALERT_DECODE_ERROR, "alert of a wrong length");
    if (content.bytes[1] == ALERT_CLOSE_NOTIFY)
        return conn_end(c, TLS_READ_ENDED, WEIR_CLOSED);
    if (content.bytes[1] == ALERT_USER_CANCELED) {
        if (++c->warnings > LIMIT_WARNINGS)
            return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "flood of alerts");
        return WEIR_OK;
    }
    if (content.bytes[0] != ALERT_LEVEL_FATAL)
        return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "error alert that is not fatal");
    c->env->stats->alerts_received++;
    c->fault = "alert from the peer";
    c->write = TLS_WRITE_CLOSED;
    return conn_end(c, TLS_READ_FAILED, WEIR_IO);
}

static enum weir_err on_key_update(struct tls_conn *c, uint8_t request)
{
    if (request > KEY_UPDATE_REQUESTED)
        return conn_fail(c, ALERT_ILLEGAL_PARAMETER, "KeyUpdate with an unknown request");
    if (++c->key_updates > LIMIT_KEY_UPDATES)
        return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "flood of KeyUpdates");
    if (request == KEY_UPDATE_REQUESTED)
        c->is_update_due = true; /* however often it asks before we answer, one reply */
    c->env->stats->key_updates++;
    enum weir_err err = record_keys_update(&c->rx, c->suite, AEAD_OPEN);
    return err == WEIR_OK ? err : conn_end(c, TLS_READ_FAILED, err);
}

/* Is what has come of a message still the start of a KeyUpdate? */
static enum weir_err check_message(struct tls_conn *c)
{
    static const uint8_t length[] = {0, 0, 1};
    if (c->message[0] != KEY_UPDATE)
        return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "handshake message after the handshake");
    size_t n = c->message_len < 4 ? c->message_len - 1U : sizeof(length);
    if (memcmp(c->message + 1, length, n) != 0)
        return conn_fail(c, ALERT_DECODE_ERROR, "KeyUpdate of a wrong length");
    return WEIR_OK;
}

/* A message may come in several records, but the key changes at the end of a record. */
static enum weir_err on_handshake(struct tls_conn *c, struct record_content content)
{
    if (content.len == 0)
        return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "empty handshake record");
    for (size_t i = 0; i < content.len; i++) {
        c->message[c->message_len++] = content.bytes[i];
        enum weir_err err = check_message(c);
        if (err != WEIR_OK)
            return err;
        if (c->message_len < KEY_UPDATE_LEN)
            continue;
        if (i + 1 < content.len)
            return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "KeyUpdate does not end its record");
        c->message_len = 0;
        return on_key_update(c, content.bytes[i]);
    }
    return WEIR_OK;
}

enum weir_err inbound_content(struct tls_conn *c, struct weir_buf *buf,
                              struct record_content content, struct weir_gather *plain)
{
    c->env->stats->records_opened++;
    if (content.len > c->text_max)
        return conn_fail(c, ALERT_RECORD_OVERFLOW, "record beyond the negotiated length");
    if (c->message_len > 0 && content.type != CONTENT_HANDSHAKE)
        return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "record between parts of a message");
    switch (content.type) {
    case CONTENT_APPLICATION_DATA: return on_application_data(c, buf, content, plain);
    case CONTENT_ALERT: return on_alert(c, content);
    case CONTENT_HANDSHAKE: return on_handshake(c, content);
    default: return conn_fail(c, ALERT_UNEXPECTED_MESSAGE, "unknown content type");
    }
}

static const char *head_fault(enum alert alert)
{
    if (alert == ALERT_RECORD_OVERFLOW)
        return "record too long";
    return alert == ALERT_BAD_RECORD_MAC ? "record too short" : "record without protection";
}

static enum weir_err inbound_record(struct tls_conn *c, struct weir_buf *buf, uint8_t *record,
                                    size_t body_len, struct weir_gather *plain)
{
    struct record_content content;
    enum alert alert = record_open(&c->rx, c->suite, record, body_len, &content);
    if (alert == ALERT_NONE)
        return inbound_content(c, buf, content, plain);
    return conn_fail(c, alert,
                     alert == ALERT_BAD_RECORD_MAC ? "wrong tag" : "record without content type");
}

static size_t min_len(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Take a block for the record whose head has come. */
static enum weir_err partial_begin(struct tls_conn *c)
{
    size_t body_len;
    enum alert alert = record_check_head(c->head, &body_len);
    if (alert != ALERT_NONE)
        return conn_fail(c, alert, head_fault(alert));
    size_t len = RECORD_HEAD_LEN + body_len;
    c->partial = block_take(c->env->mem, len <= BLOCK_SMALL_CAP ? BLOCK_SMALL : BLOCK_LARGE);
    if (c->partial == NULL)
        return conn_end(c, TLS_READ_FAILED, WEIR_NOMEM);
    memcpy(c->partial->base, c->head, RECORD_HEAD_LEN);
    c->partial_len = RECORD_HEAD_LEN;
    c->body_len = (uint16_t)body_len;
    return WEIR_OK;
}

/* Go on with a record that came in parts; *used says how many bytes it took. */
static enum weir_err inbound_join(struct tls_conn *c, const uint8_t *bytes, size_t len,
                                  size_t *used, struct weir_gather *plain)
{
    size_t n = min_len(len, RECORD_HEAD_LEN - (size_t)c->head_len);
    memcpy(c->head + c->head_len, bytes, n);
    c->head_len = (uint8_t)(c->head_len + n);
    *used = n;
    if (c->head_len < RECORD_HEAD_LEN)
        return WEIR_OK;
    if (c->partial == NULL) {
        enum weir_err err = partial_begin(c);
        if (err != WEIR_OK)
            return err;
    }
    size_t record_len = RECORD_HEAD_LEN + (size_t)c->body_len;
    n = min_len(len - *used, record_len - c->partial_len);
    memcpy(c->partial->base + c->partial_len, bytes + *used, n);
    c->partial_len += (uint32_t)n;
    c->env->stats->bytes_joined += n;
    *used += n;
    if (c->partial_len < record_len)
        return WEIR_OK;

    struct weir_buf *buf = c->partial;
    c->partial = NULL;
    c->head_len = 0;
    enum weir_err err = inbound_record(c, buf, buf->base, c->body_len, plain);
    weir_buf_unref(&buf);
    return err;
}

/* The first record of `bytes`, which does not continue an earlier one. */
static enum weir_err inbound_next(struct tls_conn *c, struct weir_buf *buf, uint8_t *bytes,
                                  size_t len, size_t *used, struct weir_gather *plain)
{
    if (len < RECORD_HEAD_LEN)
        return inbound_join(c, bytes, len, used, plain);
    size_t body_len;
    enum alert alert = record_check_head(bytes, &body_len);
    if (alert != ALERT_NONE)
        return conn_fail(c, alert, head_fault(alert));
    if (len < RECORD_HEAD_LEN + body_len)
        return inbound_join(c, bytes, len, used, plain);
    *used = RECORD_HEAD_LEN + body_len;
    return inbound_record(c, buf, bytes, body_len, plain);
}

enum weir_err inbound_feed(struct tls_conn *c, struct weir_buf *buf, uint8_t *bytes, size_t len,
                           struct weir_gather *plain)
{
    while (len > 0) {
        size_t used = 0;
        enum weir_err err = c->head_len > 0 ? inbound_join(c, bytes, len, &used, plain)
                                            : inbound_next(c, buf, bytes, len, &used, plain);
        if (err != WEIR_OK)
            return err;
        WEIR_ASSERT(used > 0 && used <= len);
        bytes += used;
        len -= used;
    }
    return WEIR_OK;
}
