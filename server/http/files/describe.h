/*
 * What responses say of a file.
 *
 * One field list serves three responses:
 *
 *     content-length content-type accept-ranges x-content-type-options content-encoding
 *         server cache-control vary etag last-modified
 *         └─────────── 304 ───────────┘
 *
 * A 304 repeats what a cache must know anew (RFC 9110 15.4.5); the date goes with it only if there
 * is no tag.
 */
#ifndef FILES_DESCRIBE_H
#define FILES_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"
#include "negotiate.h"
#include "validator.h"
#include "weir/response.h"

/* Fields at the most. */
#define FILE_FIELDS 12

/* Where the fields of every file stand that only a whole representation has. */
enum { FILE_CONTENT_LENGTH, FILE_CONTENT_TYPE, FILE_FIELDS_FIXED };

/* Views of texts are of what follows the fields. */
struct description {
    uint64_t lists_id;            /* names the list of a 200; the next ones those of 206 and 304 */
    struct validators validators; /* views of the texts, too */
    uint16_t len;                 /* bytes, with fields and texts */
    uint8_t field_count;          /* of all */
    uint8_t kept_from;            /* the first that a 304 has too */
    uint8_t kept_to;              /* and behind the last */
    int8_t urgency;               /* see struct weir_response */
    char mark;                    /* of its tag: tells its coding; NUL: none */
    struct weir_field fields[];
};

/*
 * Say of f what follows from size, time and bytes.  The path, that of the resource, decides type
 * and rules; coding is how the bytes are coded, and has_siblings tells that another request may get
 * them in another way.  Gives 0 or 503.
 */
unsigned file_describe(struct file *f, const char *path, enum coding coding, bool has_siblings);

/* Add the tag that a file lacks, made of the digest of its content; responses under way stay. */
void file_add_tag(struct file *f, const uint64_t digest[2]);

/*
 * Responses with all of it, which is read from file_source; with the same fields and no body; and
 * a 304.
 * Borrowed: f, to which a reference has to go with the response.
 */
struct weir_response file_whole(struct file *f);
struct weir_response file_head(struct file *f);
struct weir_response file_not_modified(struct file *f);

/* The name of its field list but for content-length, in a 206. */
static inline uint64_t file_partial_id(const struct file *f)
{
    return f->says->lists_id + 1;
}

#endif
