/*
 * An HPACK decoder (RFC 7541): bytes of field blocks into entries of its tables.
 *
 * Invariant: every block of the peer is decoded, in order and whole, whatever becomes of its
 *            stream; after an error the tables of both sides differ, and the connection must end.
 */
#ifndef H2_HPACK_DECODE_H
#define H2_HPACK_DECODE_H

#include <stdbool.h>

#include "hpack_table.h"

/* Bytes of a name and its value as they are coded: no field of more is worth waiting for. */
#define HPACK_STRINGS_MAX LIMIT_FIELD_BYTES_HARD

/*
 * Literals that are not added to the table, and yet come again and again: clients do so with :path,
 * if-modified-since and if-none-match.
 * Remembered as they are coded, with a name of the static table, so that they mean the same for
 * ever.  Those that are never to be added are not remembered either (RFC 7541 7.1.3).
 */
#define HPACK_RECENT 8
#define HPACK_RECENT_LEN 55 /* bytes of a literal that is remembered at the most */

struct hpack_recent {
    const struct hpack_entry *entry; /* Own: a reference */
    uint8_t len;
    uint8_t bytes[HPACK_RECENT_LEN];
};

struct hpack_decoder {
    struct mem *mem; /* Borrowed */
    struct hpack_table table;
    struct hpack_recent *recent[HPACK_RECENT]; /* Own: each made when it is first needed */
    bool may_resize; /* a block begins: size updates may come (RFC 7541 4.2) */
};

void hpack_decoder_init(struct hpack_decoder *d, struct mem *mem);

/* Entries that requests hold stay.  Legal on a zeroed struct. */
void hpack_decoder_deinit(struct hpack_decoder *d);

/* A field block begins. */
void hpack_decoder_begin(struct hpack_decoder *d);

/*
 * Decode the next field of a block, from *at on; what is behind the field, and size updates in
 * front of it, are stepped over.
 * Own: *out is a reference of the caller's.
 * Err: AGAIN: the bytes end, before a field or within one; *at tells from where on they are needed
 *      again.  PROTO: COMPRESSION_ERROR.  LIMIT: a string longer than what is worth decoding.
 *      NOMEM.
 */
WEIR_MUST_USE
enum weir_err hpack_decode(struct hpack_decoder *d, const uint8_t **at, const uint8_t *end,
                           const struct hpack_entry **out);

#endif
