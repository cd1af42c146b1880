/* See kdf.h. */
#include "kdf.h"

#include <pthread.h>
#include <string.h>

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/provider.h>

#define PROVIDER_NAME "weir"
#define KDF_NAME "TLS13-KDF"

/* A hash function of ours: SHA-256 or SHA-384. */
struct kdf_hash {
    const char *name;
    const char *other_name; /* OpenSSL has two for each */
    struct keys_suite suite;
    uint8_t of_nothing[KEYS_HASH_MAX];
};

static struct kdf_hash hashes[] = {
    {.name = "SHA2-256", .other_name = "SHA256"},
    {.name = "SHA2-384", .other_name = "SHA384"},
};
#define HASHES (sizeof(hashes) / sizeof(hashes[0]))

static _Thread_local struct kdf_secrets *watch;

void kdf_watch(struct kdf_secrets *secrets)
{
    watch = secrets;
}

/* Parameters of a call (EVP_KDF-TLS13_KDF(7)); what is left out has no data. */
struct kdf_call {
    const OSSL_PARAM *mode;
    const OSSL_PARAM *digest;
    const OSSL_PARAM *key;
    const OSSL_PARAM *salt;
    const OSSL_PARAM *prefix;
    const OSSL_PARAM *label;
    const OSSL_PARAM *data;
};

static struct kdf_call call_read(const OSSL_PARAM *params)
{
    static const OSSL_PARAM none = OSSL_PARAM_END;
    struct kdf_call c = {&none, &none, &none, &none, &none, &none, &none};
    const struct {
        const char *name;
        const OSSL_PARAM **place;
    } known[] = {
        {OSSL_KDF_PARAM_MODE, &c.mode},     {OSSL_KDF_PARAM_DIGEST, &c.digest},
        {OSSL_KDF_PARAM_KEY, &c.key},       {OSSL_KDF_PARAM_SALT, &c.salt},
        {OSSL_KDF_PARAM_PREFIX, &c.prefix}, {OSSL_KDF_PARAM_LABEL, &c.label},
        {OSSL_KDF_PARAM_DATA, &c.data},
    };
    for (const OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            if (strcmp(p->key, known[i].name) == 0)
                *known[i].place = p;
        }
    }
    return c;
}

static bool is_text(const OSSL_PARAM *p, const char *text)
{
    size_t len = strlen(text);
    return p->data != NULL && p->data_size == len && memcmp(p->data, text, len) == 0;
}

static const struct kdf_hash *call_hash(const struct kdf_call *c)
{
    for (size_t i = 0; i < HASHES; i++) {
        if (is_text(c->digest, hashes[i].name) || is_text(c->digest, hashes[i].other_name))
            return &hashes[i];
    }
    return NULL;
}

static void watch_note(const struct kdf_call *c, const uint8_t *secret, size_t len)
{
    if (watch == NULL || len > KEYS_HASH_MAX)
        return;
    if (is_text(c->label, "c ap traffic")) {
        memcpy(watch->client, secret, len);
    } else if (is_text(c->label, "s ap traffic")) {
        memcpy(watch->server, secret, len);
        watch->has_server = true;
    }
}

/* HKDF-Expand-Label(key, label, data) */
static bool kdf_expand(const struct kdf_call *c, const struct kdf_hash *hash, uint8_t *out,
                       size_t out_len)
{
    const struct keys_label label = {c->label->data, c->label->data_size, c->data->data,
                                     c->data->data_size};
    if (c->key->data_size != hash->suite.hash_len ||
        keys_expand_labelled(&hash->suite, c->key->data, label, out, out_len) != WEIR_OK)
        return false;
    watch_note(c, out, out_len);
    return true;
}

/* HKDF-Extract(Derive-Secret(salt, "derived", ""), key); zeros stand for what is left out. */
static bool kdf_extract(const struct kdf_call *c, const struct kdf_hash *hash, uint8_t *out)
{
    static const uint8_t zeros[KEYS_HASH_MAX];
    const struct keys_suite *suite = &hash->suite;
    uint8_t salt[KEYS_HASH_MAX] = {0};
    if (c->salt->data != NULL) {
        const struct keys_label label = {c->label->data, c->label->data_size, hash->of_nothing,
                                         suite->hash_len};
        if (c->salt->data_size != suite->hash_len ||
            keys_expand_labelled(suite, c->salt->data, label, salt, suite->hash_len) != WEIR_OK)
            return false;
    }
    struct iovec key = {(void *)(uintptr_t)zeros, suite->hash_len};
    if (c->key->data != NULL)
        key = (struct iovec){c->key->data, c->key->data_size};
    uint8_t digest[KEYS_HASH_MAX];
    bool ok = keys_hmac(suite->md, salt, suite->hash_len, &key, 1, digest) == WEIR_OK;
    if (ok)
        memcpy(out, digest, suite->hash_len);
    OPENSSL_cleanse(salt, sizeof(salt));
    OPENSSL_cleanse(digest, sizeof(digest));
    return ok;
}

