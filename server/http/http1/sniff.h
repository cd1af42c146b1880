/*
 * Tells HTTP/2 with prior knowledge from HTTP/1.1 by the first bytes of a cleartext connection.
 * No HTTP/1.1 request begins like the client preface: "PRI" is reserved for it (RFC 9113 3.4).
 */
#ifndef HTTP1_SNIFF_H
#define HTTP1_SNIFF_H

#include <stddef.h>
#include <stdint.h>

/* The client connection preface (RFC 9113 3.4). */
#define SNIFF_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SNIFF_PREFACE_LEN (sizeof(SNIFF_PREFACE) - 1)

enum sniff {
    SNIFF_MORE,  /* so far a prefix of the preface: ask again with more bytes */
    SNIFF_H2,    /* the whole preface */
    SNIFF_HTTP1, /* something else */
};

/* bytes: all that has arrived since the connection was accepted. */
enum sniff sniff(const uint8_t *bytes, size_t len);

#endif
