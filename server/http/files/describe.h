/*
 * The ready-made responses of a file.
 */
#ifndef FILES_DESCRIBE_H
#define FILES_DESCRIBE_H

#include <stdbool.h>

#include "file.h"
#include "negotiate.h"

/*
 * Fill f->whole and its kin from size, time and bytes.  The path, that of the resource, decides
 * type and rules; coding is how the bytes are coded, and has_siblings tells that another request
 * may get them in another way.
 */
void file_describe(struct file *f, const struct file_env *env, const char *path, enum coding coding,
                   bool has_siblings);

/* Add the tag that a file lacks, made of the digest of its content; responses under way stay. */
void file_add_tag(struct file *f, const uint64_t digest[2]);

#endif
