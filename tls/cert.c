/* See cert.h. */
#include "cert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#define SELF_SIGNED_NAMES "DNS:localhost,IP:127.0.0.1,IP:::1"
#define SELF_SIGNED_S (365L * 24 * 3600)
#define CLOCK_SKEW_S (24L * 3600) /* clients whose clock is behind ours */

__attribute__((format(printf, 2, 3))) static enum weir_err refuse(char *message, const char *format,
                                                                  ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, TLS_MESSAGE_LEN, format, args);
    va_end(args);
    ERR_clear_error();
    return WEIR_CONFIG;
}

/* What OpenSSL found first.  Borrowed: a literal. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_error());
    return text != NULL ? text : "unknown reason";
}

/* A file that cannot be opened is told apart from one with the wrong content. */
static enum weir_err check_readable(const char *file, const char *option, char *message)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd != -1) {
        close(fd);
        return WEIR_OK;
    }
    char text[128];
    return refuse(message, "cannot open '%s': %s; check the file named by %s", file,
                  strerror_r(errno, text, sizeof(text)), option);
}

/* Called for encrypted keys: there is nobody to ask. */
static int no_passphrase(char *buf, int size, int writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

enum weir_err cert_load(SSL_CTX *ssl, const char *cert_file, const char *key_file, char *message)
{
    const char *key_option = key_file != NULL ? "--key" : "--cert";
    if (key_file == NULL)
        key_file = cert_file;
    enum weir_err err = check_readable(cert_file, "--cert", message);
    if (err == WEIR_OK)
        err = check_readable(key_file, key_option, message);
    if (err != WEIR_OK)
        return err;

    ERR_clear_error();
    SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
    if (SSL_CTX_use_certificate_chain_file(ssl, cert_file) != 1)
        return refuse(message,
                      "no certificate in '%s' (%s); --cert wants a PEM file, the server's own "
                      "certificate first",
                      cert_file, reason());
    bool is_key = SSL_CTX_use_PrivateKey_file(ssl, key_file, SSL_FILETYPE_PEM) == 1;
    bool is_other = ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH;
    if (!is_key && !is_other)
        return refuse(message,
                      "no private key in '%s' (%s); %s wants a PEM file with an EC or RSA key "
                      "that is not encrypted",
                      key_file, reason(), key_option);
    if (!is_key || SSL_CTX_check_private_key(ssl) != 1)
        return refuse(message,
                      "the key in '%s' does not belong to the certificate in '%s'; --key wants "
                      "the one that the certificate was made for",
                      key_file, cert_file);
    return WEIR_OK;
}

static bool cert_add_names(X509 *cert)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, NID_subject_alt_name, SELF_SIGNED_NAMES);
    bool ok = ext != NULL && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok;
}

/* A serial number of 63 random bits: a browser refuses two certificates with the same one. */
static bool cert_set_serial(X509 *cert)
{
    uint64_t serial;
    if (RAND_bytes((unsigned char *)&serial, sizeof(serial)) != 1)
        return false;
    return ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1 | 1) == 1;
}

static bool cert_fill(X509 *cert, EVP_PKEY *key)
{
    X509_NAME *name = X509_get_subject_name(cert);
    return X509_set_version(cert, X509_VERSION_3) == 1 && cert_set_serial(cert) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), -CLOCK_SKEW_S) != NULL &&
           X509_gmtime_adj(X509_getm_notAfter(cert), SELF_SIGNED_S) != NULL &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost",
                                      -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, name) == 1 && cert_add_names(cert) &&
           X509_set_pubkey(cert, key) == 1 && X509_sign(cert, key, EVP_sha256()) > 0;
}

enum weir_err cert_make(SSL_CTX *ssl, char *message)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bool ok = key != NULL && cert != NULL && cert_fill(cert, key) &&
              SSL_CTX_use_certificate(ssl, cert) == 1 && SSL_CTX_use_PrivateKey(ssl, key) == 1;
    enum weir_err err = WEIR_OK;
    if (!ok)
        err = refuse(message, "cannot make a certificate (%s); name one with --cert", reason());
    X509_free(cert);
    EVP_PKEY_free(key);
    return err;
}
