/*
 * Where the certificate of a context comes from.
 */
#ifndef TLS_CERT_H
#define TLS_CERT_H

#include <openssl/ssl.h>

#include "tls_context.h"
#include "weir/err.h"

/* Err: as tls_ctx_new(). */
WEIR_MUST_USE
enum weir_err cert_load(SSL_CTX *ssl, const char *cert_file, const char *key_file, char *message);

/* Make a self-signed ECDSA P-256 certificate for this machine's own names.  Err: as above. */
WEIR_MUST_USE
enum weir_err cert_make(SSL_CTX *ssl, char *message);

#endif
