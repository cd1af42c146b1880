/*
 * The names of files that are compressed already, beside the original.
 */
#ifndef FILES_SIBLING_H
#define FILES_SIBLING_H

#include <limits.h>
#include <stdbool.h>

#include "negotiate.h"
#include "weir/str.h"

/* What a name ends with; of CODING_IDENTITY nothing. */
extern const struct weir_str sibling_suffixes[CODINGS];

/* The path of a sibling.  False: it is too long to exist. */
bool sibling_path(const char *path, enum coding coding, char out[PATH_MAX]);

/* Which coding a name is the sibling in; CODING_IDENTITY: it is none. */
enum coding sibling_coding(struct weir_str name);

#endif
