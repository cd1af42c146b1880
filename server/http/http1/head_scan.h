/*
 * The scan of a request head that comes before the parser.
 *
 * It finds the end of the head and rejects what the parser lets through: folded lines, line ends
 * that are not CRLF, control characters, empty names, space before a colon, more than one space
 * in the request line, versions other than 1.0 and 1.1, and whatever is too long or too many.
 * Each byte is looked at once, however the head is cut, so the outcome does not depend on cuts.
 */
#ifndef HTTP1_HEAD_SCAN_H
#define HTTP1_HEAD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum head_result { HEAD_MORE, HEAD_DONE, HEAD_BAD };

enum head_state {
    HEAD_START,      /* before the request line */
    HEAD_START_LF,   /* inside an empty line before it */
    HEAD_METHOD,     /* request line: method */
    HEAD_TARGET,     /* request line: request-target */
    HEAD_VERSION,    /* request line: HTTP-version */
    HEAD_LINE_LF,    /* LF that ends the request line or a field line */
    HEAD_LINE_START, /* first byte of a field line, or CR of the last line */
    HEAD_NAME,       /* field name */
    HEAD_VALUE,      /* behind the colon */
    HEAD_LAST_LF,    /* LF that ends the head */
};

/* Zeroed means: at the start of a head. */
struct head_scan {
    enum head_state state;
    bool had_empty_line; /* one CRLF before the request line was skipped (RFC 9112 2.2) */
    uint16_t status;     /* after HEAD_BAD: the answer that is due */
    size_t pos;          /* bytes looked at; after HEAD_DONE: length of the head */
    size_t start;        /* where the request line starts */
    size_t mark;         /* where the current line, or token of the request line, starts */
    size_t method_len;   /* bytes of the method, from start on */
    size_t fields;       /* field lines so far */
};

/*
 * Go on with the scan of `bytes`, of which `len` are there now and scan->pos were there the last
 * time.  Field names are lower-cased in place.
 */
enum head_result head_scan(struct head_scan *scan, uint8_t *bytes, size_t len);

/* True for a tchar (RFC 9110 5.6.2). */
bool head_is_tchar(uint8_t c);

/* True for a byte of a field value: field-vchar, SP or HTAB (RFC 9110 5.5). */
bool head_is_text(uint8_t c);

/* How many bytes from the first on are such bytes. */
size_t head_text_len(const uint8_t *bytes, size_t len);

#endif
