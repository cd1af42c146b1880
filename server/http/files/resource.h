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
    bool is_decoded;             /* the original was made from a sibling: it is not on disk */
    bool is_undecodable;         /* that was tried in vain */
    const char *path;            /* Borrowed: begins with '/' */
};

/*
 * Gives 0 and a resource that goes to resource_close(), or the status due; see file_open().
 * Borrowed: path, for as long as the resource is open.
 */
unsigned resource_open(const struct file_env *env, const char *path, struct resource *out);

void resource_close(struct resource *r);

/* Descriptors that it holds, and bytes of memory. */
size_t resource_maps(const struct resource *r);
size_t resource_len(const struct resource *r);

/* True if what is on disk is what r was opened from. */
bool resource_is_same(const struct file_env *env, const struct resource *r);

/* True if a file of it was seen to have changed. */
bool resource_is_stale(const struct resource *r);

/*
 * The file to answer a request with: of the codings that the client likes best the smallest.  An
 * original that is not there is made for a client that understands nothing else.  If it likes
 * nothing at all, it gets whatever there is.
 * Borrowed: from r.
 */
struct file *resource_choose(const struct file_env *env, struct resource *r,
                             const struct weir_request *request);

#endif
