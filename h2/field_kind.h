/*
 * What a field line is to HTTP/2 itself, by its name and value alone (RFC 9113 8.2, 8.3).
 *
 * The answer is remembered with the string (hpack_table.h), so that a field that comes again by its
 * index is not looked at again.  What depends on the fields around it is in message.h.
 */
#ifndef H2_FIELD_KIND_H
#define H2_FIELD_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/str.h"

enum field_kind {
    FIELD_ORDINARY,
    FIELD_METHOD, /* pseudo-header fields */
    FIELD_SCHEME,
    FIELD_AUTHORITY,
    FIELD_PATH,
    FIELD_HOST,
    FIELD_LENGTH,
    FIELD_PRIORITY,
    FIELD_TE,        /* of names only: as a field it is ordinary or malformed */
    FIELD_MALFORMED, /* may be in no request */
    FIELD_KINDS,
};

/* What a name makes of a field if the value is right. */
enum field_kind field_kind_of_name(struct weir_str name);

/* One that says what the request is: its name begins with ':'. */
static inline bool field_kind_is_pseudo(enum field_kind kind)
{
    return kind >= FIELD_METHOD && kind <= FIELD_PATH;
}

/* The same for a field whose name is of that kind. */
enum field_kind field_kind_of(enum field_kind name, struct weir_str value);

#endif
