/*
 * File name patterns as the operator writes them.
 */
#ifndef FILES_GLOB_H
#define FILES_GLOB_H

#include <stdbool.h>

#include "weir/str.h"

/*
 * True if the pattern matches: '*' stands for any bytes but '/', "**" for any bytes, '?' for one
 * byte that is not '/', all else for itself.  A pattern without '/' is held against the last
 * segment of the path, others against the whole of it.
 * Thread: any.
 */
bool glob_match(struct weir_str pattern, struct weir_str path);

#endif
