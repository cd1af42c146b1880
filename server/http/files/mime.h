/*
 * Media types by file name.  The table is built in and so the same on every host.
 */
#ifndef FILES_MIME_H
#define FILES_MIME_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/str.h"

/* of RFC 9218 4.1, where nobody says anything */
#define MIME_URGENCY_DEFAULT 3

struct mime {
    const char *extension; /* lower case, without the dot */
    struct weir_str type;  /* the field value, with charset where the type is text */
    bool is_packed;        /* compressed already: no precompressed sibling is looked for */
    uint8_t urgency;       /* default urgency (RFC 9218 4.1): 0 first, 7 last */
};

/* The type of the file at a path, by its last extension; application/octet-stream if unknown. */
const struct mime *mime_find(struct weir_str path);

/* The extension of the last segment of a path, without the dot; empty if there is none. */
struct weir_str mime_extension(struct weir_str path);

#endif
