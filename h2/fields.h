/*
 * The field sections of responses, as HPACK (RFC 7541).
 *
 * nghttp2 would encode a response's fields from scratch each time.  But most responses repeat one
 * that the same connection has sent before, and its encoding stays the same for as long as the
 * dynamic table does not change.  So the connection has an encoder of its own, which remembers the
 * last encodings; nghttp2 is given the :status alone, and what it makes of that is replaced on its
 * way out (output.c).
 *
 * Invariant: fields_encode() is called in the order in which field sections leave, each once, since
 *            the peer's decoder follows the same table.
 */
#ifndef H2_FIELDS_H
#define H2_FIELDS_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/err.h"
#include "weir/response.h"

struct clock;
struct fields_memo;
struct mem;

/* Bytes of a field section at the most: it goes into one HEADERS frame (RFC 9113 4.2). */
#define FIELDS_ENCODED_MAX 16384

/* Fields of a response, beside :status and date. */
#define FIELDS_MAX 62

/* Encodings that are remembered. */
#define FIELDS_MEMOS 16

struct fields_encoder {
    nghttp2_hd_deflater *deflater;
    struct fields_memo *memos[FIELDS_MEMOS]; /* Own: last encodings; each NULL until its first */
    uint64_t generation;                     /* counts changes of the dynamic table */
    bool has_noted;                          /* sizes of the table that are not in effect yet: */
    uint32_t noted_min;                      /* the smallest of them */
    uint32_t noted_last;
};

/* Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err fields_encoder_init(struct fields_encoder *e, nghttp2_mem *memory);

/* Legal on a zeroed struct. */
void fields_encoder_deinit(struct fields_encoder *e);

/*
 * The peer's SETTINGS_HEADER_TABLE_SIZE: to be told of at once, in effect with our acknowledgement.
 * Why: the peer's decoder changes when that arrives, and a field section may wait in front of it.
 */
void fields_encoder_note_size(struct fields_encoder *e, uint32_t table_len);

/*
 * SETTINGS were acknowledged: sections from here on keep to the sizes noted, the smallest of which
 * has to be told to the decoder as well (RFC 7541 4.2).  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err fields_encoder_apply_sizes(struct fields_encoder *e);

/*
 * Encode :status, the response's fields and date; `scratch` has FIELDS_ENCODED_MAX bytes.  Fields
 * of this response alone come last, as literals that leave the table as it is.
 * Borrowed: *bytes lies in scratch or in the encoder, and is true until the next call.
 * Err: WEIR_STREAM: they do not fit.  WEIR_NOMEM.  The table may have changed: end the connection.
 */
WEIR_MUST_USE
enum weir_err fields_encode(struct fields_encoder *e, struct mem *mem,
                            const struct weir_response *resp, const struct clock *clock,
                            uint8_t *scratch, const uint8_t **bytes, size_t *len);

/*
 * Whether a field section, validly encoded, leaves the decoder's table alone: no literal with
 * incremental indexing and no size update (RFC 7541 6.2.1, 6.3).
 */
bool fields_is_stable(const uint8_t *bytes, size_t len);

#endif