/* ---- what OpenSSL calls ---- */

/* Why no object: all there is to a call comes with it. */
static void *on_new(void *provider)
{
    return provider;
}

static void on_free(void *ctx)
{
    (void)ctx;
}

static int on_derive(void *ctx, unsigned char *out, size_t out_len, const OSSL_PARAM params[])
{
    (void)ctx;
    const struct kdf_call c = call_read(params);
    const struct kdf_hash *hash = call_hash(&c);
    int mode = -1;
    if (hash == NULL || OSSL_PARAM_get_int(c.mode, &mode) != 1 ||
        (c.prefix->data != NULL && !is_text(c.prefix, KEYS_LABEL_PREFIX)))
        return 0;
    switch (mode) {
    case EVP_KDF_HKDF_MODE_EXPAND_ONLY: return kdf_expand(&c, hash, out, out_len);
    case EVP_KDF_HKDF_MODE_EXTRACT_ONLY:
        return out_len == hash->suite.hash_len && kdf_extract(&c, hash, out);
    default: return 0;
    }
}

static const OSSL_ALGORITHM *on_query(void *provider, int operation, int *is_not_to_be_kept)
{
    static const OSSL_DISPATCH kdf[] = {
        {OSSL_FUNC_KDF_NEWCTX, (void (*)(void))on_new},
        {OSSL_FUNC_KDF_FREECTX, (void (*)(void))on_free},
        {OSSL_FUNC_KDF_DERIVE, (void (*)(void))on_derive},
        {0, NULL},
    };
    static const OSSL_ALGORITHM kdfs[] = {
        {KDF_NAME, "provider=" PROVIDER_NAME ",weir.kdf=yes", kdf, NULL},
        {NULL, NULL, NULL, NULL},
    };
    (void)provider;
    *is_not_to_be_kept = 0;
    return operation == OSSL_OP_KDF ? kdfs : NULL;
}

static int on_provider(const OSSL_CORE_HANDLE *core, const OSSL_DISPATCH *in,
                       const OSSL_DISPATCH **out, void **provider)
{
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))on_query},
        {0, NULL},
    };
    (void)core;
    (void)in;
    *out = functions;
    *provider = hashes; /* of no use, but it must not be NULL */
    return 1;
}

/* ---- offering it ---- */

static bool hash_make_ready(struct kdf_hash *hash)
{
    EVP_MD *md = EVP_MD_fetch(NULL, hash->name, NULL); /* for as long as the program runs */
    if (md == NULL || EVP_Digest("", 0, hash->of_nothing, NULL, md, NULL) != 1) {
        EVP_MD_free(md);
        return false;
    }
    hash->suite = (struct keys_suite){.md = md, .hash_len = (size_t)EVP_MD_get_size(md)};
    return true;
}

/* Is it what the query gives?  The machine's configuration may demand another. */
static bool is_taken(void)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, KDF_NAME, KDF_QUERY);
    bool is_ours = kdf != NULL &&
                   strcmp(OSSL_PROVIDER_get0_name(EVP_KDF_get0_provider(kdf)), PROVIDER_NAME) == 0;
    EVP_KDF_free(kdf);
    return is_ours;
}

static OSSL_PROVIDER *loaded; /* Own, for as long as the program runs; NULL: it could not be */
static bool is_offered;

static void offer(void)
{
    if (hash_make_ready(&hashes[0]) && hash_make_ready(&hashes[1]) &&
        OSSL_PROVIDER_add_builtin(NULL, PROVIDER_NAME, on_provider) == 1)
        loaded = OSSL_PROVIDER_try_load(NULL, PROVIDER_NAME, 1);
    is_offered = loaded != NULL && is_taken();
    ERR_clear_error();
}

bool kdf_offer(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, offer);
    return is_offered;
}
