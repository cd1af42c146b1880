/* See context.h. */
#include "tls_context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "cert.h"
#include "context_state.h"
#include "engines.h"
#include "handshake.h"
#include "kdf.h"
#include "tickets.h"

#define GROUPS "X25519:P-256:P-384"
#define GROUPS_POST_QUANTUM "X25519MLKEM768:" GROUPS
#define SUITES "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

static enum weir_err ctx_set_policy(struct tls_ctx *ctx)
{
    SSL_CTX_set_options(ctx->ssl, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                      SSL_OP_NO_COMPRESSION);
    bool ok = SSL_CTX_set_min_proto_version(ctx->ssl, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_max_proto_version(ctx->ssl, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_ciphersuites(ctx->ssl, SUITES) == 1 &&
              (SSL_CTX_set1_groups_list(ctx->ssl, GROUPS_POST_QUANTUM) == 1 ||
               SSL_CTX_set1_groups_list(ctx->ssl, GROUPS) == 1) &&
              SSL_CTX_set_max_early_data(ctx->ssl, 0) == 1;
    ERR_clear_error();
    return ok ? WEIR_OK : WEIR_NOMEM;
}

static enum weir_err ctx_set_suites(struct tls_ctx *ctx, enum tls_aead_choice choice, char *message)
{
    const struct engine *engine = engine_choose(choice);
    if (engine == NULL) {
        snprintf(message, TLS_MESSAGE_LEN,
                 "--aead %s cannot be had: this program was built without it, or this processor "
                 "has no %s; use --aead auto",
                 choice == TLS_AEAD_VAES ? "vaes" : "ipsec-mb",
                 choice == TLS_AEAD_VAES ? "VAES and VPCLMULQDQ" : "AES-NI");
        return WEIR_CONFIG;
    }
    ctx->engine = engine->name;
    ctx->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    ctx->sha384 = EVP_MD_fetch(NULL, "SHA384", NULL);
    if (ctx->sha256 == NULL || ctx->sha384 == NULL)
        return WEIR_NOMEM;
    for (enum aead_alg alg = 0; alg < AEAD_ALGS; alg++) {
        bool is_384 = alg == AEAD_AES_256_GCM;
        ctx->suites[alg] = (struct keys_suite){
            .id = 0x1301 + (uint32_t)alg,
            .md = is_384 ? ctx->sha384 : ctx->sha256,
            .hash_len = is_384 ? 48 : 32,
            .aead = engine_aead(engine, alg),
        };
    }
    return WEIR_OK;
}

const struct keys_suite *tls_ctx_suite(const struct tls_ctx *ctx, uint32_t id)
{
    for (size_t i = 0; i < AEAD_ALGS; i++) {
        if (ctx->suites[i].id == id)
            return &ctx->suites[i];
    }
    return NULL;
}

static enum weir_err ctx_open_keylog(struct tls_ctx *ctx, const char *file, char *message)
{
    if (file == NULL)
        return WEIR_OK;
    ctx->keylog_fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (ctx->keylog_fd != -1)
        return WEIR_OK;
    char text[128];
    snprintf(message, TLS_MESSAGE_LEN, "cannot write '%s': %s; check the file named by --keylog",
             file, strerror_r(errno, text, sizeof(text)));
    return WEIR_CONFIG;
}

static enum weir_err ctx_init(struct tls_ctx *ctx, const struct tls_config *config, char *message)
{
    ctx->sees_secrets = kdf_offer();
    ctx->ssl = SSL_CTX_new_ex(NULL, ctx->sees_secrets ? KDF_QUERY : NULL, TLS_server_method());
    if (ctx->ssl == NULL)
        return WEIR_NOMEM;
    enum weir_err err = ctx_set_policy(ctx);
    if (err == WEIR_OK)
        err = ctx_set_suites(ctx, config->aead, message);
    if (err == WEIR_OK)
        err = tickets_init(ctx, config->ticket_period_s > 0 ? config->ticket_period_s
                                                            : TLS_TICKET_PERIOD_S);
    if (err == WEIR_OK)
        err = ctx_open_keylog(ctx, config->keylog_file, message);
    if (err == WEIR_OK)
        err = handshake_ctx_init(ctx);
    if (err != WEIR_OK)
        return err;
    if (config->cert_file != NULL)
        return cert_load(ctx->ssl, config->cert_file, config->key_file, message);
    if (config->key_file == NULL)
        return cert_make(ctx->ssl, message);
    snprintf(message, TLS_MESSAGE_LEN, "--key '%s' without a certificate; name that with --cert",
             config->key_file);
    return WEIR_CONFIG;
}

enum weir_err tls_ctx_new(const struct tls_config *config, struct tls_ctx **out, char *message)
{
    *out = NULL;
    snprintf(message, TLS_MESSAGE_LEN, "OpenSSL cannot be set up; is its configuration sound?");
    struct tls_ctx *ctx = calloc(1, sizeof(*ctx));
    if (ctx == NULL)
        return WEIR_NOMEM;
    ctx->keylog_fd = -1;
    enum weir_err err = ctx_init(ctx, config, message);
    if (err != WEIR_OK) {
        tls_ctx_free(ctx);
        return err;
    }
    message[0] = '\0';
    *out = ctx;
    return WEIR_OK;
}

void tls_ctx_free(struct tls_ctx *ctx)
{
    if (ctx == NULL)
        return;
    SSL_CTX_free(ctx->ssl);
    BIO_meth_free(ctx->bio);
    EVP_MD_free(ctx->sha256);
    EVP_MD_free(ctx->sha384);
    EVP_CIPHER_free(ctx->ticket_cipher);
    if (ctx->keylog_fd != -1)
        close(ctx->keylog_fd);
    OPENSSL_cleanse(ctx->ticket_master, sizeof(ctx->ticket_master));
    free(ctx);
}

const char *tls_ctx_engine(const struct tls_ctx *ctx)
{
    return ctx->engine;
}
