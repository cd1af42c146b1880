/*
 * The guard before a chunked body (RFC 9112 7.1).
 *
 * It walks the framing byte by byte, finds the end of the body, and rejects what is malformed or
 * wasteful.  The parser reads the same bytes after it, and must come to the same end.
 */
#ifndef HTTP1_CHUNKED_H
#define HTTP1_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

enum chunked_result { CHUNKED_MORE, CHUNKED_DONE, CHUNKED_BAD };

enum chunked_state {
    CHUNKED_SIZE,          /* hex digits */
    CHUNKED_EXT,           /* behind the semicolon */
    CHUNKED_SIZE_LF,       /* LF that ends the size line */
    CHUNKED_DATA,          /* bytes of the body */
    CHUNKED_DATA_CR,       /* CR behind them */
    CHUNKED_DATA_LF,       /* LF behind them */
    CHUNKED_TRAILER,       /* first byte of a trailer line, or CR of the last line */
    CHUNKED_TRAILER_NAME,  /* field name */
    CHUNKED_TRAILER_VALUE, /* behind the colon */
    CHUNKED_TRAILER_LF,    /* LF that ends a trailer line */
    CHUNKED_LAST_LF,       /* LF that ends the body */
};

#define CHUNKED_NAME_CAP 20 /* one more than the longest name that is looked for, and rounded */

/* Zeroed means: at the start of a body. */
struct chunked {
    enum chunked_state state;
    uint16_t status;             /* after CHUNKED_BAD: the answer that is due */
    uint16_t digits;             /* of the current size */
    uint16_t fields;             /* trailer fields so far */
    uint64_t left;               /* bytes of the current chunk that are still to come */
    uint64_t body;               /* bytes of the body so far */
    uint64_t total;              /* bytes so far, framing included */
    size_t ext;                  /* bytes of extensions of the current chunk */
    size_t ext_total;            /* bytes of extensions so far */
    size_t trailer;              /* bytes of the trailer section so far */
    size_t name_len;             /* bytes of the current trailer field's name */
    char name[CHUNKED_NAME_CAP]; /* the first of them, lower case */
};

/* Take in bytes; *used of them belong to the body. */
enum chunked_result chunked_feed(struct chunked *c, const uint8_t *bytes, size_t len, size_t *used);

#endif
