/*
 * The key schedule of the handshake (RFC 8446 7.1) for OpenSSL, by our own HMAC.
 *
 * OpenSSL 3 looks its functions up by name, as TLS13-KDF, and lets a program offer one of its own.
 * Why we do: a handshake calls it two dozen times, at 3.8 us by OpenSSL's and 1.5 by this.  And we
 * see the traffic secrets go by, which else come through the key log: OpenSSL writes five lines of
 * that for each handshake, in hexadecimal, at 6.5 us a line.
 *
 * Thread: kdf_offer() any; what is offered is constant.  A watch belongs to its thread.
 */
#ifndef TLS_KDF_H
#define TLS_KDF_H

#include <stdbool.h>
#include <stdint.h>

#include "keys.h"

/*
 * What a context of OpenSSL asks by, to get it: a property query, which leaves the last word to the
 * machine's configuration of OpenSSL.  Who asks in another way gets what he got before.
 */
#define KDF_QUERY "?weir.kdf=yes"

/* The secrets that records after the handshake are protected by. */
struct kdf_secrets {
    uint8_t client[KEYS_HASH_MAX]; /* client_application_traffic_secret_0 */
    uint8_t server[KEYS_HASH_MAX]; /* server_application_traffic_secret_0 */
    bool has_server;               /* it is the first of the two */
};

/*
 * Offer it to OpenSSL's handshakes; once per process, however often it is called.  False: they go
 * on with OpenSSL's own, as that configuration or want of memory has it, and no watch sees
 * anything.
 */
bool kdf_offer(void);

/* Note the secrets that are derived on this thread from now on; NULL: no longer.  Borrowed. */
void kdf_watch(struct kdf_secrets *secrets);

#endif
