/* The key schedule that OpenSSL's handshakes are given, against OpenSSL's own. */
#include "cm.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/provider.h>

#include "kdf.h"

/* A call, as libssl makes it. */
struct call {
    const char *digest;
    int mode;
    const uint8_t *key;
    size_t key_len;
    const uint8_t *salt; /* NULL: there is none */
    size_t salt_len;
    const char *prefix;
    const char *label;
    const uint8_t *data;
    size_t data_len;
    size_t out_len;
};

static OSSL_PARAM octets(const char *name, const void *bytes, size_t len)
{
    return OSSL_PARAM_construct_octet_string(name, (void *)(uintptr_t)bytes, len);
}

static bool run(const char *query, const struct call *c, uint8_t *out)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS13-KDF", query);
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    int mode = c->mode;
    OSSL_PARAM params[8];
    size_t n = 0;
    params[n++] = OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode);
    params[n++] =
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)(uintptr_t)c->digest, 0);
    if (c->key != NULL)
        params[n++] = octets(OSSL_KDF_PARAM_KEY, c->key, c->key_len);
    if (c->salt != NULL)
        params[n++] = octets(OSSL_KDF_PARAM_SALT, c->salt, c->salt_len);
    params[n++] = octets(OSSL_KDF_PARAM_PREFIX, c->prefix, strlen(c->prefix));
    params[n++] = octets(OSSL_KDF_PARAM_LABEL, c->label, strlen(c->label));
    if (c->data != NULL)
        params[n++] = octets(OSSL_KDF_PARAM_DATA, c->data, c->data_len);
    params[n] = OSSL_PARAM_construct_end();
    bool ok = EVP_KDF_derive(ctx, out, c->out_len, params) == 1;
    EVP_KDF_CTX_free(ctx);
    EVP_KDF_free(kdf);
    return ok;
}

static const uint8_t noise[64] = "what is derived from must be as long as a digest, here: any text";

static void it_agrees_with_openssl_in_every_shape(void **state)
{
    (void)state;
    static const struct {
        const char *digest;
        size_t len;
    } hashes[] = {{"SHA256", 32}, {"SHA2-256", 32}, {"SHA384", 48}, {"SHA2-384", 48}};
    static const char *const labels[] = {"c hs traffic", "exp master", "key", "iv", "finished"};
    for (size_t h = 0; h < sizeof(hashes) / sizeof(hashes[0]); h++) {
        const size_t len = hashes[h].len;
        struct call calls[2 * 5 + 4];
        size_t n = 0;
        for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
            struct call c = {.digest = hashes[h].digest,
                             .mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY,
                             .key = noise,
                             .key_len = len,
                             .prefix = "tls13 ",
                             .label = labels[i],
                             .out_len = i % 2 == 0 ? len : 12};
            calls[n++] = c;
            c.data = noise + 5;
            c.data_len = len;
            calls[n++] = c;
        }
        for (size_t i = 0; i < 4; i++)
            calls[n++] = (struct call){.digest = hashes[h].digest,
                                       .mode = EVP_KDF_HKDF_MODE_EXTRACT_ONLY,
                                       .key = i & 1 ? noise : NULL,
                                       .key_len = 56,
                                       .salt = i & 2 ? noise + 3 : NULL,
                                       .salt_len = len,
                                       .prefix = "tls13 ",
                                       .label = "derived",
                                       .out_len = len};
        for (size_t i = 0; i < n; i++) {
            uint8_t ours[KEYS_HASH_MAX] = {1};
            uint8_t theirs[KEYS_HASH_MAX] = {2};

            assert_true(run(KDF_QUERY, &calls[i], ours));
            assert_true(run("provider=default", &calls[i], theirs));

            assert_memory_equal(ours, theirs, calls[i].out_len);
        }
    }
}

static void what_it_does_not_know_is_refused(void **state)
{
    (void)state;
    const struct call right = {.digest = "SHA256",
                               .mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY,
                               .key = noise,
                               .key_len = 32,
                               .prefix = "tls13 ",
                               .label = "key",
                               .out_len = 16};
    struct call wrong[] = {right, right, right, right, right, right};
    wrong[0].digest = "SHA512";
    wrong[1].mode = EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND;
    wrong[2].key_len = 31;
    wrong[3].prefix = "dtls13";
    wrong[4].label = "a label that is longer than any of TLS";
    wrong[5].key = NULL;
    uint8_t out[KEYS_HASH_MAX];

    assert_true(run(KDF_QUERY, &right, out));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(run(KDF_QUERY, &wrong[i], out));
}

static void a_watch_sees_the_secrets_of_records_alone(void **state)
{
    (void)state;
    static const uint8_t zeros[KEYS_HASH_MAX];
    struct kdf_secrets seen = {0};
    struct call c = {.digest = "SHA256",
                     .mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY,
                     .key = noise,
                     .key_len = 32,
                     .prefix = "tls13 ",
                     .label = "c hs traffic",
                     .data = noise,
                     .data_len = 32,
                     .out_len = 32};
    uint8_t out[KEYS_HASH_MAX];

    kdf_watch(&seen);
    assert_true(run(KDF_QUERY, &c, out));
    assert_memory_equal(seen.client, zeros, sizeof(zeros));
    c.label = "s ap traffic";
    assert_true(run(KDF_QUERY, &c, out));
    assert_memory_equal(seen.server, out, 32);
    assert_true(seen.has_server);
    c.label = "c ap traffic";
    assert_true(run(KDF_QUERY, &c, out));
    assert_memory_equal(seen.client, out, 32);
    kdf_watch(NULL);

    c.key = noise + 1;
    uint8_t other[KEYS_HASH_MAX];
    assert_true(run(KDF_QUERY, &c, other));
    assert_memory_not_equal(other, out, 32);
    assert_memory_equal(seen.client, out, 32);
}

/* What others in the process ask OpenSSL for stays what it was. */
static void nobody_else_gets_it(void **state)
{
    (void)state;
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS13-KDF", NULL);
    assert_non_null(kdf);
    assert_string_equal(OSSL_PROVIDER_get0_name(EVP_KDF_get0_provider(kdf)), "default");
    EVP_KDF_free(kdf);
    EVP_MD *md = EVP_MD_fetch(NULL, "SHA256", KDF_QUERY);
    assert_non_null(md);
    assert_string_equal(OSSL_PROVIDER_get0_name(EVP_MD_get0_provider(md)), "default");
    EVP_MD_free(md);
}

static int setup(void **state)
{
    (void)state;
    return kdf_offer() && kdf_offer() ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_agrees_with_openssl_in_every_shape),
        cmocka_unit_test(what_it_does_not_know_is_refused),
        cmocka_unit_test(a_watch_sees_the_secrets_of_records_alone),
        cmocka_unit_test(nobody_else_gets_it),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
