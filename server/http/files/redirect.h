/*
 * Where a directory is that was asked for without the slash at its end.
 */
#ifndef FILES_REDIRECT_H
#define FILES_REDIRECT_H

#include <stddef.h>

#include "weir/str.h"

/* Bytes that a location may take for a path of that length and a target of that one. */
#define REDIRECT_CAP(path_len, target_len) (3 * (path_len) + (target_len) + 2)

/*
 * Write the location of the directory `path`, decoded and without a slash at its end, that
 * `target` asked for: a reference without scheme and host, which would be those that a proxy sees
 * and not the client, and with the query of the target.
 * Gives the length; 0 if the query must not stand in a field.
 */
size_t redirect_write(struct weir_str path, struct weir_str target, char *out);

#endif
