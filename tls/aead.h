/*
 * Authenticated encryption: the algorithms of TLS 1.3 by several engines, behind one table.
 *
 *     pieces ──▶ [ciphertext, as long as all pieces together][16 B tag]
 *
 * Sealing gathers: the cipher reads each piece where it lies and writes to dst, so nothing is
 * copied to bring the pieces together.  Pieces below `stage_max` are copied to dst first and sealed
 * there in one go with their neighbours: a call of the cipher costs more than such a copy.
 *
 * Thread: tables are constant and may be used by all; a key by its owner.
 */
#ifndef TLS_AEAD_H
#define TLS_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "weir/err.h"

#define AEAD_KEY_MAX 32
#define AEAD_NONCE_LEN 12
#define AEAD_TAG_LEN 16

enum aead_alg { AEAD_AES_128_GCM, AEAD_AES_256_GCM, AEAD_CHACHA20_POLY1305, AEAD_ALGS };

enum aead_direction { AEAD_SEAL, AEAD_OPEN };

/* One algorithm as one engine does it.  A key is `state_len` bytes that the caller provides. */
struct aead {
    const char *name;
    size_t key_len;   /* bytes of a raw key */
    size_t state_len; /* bytes of a key made ready for use; aligned to 64 */
    size_t stage_max; /* pieces shorter than this are copied before they are sealed */
    size_t chunk;     /* of longer ones so are bytes that lie in no whole chunk of the message */

    /* Make a raw key ready.  Err: WEIR_NOMEM; state needs no deinit() then. */
    enum weir_err (*init)(void *state, const uint8_t *key, enum aead_direction direction);

    /* Wipe it.  Legal on a zeroed state. */
    void (*deinit)(void *state);

    /*
     * Seal the pieces into dst, which has room for all of them and a tag.
     * Err: WEIR_NOMEM: the engine failed; dst must not be sent.
     */
    enum weir_err (*seal)(void *state, const uint8_t nonce[AEAD_NONCE_LEN], const uint8_t *aad,
                          size_t aad_len, const struct iovec *pieces, size_t count, uint8_t *dst);

    /*
     * Open len bytes, of which the last AEAD_TAG_LEN are the tag, where they lie.  False when the
     * tag is wrong; what lies at `bytes` is noise then.
     */
    bool (*open)(void *state, const uint8_t nonce[AEAD_NONCE_LEN], const uint8_t *aad,
                 size_t aad_len, uint8_t *bytes, size_t len);
};

/* How many bytes of a piece are copied that is sealed behind `offset` bytes of its message. */
static inline size_t aead_staged(const struct aead *a, size_t offset, size_t len)
{
    if (len < a->stage_max)
        return len;
    size_t begin = (offset + a->chunk - 1) / a->chunk * a->chunk;
    size_t end = (offset + len) / a->chunk * a->chunk;
    return begin < end ? len - (end - begin) : len;
}

/* Borrowed: lives as long as the program. */
const struct aead *aead_openssl(enum aead_alg alg);

/* NULL where this program or this processor cannot do it. */
const struct aead *aead_ipsec_mb(enum aead_alg alg);

/* It is there and works on 512-bit registers (AVX-512, VAES, VPCLMULQDQ). */
bool aead_ipsec_mb_is_wide(void);

/* NULL as above; there is no ChaCha20-Poly1305 by it anywhere. */
const struct aead *aead_vaes(enum aead_alg alg);

#endif
