/*
 * Records by SSL_write(), for comparison: see internal/bench.h.  In builds for measurement only.
 *
 * Short pieces are joined to a record's worth in a buffer first, as nginx does it.  What OpenSSL
 * seals goes through the BIO of the handshake into blocks that are sent.
 */
#include <string.h>

#include <openssl/ssl.h>

#include "handshake.h"
#include "tls_conn_state.h"

#define PIECES_MAX 64
#define LONG_PIECE 8192 /* a piece of that much is given to OpenSSL where it lies */

/* Bytes of plaintext that *at shows, which lie together. */
static size_t join(struct weir_gather *plain, size_t most, uint8_t *joined, const uint8_t **at)
{
    struct weir_slice slices[PIECES_MAX];
    size_t len;
    size_t count = weir_gather_peek(plain, slices, PIECES_MAX, most, &len);
    if (slices[0].len >= LONG_PIECE || count == 1) {
        *at = slices[0].ptr;
        return slices[0].len;
    }
    size_t used = 0;
    for (size_t i = 0; i < count && slices[i].len < LONG_PIECE; i++) {
        memcpy(joined + used, slices[i].ptr, slices[i].len);
        used += slices[i].len;
    }
    *at = joined;
    return used;
}

enum weir_err copy_seal_plain(struct tls_conn *c, struct weir_gather *plain,
                              struct weir_gather *wire, size_t budget)
{
    uint8_t joined[RECORD_TEXT_MAX];
    while (plain->len > 0) {
        if (wire->len >= budget)
            return WEIR_AGAIN;
        const uint8_t *at;
        size_t len = join(plain, c->text_max, joined, &at);
        if (SSL_write(c->handshake->ssl, at, (int)len) != (int)len)
            return WEIR_NOMEM;
        weir_gather_consume(plain, len);
        c->tx.seq++; /* an alert of ours comes after it */
        c->env->stats->records_sealed++;
        enum weir_err err = weir_gather_split(&c->out, c->out.len, wire);
        if (err != WEIR_OK)
            return err;
    }
    return WEIR_OK;
}
