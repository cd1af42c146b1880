/*
 * What is served under one path: the file, and its siblings that are compressed already.
 *
 *     app.js   app.js.br   app.js.zst   app.js.gz
 *
 * A sibling counts if it is a regular file and not older than the original.  A tree may hold
 * siblings alone.
 */
#ifndef FILES_RESOURCE_H
#define FILES_RESOURCE_H

#include <stdbool.h>

#include "file.h"
#include "negotiate.h"

struct resource {
    struct file *files[CODINGS]; /* Own: a reference each; NULL: there is none, at least one is */
    bool has_siblings;           /* there is a choice: whoever stores an answer must know */
};

/* Gives 0 and a resource that goes to resource_close(), or the status due; see file_open(). */
unsigned resource_open(const struct file_env *env, const char *path, struct resource *out);

void resource_close(struct resource *r);

/* Files that it holds. */
size_t resource_count(const struct resource *r);

/* True if what is on disk is what r was opened from. */
bool resource_is_same(const struct file_env *env, const char *path, const struct resource *r);

/* True if a file of it was seen to have changed. */
bool resource_is_stale(const struct resource *r);

/*
 * The file to answer a request with: of the codings that the client likes best the smallest, and
 * if it likes none, whatever there is.
 * Borrowed: from r.
 */
struct file *resource_choose(const struct resource *r, const struct weir_request *request);

#endif
