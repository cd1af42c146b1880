/*
 * Records under application keys (RFC 8446 5): one direction's keys, sealing and opening.
 *
 *     [23][3 3][length][  ciphertext of: content, content type, zeros   ][tag]
 *      └──── head, 5 B ────┘                                              16 B
 *
 * Invariant: a nonce is used for one record that leaves; seq counts them.
 * Thread:    one worker.
 */
#ifndef TLS_RECORD_H
#define TLS_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "aead.h"
#include "alert.h"
#include "keys.h"
#include "weir/err.h"

struct mem;

#define RECORD_HEAD_LEN 5
#define RECORD_TEXT_MAX 16384           /* bytes of content: 2^14 */
#define RECORD_EXTRA (1 + AEAD_TAG_LEN) /* bytes that sealing adds to the content */
#define RECORD_BODY_MAX (RECORD_TEXT_MAX + RECORD_EXTRA)
#define RECORD_OVERHEAD (RECORD_HEAD_LEN + RECORD_EXTRA)

/* What protects one direction of a connection.  Zeroed: nothing yet. */
struct record_keys {
    void *state;                   /* Own: the key made ready, from mem; NULL before init */
    uint64_t seq;                  /* of the next record under this key */
    uint8_t iv[AEAD_NONCE_LEN];    /* combined with seq into the nonce */
    uint8_t secret[KEYS_HASH_MAX]; /* traffic secret that all this comes from */
};

/* Derive the keys of a secret.  Err: WEIR_NOMEM; deinit is legal. */
WEIR_MUST_USE
enum weir_err record_keys_init(struct record_keys *k, const struct keys_suite *suite,
                               enum aead_direction direction, const uint8_t *secret,
                               struct mem *mem);

/* Go on to the next traffic secret; seq starts anew.  Err: WEIR_NOMEM: give up the connection. */
WEIR_MUST_USE
enum weir_err record_keys_update(struct record_keys *k, const struct keys_suite *suite,
                                 enum aead_direction direction);

/* Wipe everything.  Legal on a zeroed struct. */
void record_keys_deinit(struct record_keys *k, const struct keys_suite *suite);

/*
 * Seal one record of `len` bytes of content, given as pieces, into dst, which has room for
 * len + RECORD_OVERHEAD.  pieces[count] must exist: the content type is put there.
 * seq is as before: the caller counts when the record is sure to be sent.
 */
WEIR_MUST_USE
enum weir_err record_seal(const struct record_keys *k, const struct keys_suite *suite,
                          enum content_type type, struct iovec *pieces, size_t count, size_t len,
                          uint8_t *dst);

/* What a record held. */
struct record_content {
    uint8_t type;
    uint8_t *bytes; /* inside the record */
    size_t len;     /* RECORD_TEXT_MAX at most */
};

/*
 * Look at a head before its body is there: ALERT_NONE, or what is wrong with it.
 * Gives the length of the body.
 */
enum alert record_check_head(const uint8_t head[RECORD_HEAD_LEN], size_t *body_len);

/*
 * Open a whole record whose head was found right, in place, and count it.
 * ALERT_NONE and *out, or what is wrong; the record's bytes are noise then.
 */
enum alert record_open(struct record_keys *k, const struct keys_suite *suite, uint8_t *record,
                       size_t body_len, struct record_content *out);

#endif
