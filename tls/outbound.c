/*
 * What goes out: bytes of the handshake, replies, application data cut into records, and the last
 * record (RFC 8446 5, 6).
 *
 * Records are cut from the stream of bytes, whatever frames lie in it.  They are short at the
 * start of a connection and after a pause, so that the first bytes are of use when the first
 * segment has come; then they are as long as may be.
 *
 * Why nothing is sealed where it lies: what could be, blocks of our own that nobody else refers to,
 * is heads of frames and fields, 60 bytes a response and 9 a frame.  They lie between bytes of
 * files that are shared, in the same record.
 */
#include "clock.h"
#include "internal/bench.h"
#include "internal/probes.h"
#include "tls_conn_state.h"
#include "mem.h"

#define RECORD_SHORT 1369               /* content of a record that fits into a segment */
#define BURST_LEN ((uint32_t)64 * 1024) /* bytes after which records are long */
#define BURST_PAUSE_MS 1000             /* without output, after which records are short again */
#define PIECES_MAX 64                   /* slices that one record is gathered from */

/* Records under way to the wire: they lie one behind the other in a block. */
struct sealing {
    struct weir_buf *block; /* Own; NULL: none */
    size_t len;             /* bytes of records in it */
};

/* A record that is no application data: it is short and goes out by a copy. */
static enum weir_err seal_short(struct tls_conn *c, enum content_type type, const uint8_t *bytes,
                                size_t len, struct weir_gather *wire)
{
    uint8_t record[RECORD_OVERHEAD + KEY_UPDATE_LEN];
    struct iovec pieces[2] = {{(void *)(uintptr_t)bytes, len}};
    enum weir_err err = record_seal(&c->tx, c->suite, type, pieces, 1, len, record);
    if (err != WEIR_OK)
        return err;
    c->tx.seq++;
    c->env->stats->records_sealed++;
    return weir_gather_append_copy(wire, record, RECORD_OVERHEAD + len);
}

static enum weir_err seal_alert(struct tls_conn *c, struct weir_gather *wire)
{
    bool is_close = c->alert == ALERT_NONE;
    uint8_t alert[2] = {ALERT_LEVEL_FATAL, c->alert};
    if (is_close) {
        alert[0] = ALERT_LEVEL_WARNING;
        alert[1] = ALERT_CLOSE_NOTIFY;
    }
    c->write = TLS_WRITE_CLOSED;
    c->alert = ALERT_NONE;
    return seal_short(c, CONTENT_ALERT, alert, sizeof(alert), wire);
}

/* RFC 8446 4.6.3: the message is the last record under the old key. */
static enum weir_err seal_key_update(struct tls_conn *c, struct weir_gather *wire)
{
    static const uint8_t message[KEY_UPDATE_LEN] = {24, 0, 0, 1, 0}; /* update_not_requested */
    enum weir_err err = seal_short(c, CONTENT_HANDSHAKE, message, sizeof(message), wire);
    if (err != WEIR_OK)
        return err;
    c->is_update_due = false;
    c->env->stats->key_updates++;
    return record_keys_update(&c->tx, c->suite, AEAD_SEAL);
}

/* Put what is sealed on the wire. */
static enum weir_err sealing_flush(struct sealing *s, struct weir_gather *wire)
{
    if (s->block == NULL)
        return WEIR_OK;
    enum weir_err err = weir_gather_append(wire, weir_slice_of(s->block, s->block->base, s->len));
    weir_buf_unref(&s->block);
    s->len = 0;
    return err;
}

/* Make room for a record of `need` bytes, of `rest` that may follow in all. */
static enum weir_err sealing_reserve(struct sealing *s, struct tls_conn *c, size_t need,
                                     size_t rest, struct weir_gather *wire)
{
    if (s->block != NULL && s->block->cap - s->len >= need)
        return WEIR_OK;
    enum weir_err err = sealing_flush(s, wire);
    if (err != WEIR_OK)
        return err;
    s->block = block_take(c->env->mem, rest <= BLOCK_SMALL_CAP ? BLOCK_SMALL : BLOCK_LARGE);
    return s->block != NULL ? WEIR_OK : WEIR_AGAIN;
}

static size_t record_text_max(const struct tls_conn *c)
{
    return c->burst < BURST_LEN && c->text_max > RECORD_SHORT ? RECORD_SHORT : c->text_max;
}

