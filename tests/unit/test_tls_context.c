/* Contexts: certificates from files and from memory, readable errors, the key log, threads. */

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "tls_peer.h"

static char dir[] = "/tmp/weir-tls-XXXXXX";
static EVP_PKEY *ec_key;
static EVP_PKEY *rsa_key;

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

static FILE *file_new(const char *name)
{
    FILE *f = fopen(path_of(name), "w");
    assert_non_null(f);
    return f;
}

static X509 *cert_new(EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509_set_version(cert, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    return cert;
}

static void write_pair(const char *cert_name, const char *key_name, EVP_PKEY *key)
{
    X509 *cert = cert_new(key);
    FILE *f = file_new(cert_name);
    assert_int_equal(PEM_write_X509(f, cert), 1);
    fclose(f);
    f = file_new(key_name);
    assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(f);
    X509_free(cert);
}

static int make_files(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    ec_key = EVP_EC_gen("P-256");
    rsa_key = EVP_RSA_gen(2048);
    write_pair("ec.crt", "ec.key", ec_key);
    write_pair("rsa.crt", "rsa.key", rsa_key);
    FILE *f = file_new("both.pem");
    X509 *cert = cert_new(ec_key);
    PEM_write_PrivateKey(f, ec_key, NULL, NULL, 0, NULL, NULL);
    PEM_write_X509(f, cert);
    X509_free(cert);
    cert = cert_new(rsa_key);
    PEM_write_X509(f, cert); /* as a second certificate of a chain */
    X509_free(cert);
    fclose(f);
    f = file_new("locked.key");
    PEM_write_PrivateKey(f, ec_key, EVP_aes_128_cbc(), (unsigned char *)(uintptr_t) "secret", 6,
                         NULL, NULL);
    fclose(f);
    f = file_new("junk");
    fputs("this is no PEM file\n", f);
    fclose(f);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    static const char *const names[] = {"ec.crt",   "ec.key",     "rsa.crt", "rsa.key",
                                        "both.pem", "locked.key", "junk",    "keylog"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(path_of(names[i]));
    rmdir(dir);
    EVP_PKEY_free(ec_key);
    EVP_PKEY_free(rsa_key);
    return 0;
}

/* Shake hands with this certificate; gives the number of certificates that the client got. */
static int try_pair(const char *cert, const char *key)
{
    char message[TLS_MESSAGE_LEN];
    struct tls_ctx *ctx;
    struct peer p;
    struct tls_config config = {.cert_file = path_of(cert),
                                .key_file = key != NULL ? path_of(key) : NULL};
    if (tls_ctx_new(&config, &ctx, message) != WEIR_OK)
        fail_msg("%s", message);
    assert_string_equal(message, "");
    peer_init(&p, ctx, &(struct peer_config){.alpn = "\x02h2"});
    peer_shake_hands(&p);
    int certs = sk_X509_num(SSL_get_peer_cert_chain(p.ssl));
    peer_deinit(&p);
    tls_ctx_free(ctx);
    return certs;
}

static void certificates_and_keys_come_from_pem_files(void **state)
{
    (void)state;
    assert_int_equal(try_pair("ec.crt", "ec.key"), 1);
    assert_int_equal(try_pair("rsa.crt", "rsa.key"), 1);
    assert_int_equal(try_pair("both.pem", NULL), 2);
}

static void what_is_wrong_with_them_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *cert;
        const char *key;
        const char *words[3]; /* that the message must have */
    } cases[] = {
        {"none.crt", "ec.key", {"none.crt", "No such file", "--cert"}},
        {"ec.crt", "none.key", {"none.key", "No such file", "--key"}},
        {"junk", "ec.key", {"junk", "no certificate", "--cert"}},
        {"ec.crt", "junk", {"junk", "no private key", "--key"}},
        {"ec.crt", NULL, {"ec.crt", "no private key", "--cert"}},
        {"ec.crt", "ec.crt", {"ec.crt", "no private key", "--key"}},
        {"ec.crt", "locked.key", {"locked.key", "not encrypted", "--key"}},
        {"rsa.crt", "ec.key", {"ec.key", "rsa.crt", "--key"}},
        {NULL, "ec.key", {"ec.key", "without a certificate", "--cert"}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char message[TLS_MESSAGE_LEN];
        struct tls_ctx *ctx = (struct tls_ctx *)dir;
        struct tls_config config = {
            .cert_file = cases[i].cert != NULL ? path_of(cases[i].cert) : NULL,
            .key_file = cases[i].key != NULL ? path_of(cases[i].key) : NULL,
        };

        assert_int_equal(tls_ctx_new(&config, &ctx, message), WEIR_CONFIG);

        assert_null(ctx);
        for (size_t w = 0; w < 3; w++) {
            if (strstr(message, cases[i].words[w]) == NULL)
                fail_msg("'%s' is not in: %s", cases[i].words[w], message);
        }
    }
}

static void the_certificate_in_memory_is_for_this_machine(void **state)
{
    (void)state;
    static const char *const addresses[] = {"127.0.0.1", "::1"};
    struct tls_ctx *ctx = peer_tls_ctx(TLS_AEAD_AUTO);
    X509 *cert = SSL_CTX_get0_certificate(ctx->ssl);

    assert_int_equal(X509_check_host(cert, "localhost", 0, 0, NULL), 1);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(X509_check_ip_asc(cert, addresses[i], 0), 1);
    assert_int_equal(X509_check_host(cert, "example.com", 0, 0, NULL), 0);
    assert_int_equal(X509_cmp_current_time(X509_get0_notBefore(cert)), -1);
    assert_int_equal(X509_cmp_current_time(X509_get0_notAfter(cert)), 1);
    assert_int_equal(X509_verify(cert, X509_get0_pubkey(cert)), 1);

    tls_ctx_free(ctx);
}

static void the_key_log_holds_both_application_secrets(void **state)
{
    (void)state;
    char message[TLS_MESSAGE_LEN];
    char line[512];
    struct tls_ctx *ctx;
    struct peer p;
    struct tls_config config = {.keylog_file = path_of("keylog")};
    assert_int_equal(tls_ctx_new(&config, &ctx, message), WEIR_OK);
    peer_init(&p, ctx, &(struct peer_config){.alpn = "\x02h2"});
    peer_shake_hands(&p);

    char expected[2 * KEYS_HASH_MAX + 1];
    for (size_t i = 0; i < p.conn->suite->hash_len; i++)
        snprintf(expected + 2 * i, 3, "%02x", p.conn->tx.secret[i]);
    size_t found = 0;
    FILE *f = fopen(path_of("keylog"), "r");
    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "CLIENT_TRAFFIC_SECRET_0 ", 24) == 0)
            found++;
        if (strncmp(line, "SERVER_TRAFFIC_SECRET_0 ", 24) == 0 && strstr(line, expected) != NULL)
            found++;
    }
    fclose(f);

    assert_int_equal(found, 2);
    peer_deinit(&p);
    tls_ctx_free(ctx);
}

