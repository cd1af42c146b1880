/*
 * The AEAD engines by name, and which of them a machine is best served by.
 *
 * Measured, ns to seal a record of AES-128-GCM in three pieces (Zen 3, which has VAES and no
 * AVX-512; the middle of three runs), and a key made ready:
 *
 *                  64 B   1 KiB   4 KiB   16 KiB     key
 *     vaes           96     210     570     2040     110
 *     ipsec-mb       75     360    1130     4250     130    by 128-bit registers
 *     openssl       330     600    1450     4600     800
 *
 * With AVX-512 ipsec-mb uses 512-bit registers and needs 1350 ns for 16 KiB (Zen 4).
 * ChaCha20-Poly1305 takes 9400 ns by openssl and 11800 by ipsec-mb; vaes leaves it to openssl.
 */
#ifndef TLS_ENGINES_H
#define TLS_ENGINES_H

#include "aead.h"
#include "tls_context.h"

struct engine {
    const char *name;
    const struct aead *(*find)(enum aead_alg alg); /* NULL: not here, or not this algorithm */
};

/* NULL if it cannot be had on this machine.  Borrowed: a constant. */
const struct engine *engine_choose(enum tls_aead_choice choice);

/* What it does an algorithm with; OpenSSL does what it does not. */
const struct aead *engine_aead(const struct engine *e, enum aead_alg alg);

#endif