/* Seal the next record of application data behind the last one. */
static enum weir_err seal_record(struct tls_conn *c, struct sealing *s, struct weir_gather *plain,
                                 size_t text_len)
{
    struct weir_slice slices[PIECES_MAX];
    struct iovec pieces[PIECES_MAX + 1];
    size_t len;
    size_t count = weir_gather_peek(plain, slices, PIECES_MAX, text_len, &len);
    for (size_t i = 0, offset = 0; i < count; i++) {
        pieces[i] = (struct iovec){(void *)(uintptr_t)slices[i].ptr, slices[i].len};
        c->env->stats->bytes_staged += aead_staged(c->suite->aead, offset, slices[i].len);
        offset += slices[i].len;
    }
    enum weir_err err = record_seal(&c->tx, c->suite, CONTENT_APPLICATION_DATA, pieces, count, len,
                                    s->block->base + s->len);
    if (err != WEIR_OK)
        return err;
    /* Nobody has seen the record yet, so its number may be used again if it is thrown away. */
    for (size_t i = 0; i < count; i++) {
        if (weir_buf_is_poisoned(slices[i].buf))
            return WEIR_STREAM;
    }
    weir_gather_consume(plain, len);
    c->tx.seq++;
    c->env->stats->records_sealed++;
    WEIR_PROBE1(record_sealed, len);
    s->len += len + RECORD_OVERHEAD;
    c->burst = c->burst < BURST_LEN ? c->burst + (uint32_t)len : c->burst;
    return WEIR_OK;
}

static enum weir_err seal_records(struct tls_conn *c, struct sealing *s, struct weir_gather *plain,
                                  struct weir_gather *wire, size_t budget)
{
    while (plain->len > 0) {
        if (wire->len + s->len >= budget)
            return WEIR_AGAIN;
        enum weir_err err = WEIR_OK;
        if (c->tx.seq >= LIMIT_KEY_RECORDS) {
            err = sealing_flush(s, wire);
            if (err == WEIR_OK)
                err = seal_key_update(c, wire);
        }
        size_t most = record_text_max(c);
        size_t text_len = plain->len < most ? plain->len : most;
        size_t records = plain->len / most + 1;
        if (err == WEIR_OK)
            err = sealing_reserve(s, c, text_len + RECORD_OVERHEAD,
                                  plain->len + records * RECORD_OVERHEAD, wire);
        if (err == WEIR_OK)
            err = seal_record(c, s, plain, text_len);
        if (err != WEIR_OK)
            return err;
    }
    return WEIR_OK;
}

/* Application data.  Err: as tls_conn_seal(). */
static enum weir_err seal_plain(struct tls_conn *c, struct weir_gather *plain,
                                struct weir_gather *wire, size_t budget)
{
    if (BENCH_COPIES)
        return copy_seal_plain(c, plain, wire, budget);
    if (c->env->clock->now_ms - c->sealed_ms > BURST_PAUSE_MS)
        c->burst = 0;
    c->sealed_ms = c->env->clock->now_ms;
    struct sealing s = {0};
    enum weir_err err = seal_records(c, &s, plain, wire, budget);
    enum weir_err flushed = s.len > 0 ? sealing_flush(&s, wire) : WEIR_OK;
    weir_buf_unref(&s.block);
    if (flushed != WEIR_OK)
        return flushed;
    /* Blocks come back when the wire is sent; if it is empty there is nothing to wait for. */
    return err == WEIR_AGAIN && wire->len == 0 && budget > 0 ? WEIR_NOMEM : err;
}

static enum weir_err seal_open(struct tls_conn *c, struct weir_gather *plain,
                               struct weir_gather *wire, size_t budget)
{
    enum weir_err err = WEIR_OK;
    if (c->alert != ALERT_NONE) {
        err = seal_alert(c, wire);
        return err == WEIR_OK ? WEIR_CLOSED : err;
    }
    if (c->is_update_due)
        err = seal_key_update(c, wire);
    if (err == WEIR_OK && plain->len > 0)
        err = seal_plain(c, plain, wire, budget);
    if (err == WEIR_OK && c->write == TLS_WRITE_CLOSING) {
        err = seal_alert(c, wire);
        return err == WEIR_OK ? WEIR_CLOSED : err;
    }
    return err;
}

enum weir_err tls_conn_seal(struct tls_conn *c, struct weir_gather *plain, struct weir_gather *wire,
                            size_t budget)
{
    if (c->write == TLS_WRITE_CLOSED)
        return WEIR_CLOSED;
    enum weir_err err = weir_gather_split(&c->out, c->out.len, wire);
    if (err == WEIR_OK && c->suite == NULL && c->write == TLS_WRITE_CLOSING) {
        c->write = TLS_WRITE_CLOSED; /* no keys, no close_notify */
        return WEIR_CLOSED;
    }
    if (err == WEIR_OK && c->suite != NULL)
        err = seal_open(c, plain, wire, budget);
    if (err == WEIR_NOMEM)
        c->write = TLS_WRITE_CLOSED; /* a number may be used up without its record: stop here */
    return err;
}

bool tls_conn_wants_seal(const struct tls_conn *c)
{
    if (c->write == TLS_WRITE_CLOSED)
        return false;
    return c->out.len > 0 || c->alert != ALERT_NONE || c->is_update_due ||
           c->write == TLS_WRITE_CLOSING;
}
