/*
 * See tickets.h.
 *
 * A ticket key is derived from a secret of the process, the number of the period, and the name that
 * the client asked for (SNI).  So keys rotate by themselves, workers need no lock to agree, and a
 * ticket for one name is no ticket for another: its key is not found, and the handshake is a full
 * one.
 */
#include "tickets.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "clock.h"
#include "handshake.h"

#define TICKET_NAME_LEN 16
#define TICKET_KEY_LEN 32 /* AES-256-CBC, HMAC-SHA-256 */
#define TICKETS_PER_HANDSHAKE 2
#define TICKET_RENEW 2 /* it is good, and a new one follows: clients use a ticket once (C.4) */
#define SNI_MAX 255

struct ticket_key {
    uint8_t name[TICKET_NAME_LEN];
    uint8_t cipher_key[TICKET_KEY_LEN];
    uint8_t mac_key[TICKET_KEY_LEN];
};

/* A server name, not terminated. */
struct ticket_sni {
    const uint8_t *name;
    size_t len;
};

/*
 * The name in a ClientHello that is being looked at: OpenSSL reads tickets before names.
 *     struct { uint16 list_length; uint8 type = 0; uint16 length; opaque name[length]; }
 */
static struct ticket_sni sni_of_hello(SSL *ssl)
{
    const unsigned char *ext;
    size_t len;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &ext, &len) != 1 || len < 5)
        return (struct ticket_sni){(const uint8_t *)"", 0};
    return (struct ticket_sni){ext + 5, len - 5};
}

static struct ticket_sni sni_of_session(const SSL *ssl)
{
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == NULL)
        name = "";
    return (struct ticket_sni){(const uint8_t *)name, strnlen(name, SNI_MAX)};
}

static enum weir_err ticket_key_derive(const struct tls_ctx *ctx, uint64_t period,
                                       struct ticket_sni sni, struct ticket_key *key)
{
    static const char purpose[] = "weir session ticket";
    uint8_t info[sizeof(purpose) + sizeof(period) + SNI_MAX];
    size_t name_len = sni.len < SNI_MAX ? sni.len : SNI_MAX;
    memcpy(info, purpose, sizeof(purpose));
    memcpy(info + sizeof(purpose), &period, sizeof(period));
    memcpy(info + sizeof(purpose) + sizeof(period), sni.name, name_len);
    return keys_expand(ctx->sha256, ctx->ticket_master, TICKET_MASTER_LEN, info,
                       sizeof(purpose) + sizeof(period) + name_len, (uint8_t *)key, sizeof(*key));
}

static bool ticket_mac_init(EVP_MAC_CTX *mac, struct ticket_key *key)
{
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac_key, TICKET_KEY_LEN),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, params) == 1;
}

static int ticket_seal(const struct tls_ctx *ctx, SSL *ssl, uint64_t period, unsigned char *name,
                       unsigned char *iv, EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
    struct ticket_key key;
    bool ok = ticket_key_derive(ctx, period, sni_of_session(ssl), &key) == WEIR_OK &&
              RAND_bytes(iv, EVP_CIPHER_get_iv_length(ctx->ticket_cipher)) == 1 &&
              EVP_EncryptInit_ex2(cipher, ctx->ticket_cipher, key.cipher_key, iv, NULL) == 1 &&
              ticket_mac_init(mac, &key);
    if (ok)
        memcpy(name, key.name, TICKET_NAME_LEN);
    OPENSSL_cleanse(&key, sizeof(key));
    return ok ? 1 : -1;
}

static int ticket_open(const struct tls_ctx *ctx, SSL *ssl, uint64_t period,
                       const unsigned char *name, const unsigned char *iv, EVP_CIPHER_CTX *cipher,
                       EVP_MAC_CTX *mac)
{
    struct ticket_key key;
    struct ticket_sni sni = sni_of_hello(ssl);
    int result = 0; /* no such key: full handshake */
    for (uint64_t age = 0; age < 2 && result == 0; age++) {
        if (ticket_key_derive(ctx, period - age, sni, &key) != WEIR_OK) {
            result = -1;
        } else if (CRYPTO_memcmp(key.name, name, TICKET_NAME_LEN) == 0) {
            bool ok =
                EVP_DecryptInit_ex2(cipher, ctx->ticket_cipher, key.cipher_key, iv, NULL) == 1 &&
                ticket_mac_init(mac, &key);
            result = ok ? TICKET_RENEW : -1;
        }
    }
    OPENSSL_cleanse(&key, sizeof(key));
    return result;
}

static int on_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                         EVP_MAC_CTX *mac, int sealing)
{
    const struct handshake *hs = handshake_from(ssl);
    uint64_t period = (uint64_t)hs->clock->date_s / hs->ctx->ticket_period_s;
    if (sealing)
        return ticket_seal(hs->ctx, ssl, period, name, iv, cipher, mac);
    return ticket_open(hs->ctx, ssl, period, name, iv, cipher, mac);
}

enum weir_err tickets_init(struct tls_ctx *ctx, uint32_t period_s)
{
    static const unsigned char id[] = "weir";
    ctx->ticket_cipher = EVP_CIPHER_fetch(NULL, "AES-256-CBC", NULL);
    if (ctx->ticket_cipher == NULL || RAND_bytes(ctx->ticket_master, TICKET_MASTER_LEN) != 1 ||
        SSL_CTX_set_session_id_context(ctx->ssl, id, sizeof(id) - 1) != 1 ||
        SSL_CTX_set_num_tickets(ctx->ssl, TICKETS_PER_HANDSHAKE) != 1 ||
        SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx->ssl, on_ticket_key) != 1)
        return WEIR_NOMEM;
    ctx->ticket_period_s = period_s;
    SSL_CTX_set_timeout(ctx->ssl, 2L * period_s);
    SSL_CTX_set_session_cache_mode(ctx->ssl, SSL_SESS_CACHE_OFF);
    return WEIR_OK;
}
