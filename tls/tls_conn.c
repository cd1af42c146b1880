/* See tls_conn.h.  Here: life of a connection, its handshake, and the hand-over to our own records.
 */
#include "tls_conn.h"

#include <string.h>

#include <openssl/crypto.h>

#include "internal/bench.h"
#include "tls_conn_state.h"
#include "handshake.h"
#include "mem.h"

enum weir_err tls_conn_new(const struct tls_ctx *ctx, const struct tls_env *env,
                           struct tls_conn **out)
{
    *out = NULL;
    struct tls_conn *c = mem_take(env->mem, sizeof(*c));
    if (c == NULL)
        return WEIR_NOMEM;
    *c = (struct tls_conn){.ctx = ctx, .env = env, .alert = ALERT_NONE};
    weir_gather_init(&c->out, env->mem);
    *out = c;
    return WEIR_OK;
}

void tls_conn_require_alpn(struct tls_conn *c, const char *name)
{
    c->alpn = name;
}

void tls_conn_free(struct tls_conn *c)
{
    if (c == NULL)
        return;
    handshake_free(c->handshake);
    if (c->suite != NULL) {
        record_keys_deinit(&c->rx, c->suite);
        record_keys_deinit(&c->tx, c->suite);
    }
    weir_gather_deinit(&c->out);
    weir_buf_unref(&c->partial);
    mem_give(c);
}

enum weir_err conn_end(struct tls_conn *c, enum tls_read state, enum weir_err end)
{
    c->read = state;
    c->end = end;
    return end;
}

enum weir_err conn_fail(struct tls_conn *c, enum alert alert, const char *fault)
{
    c->fault = fault;
    c->alert = (uint8_t)alert;
    c->env->stats->alerts_sent++;
    return conn_end(c, TLS_READ_FAILED, WEIR_PROTO);
}

/* The handshake failed.  Its alert, if any, is in c->out; after that nothing can be sent. */
static enum weir_err conn_fail_handshake(struct tls_conn *c, enum weir_err err)
{
    c->fault = c->handshake != NULL ? c->handshake->fault : NULL;
    if (c->fault == NULL)
        c->fault = weir_err_name(err);
    c->env->stats->handshake_faults++;
    handshake_free(c->handshake);
    c->handshake = NULL;
    c->write = TLS_WRITE_CLOSING;
    return conn_end(c, TLS_READ_FAILED, err);
}

/* Take over from OpenSSL, which never writes on this connection again. */
static enum weir_err conn_hand_over(struct tls_conn *c)
{
    struct handshake *hs = c->handshake;
    struct handshake_result result;
    if (!handshake_result(hs, &result))
        return WEIR_NOMEM;
    const struct keys_suite *suite = result.suite;
    struct mem *mem = c->env->mem;
    enum weir_err err = record_keys_init(&c->rx, suite, AEAD_OPEN, hs->secrets.client, mem);
    if (err == WEIR_OK)
        err = record_keys_init(&c->tx, suite, AEAD_SEAL, hs->secrets.server, mem);
    if (err != WEIR_OK) {
        record_keys_deinit(&c->rx, suite);
        record_keys_deinit(&c->tx, suite);
        return err;
    }
    c->suite = suite; /* and with it keys: without, nothing is sealed */
    c->is_h2 = result.is_h2;
    c->is_resumed = result.is_resumed;
    c->text_max = result.text_max;
    c->tx.seq = hs->app_records;
    c->read = TLS_READ_OPEN;
    c->env->stats->handshakes++;
    c->env->stats->resumed += c->is_resumed;
    if (BENCH_COPIES)
        return WEIR_OK; /* OpenSSL goes on writing */
    handshake_free(hs);
    c->handshake = NULL;
    return WEIR_OK;
}

/* Err: WEIR_AGAIN: it is not done.  Else as tls_conn_feed(). */
static enum weir_err conn_shake_hands(struct tls_conn *c, const struct weir_slice *in, size_t *used)
{
    enum weir_err err = WEIR_OK;
    *used = 0;
    if (c->handshake == NULL) {
        err = handshake_new(c->ctx, c->env->clock, c->env->mem, &c->out, &c->handshake);
        if (err == WEIR_OK)
            c->handshake->alpn = c->alpn;
    }
    if (err == WEIR_OK)
        err = handshake_feed(c->handshake, in->ptr, in->len, used);
    if (err == WEIR_OK)
        err = conn_hand_over(c);
    if (err != WEIR_OK && err != WEIR_AGAIN)
        return conn_fail_handshake(c, err);
    return err;
}

enum weir_err tls_conn_feed(struct tls_conn *c, const struct weir_slice *in,
                            struct weir_gather *plain)
{
    size_t used = 0;
    if (c->read == TLS_READ_ENDED || c->read == TLS_READ_FAILED)
        return c->end;
    if (c->read == TLS_READ_HANDSHAKE) {
        enum weir_err err = conn_shake_hands(c, in, &used);
        if (err != WEIR_OK)
            return err == WEIR_AGAIN ? WEIR_OK : err;
    }
    /* Why the cast: a slice is a view for readers, but this one is given to be decrypted in. */
    uint8_t *bytes = in->buf->base + (in->ptr - in->buf->base);
    return inbound_feed(c, in->buf, bytes + used, in->len - used, plain);
}

enum weir_err tls_conn_feed_end(struct tls_conn *c)
{
    if (c->read == TLS_READ_ENDED)
        return WEIR_OK;
    if (c->read == TLS_READ_OPEN) {
        c->env->stats->truncations++;
        c->fault = "cut without close_notify";
        conn_end(c, TLS_READ_FAILED, WEIR_IO);
    }
    return WEIR_IO;
}

void tls_conn_close(struct tls_conn *c)
{
    if (c->write == TLS_WRITE_OPEN)
        c->write = TLS_WRITE_CLOSING;
}

bool tls_conn_is_untouched(const struct tls_conn *c)
{
    return c->read == TLS_READ_HANDSHAKE && c->handshake == NULL;
}

bool tls_conn_is_open(const struct tls_conn *c)
{
    return c->suite != NULL;
}

const char *tls_conn_alpn(const struct tls_conn *c)
{
    if (c->suite == NULL)
        return NULL;
    return c->is_h2 ? "h2" : "http/1.1";
}

const char *tls_conn_cipher(const struct tls_conn *c)
{
    return c->suite != NULL ? c->suite->aead->name : NULL;
}

bool tls_conn_is_resumed(const struct tls_conn *c)
{
    return c->is_resumed;
}

const char *tls_conn_fault(const struct tls_conn *c)
{
    return c->fault;
}
