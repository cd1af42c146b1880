/*
 * The ready-made responses of a file.
 */
#ifndef FILES_DESCRIBE_H
#define FILES_DESCRIBE_H

#include "file.h"

/* Fill f->whole and its kin from size, time and bytes; the path decides type and rules. */
void file_describe(struct file *f, const struct file_env *env, const char *path);

#endif
