/*
 * See handshake.h.
 *
 * Why a BIO of our own and not a memory BIO: it reads from the receive buffer where the bytes lie,
 * and its output goes straight to the list of blocks that are sent.
 */
#include "handshake.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>

#include "internal/limits.h"
#include "mem.h"
#include "record.h"

struct handshake *handshake_from(const SSL *ssl)
{
    return SSL_get_app_data(ssl);
}

/* ---- callbacks of OpenSSL ---- */

static int on_bio_read(BIO *bio, char *to, int len)
{
    struct handshake *hs = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    size_t allowed = LIMIT_HANDSHAKE_BYTES - hs->taken;
    size_t n = len > 0 ? (size_t)len : 0;
    n = n < hs->in_len ? n : hs->in_len;
    if (n > allowed) {
        hs->is_over_limit = true;
        return -1;
    }
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(to, hs->in, n);
    hs->in += n;
    hs->in_len -= n;
    hs->taken += n;
    return (int)n;
}

static int on_bio_write(BIO *bio, const char *bytes, int len)
{
    struct handshake *hs = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (len <= 0 || weir_gather_append_copy(hs->out, bytes, (size_t)len) == WEIR_OK)
        return len;
    hs->is_out_of_memory = true;
    return -1;
}

static long on_bio_ctrl(BIO *bio, int command, long number, void *ptr)
{
    (void)bio;
    (void)number;
    (void)ptr;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read hexadecimal digits up to the end of the line. */
static void read_secret(const char *hex, uint8_t out[KEYS_HASH_MAX])
{
    for (size_t i = 0; i < KEYS_HASH_MAX; i++) {
        int high = hex_digit(hex[2 * i]);
        int low = high < 0 ? -1 : hex_digit(hex[2 * i + 1]);
        if (low < 0)
            return;
        out[i] = (uint8_t)(high << 4 | low);
    }
}

/* The rest of the line behind `label` and the client random, or NULL if it is another label. */
static const char *keylog_value(const char *line, const char *label, size_t label_len)
{
    const char *end = strncmp(line, label, label_len) == 0 ? strchr(line + label_len, ' ') : NULL;
    return end != NULL ? end + 1 : NULL;
}

/* One write, so that lines of several workers do not mix. */
static void keylog_append(int fd, const char *line)
{
    char text[512];
    size_t len = strnlen(line, sizeof(text) - 1);
    memcpy(text, line, len);
    text[len++] = '\n';
    ssize_t written = write(fd, text, len); /* a key log that is full fails nobody's connection */
    (void)written;
    OPENSSL_cleanse(text, sizeof(text));
}

/*
 * A line of an NSS key log: "LABEL <client random> <secret>".  The secrets come this way where
 * OpenSSL does not take our key schedule.
 */
static void on_keylog(const SSL *ssl, const char *line)
{
    static const char client[] = "CLIENT_TRAFFIC_SECRET_0 ";
    static const char server[] = "SERVER_TRAFFIC_SECRET_0 ";
    struct handshake *hs = handshake_from(ssl);
    const char *hex = keylog_value(line, client, sizeof(client) - 1);
    if (hex != NULL)
        read_secret(hex, hs->secrets.client);
    hex = keylog_value(line, server, sizeof(server) - 1);
    if (hex != NULL) {
        read_secret(hex, hs->secrets.server);
        hs->secrets.has_server = true;
    }
    if (hs->ctx->keylog_fd != -1)
        keylog_append(hs->ctx->keylog_fd, line);
}

/* Called for each record head that is written, among much else. */
static void on_message(int writing, int version, int content_type, const void *bytes, size_t len,
                       SSL *ssl, void *arg)
{
    (void)version;
    (void)bytes;
    (void)len;
    (void)arg;
    struct handshake *hs = handshake_from(ssl);
    if (writing && content_type == SSL3_RT_HEADER && hs->secrets.has_server)
        hs->app_records++;
}

/* RFC 8446 D.5: a hello of SSL 3.0 is refused for its version, of which OpenSSL says nothing. */
static int on_client_hello(SSL *ssl, int *alert, void *arg)
{
    (void)arg;
    if (SSL_client_hello_get0_legacy_version(ssl) > SSL3_VERSION)
        return SSL_CLIENT_HELLO_SUCCESS;
    *alert = SSL_AD_PROTOCOL_VERSION;
    return SSL_CLIENT_HELLO_ERROR;
}

/* RFC 7301 3.2.  A client without ALPN never gets here and speaks HTTP/1.1. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                   const unsigned char *offer, unsigned int offer_len, void *arg)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    static const size_t h2_len = 3;
    (void)arg;
    const char *only = handshake_from(ssl)->alpn;
    const unsigned char *first = ours;
    size_t len = sizeof(ours) - 1;
    if (only != NULL && strcmp(only, "h2") == 0) {
        len = h2_len;
    } else if (only != NULL) {
        first += h2_len;
        len -= h2_len;
    }
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, first, (unsigned)len, offer, offer_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- the driver ---- */

enum weir_err handshake_ctx_init(struct tls_ctx *ctx)
{
    ctx->bio = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir");
    if (ctx->bio == NULL || BIO_meth_set_read(ctx->bio, on_bio_read) != 1 ||
        BIO_meth_set_write(ctx->bio, on_bio_write) != 1 ||
        BIO_meth_set_ctrl(ctx->bio, on_bio_ctrl) != 1)
        return WEIR_NOMEM;
    if (!ctx->sees_secrets || ctx->keylog_fd != -1)
        SSL_CTX_set_keylog_callback(ctx->ssl, on_keylog);
    SSL_CTX_set_client_hello_cb(ctx->ssl, on_client_hello, NULL);
    SSL_CTX_set_msg_callback(ctx->ssl, on_message);
    SSL_CTX_set_alpn_select_cb(ctx->ssl, on_alpn, NULL);
    SSL_CTX_set_read_ahead(ctx->ssl, 0); /* else OpenSSL would swallow application data */
    return WEIR_OK;
}

enum weir_err handshake_new(const struct tls_ctx *ctx, const struct clock *clock, struct mem *mem,
                            struct weir_gather *out, struct handshake **result)
{
    *result = NULL;
    struct handshake *hs = mem_take(mem, sizeof(*hs));
    if (hs == NULL)
        return WEIR_NOMEM;
    *hs = (struct handshake){.ctx = ctx, .clock = clock, .out = out};
    hs->ssl = SSL_new(ctx->ssl);
    BIO *bio = BIO_new(ctx->bio);
    if (hs->ssl == NULL || bio == NULL || SSL_set_app_data(hs->ssl, hs) != 1) {
        BIO_free(bio);
        handshake_free(hs);
        return WEIR_NOMEM;
    }
    BIO_set_data(bio, hs);
    BIO_set_init(bio, 1);
    SSL_set_bio(hs->ssl, bio, bio); /* takes bio over */
    SSL_set_accept_state(hs->ssl);
    *result = hs;
    return WEIR_OK;
}

void handshake_free(struct handshake *hs)
{
    if (hs == NULL)
        return;
    if (hs->ssl != NULL) {
        /* Why: a close_notify of OpenSSL's would be sealed with a nonce that is used again. */
        SSL_set_quiet_shutdown(hs->ssl, 1);
        SSL_set_shutdown(hs->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
        SSL_free(hs->ssl);
    }
    OPENSSL_cleanse(hs, sizeof(*hs));
    mem_give(hs);
}

/* Translate what OpenSSL says about a handshake that is not done. */
static enum weir_err handshake_error(struct handshake *hs, int result)
{
    int error = SSL_get_error(hs->ssl, result);
    if (error == SSL_ERROR_WANT_READ)
        return WEIR_AGAIN;
    unsigned long code = ERR_peek_error();
    hs->fault = ERR_reason_error_string(code);
    ERR_clear_error();
    if (hs->is_out_of_memory)
        return WEIR_NOMEM;
    if (hs->is_over_limit) {
        hs->fault = "handshake too long";
        return WEIR_LIMIT;
    }
    bool is_peers_alert =
        ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET;
    return is_peers_alert || error == SSL_ERROR_ZERO_RETURN ? WEIR_IO : WEIR_PROTO;
}

enum weir_err handshake_feed(struct handshake *hs, const uint8_t *bytes, size_t len, size_t *used)
{
    hs->in = bytes;
    hs->in_len = len;
    ERR_clear_error();
    kdf_watch(&hs->secrets);
    int result = SSL_do_handshake(hs->ssl);
    kdf_watch(NULL);
    enum weir_err err = result == 1 ? WEIR_OK : handshake_error(hs, result);
    *used = len - hs->in_len;
    hs->in = NULL;
    hs->in_len = 0;
    return err;
}

bool handshake_result(const struct handshake *hs, struct handshake_result *out)
{
    const SSL_SESSION *session = SSL_get_session(hs->ssl);
    const SSL_CIPHER *cipher = SSL_get_current_cipher(hs->ssl);
    if (session == NULL || cipher == NULL || !hs->secrets.has_server)
        return false;
    const unsigned char *alpn;
    unsigned int alpn_len;
    SSL_get0_alpn_selected(hs->ssl, &alpn, &alpn_len);
    unsigned fragment = SSL_SESSION_get_max_fragment_length(session); /* 0, or 1..4: 2^(8 + n) */
    *out = (struct handshake_result){
        .suite = tls_ctx_suite(hs->ctx, SSL_CIPHER_get_protocol_id(cipher)),
        .is_h2 = alpn_len == 2 && memcmp(alpn, "h2", 2) == 0,
        .is_resumed = SSL_session_reused(hs->ssl) == 1,
        .text_max = (uint16_t)(fragment == 0 ? RECORD_TEXT_MAX : 1U << (8 + fragment)),
    };
    return out->suite != NULL;
}