static void a_key_log_that_cannot_be_written_is_refused(void **state)
{
    (void)state;
    char message[TLS_MESSAGE_LEN];
    struct tls_ctx *ctx;
    struct tls_config config = {.keylog_file = path_of("no/such/folder")};

    assert_int_equal(tls_ctx_new(&config, &ctx, message), WEIR_CONFIG);

    assert_non_null(strstr(message, "--keylog"));
}

/* It is what it is called, or the message says that it cannot be had. */
static void check_engine(enum tls_aead_choice choice, const char *name, bool is_there)
{
    char message[TLS_MESSAGE_LEN];
    struct tls_ctx *ctx;
    enum weir_err err = tls_ctx_new(&(struct tls_config){.aead = choice}, &ctx, message);
    assert_int_equal(err, is_there ? WEIR_OK : WEIR_CONFIG);
    if (is_there)
        assert_string_equal(tls_ctx_engine(ctx), name);
    else
        assert_non_null(strstr(message, name));
    tls_ctx_free(ctx);
}

static void the_engine_is_as_chosen(void **state)
{
    (void)state;
    struct tls_ctx *ctx = peer_tls_ctx(TLS_AEAD_OPENSSL);
    assert_string_equal(tls_ctx_engine(ctx), "openssl");
    tls_ctx_free(ctx);

    bool has_ipsec_mb = aead_ipsec_mb(AEAD_AES_128_GCM) != NULL;
    bool has_vaes = aead_vaes(AEAD_AES_128_GCM) != NULL;
    const char *best = has_ipsec_mb ? "ipsec-mb" : "openssl";
    if (has_vaes && !aead_ipsec_mb_is_wide())
        best = "vaes";
    ctx = peer_tls_ctx(TLS_AEAD_AUTO);
    assert_string_equal(tls_ctx_engine(ctx), best);
    tls_ctx_free(ctx);

    check_engine(TLS_AEAD_IPSEC_MB, "ipsec-mb", has_ipsec_mb);
    check_engine(TLS_AEAD_VAES, "vaes", has_vaes);
}

#define THREADS 4
#define CONNECTIONS 20

/* One worker's connections, each but the first by the ticket of the one before. */
static void *work(void *arg)
{
    struct tls_ctx *ctx = arg;
    SSL_SESSION *session = NULL;
    size_t resumed = 0;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct peer p;
        peer_init(&p, ctx, &(struct peer_config){.alpn = "\x02h2", .session = session});
        peer_shake_hands(&p);
        peer_check_up(&p, 2000);
        peer_check_down(&p, 20000);
        resumed += tls_conn_is_resumed(p.conn);
        SSL_SESSION_free(session);
        session = p.session;
        p.session = NULL;
        peer_deinit(&p);
    }
    SSL_SESSION_free(session);
    return (void *)resumed;
}

static void workers_share_a_context(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct tls_ctx *ctx = peer_tls_ctx(TLS_AEAD_AUTO);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, ctx), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *resumed;
        assert_int_equal(pthread_join(threads[i], &resumed), 0);
        assert_int_equal((size_t)resumed, CONNECTIONS - 1);
    }
    tls_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_and_keys_come_from_pem_files),
        cmocka_unit_test(what_is_wrong_with_them_is_said),
        cmocka_unit_test(the_certificate_in_memory_is_for_this_machine),
        cmocka_unit_test(the_key_log_holds_both_application_secrets),
        cmocka_unit_test(a_key_log_that_cannot_be_written_is_refused),
        cmocka_unit_test(the_engine_is_as_chosen),
        cmocka_unit_test(workers_share_a_context),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
