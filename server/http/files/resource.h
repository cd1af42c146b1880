/*
 * What is served under one path: the file, and its siblings that are compressed already.
 *
 *     app.js   app.js.br   app.js.zst   app.js.gz
 *
 * A sibling counts if it is a regular file, not empty, which no coding makes of anything, and not
 * older than the original.  A tree may hold siblings alone.
 */
#ifndef FILES_RESOURCE_H
#define FILES_RESOURCE_H

#include <stdbool.h>

#include "file.h"
#include "look.h"
#include "negotiate.h"

struct resource {
    struct file *files[CODINGS]; /* Own: a reference each; NULL: there is none, at least one is */
    bool has_siblings;           /* there is a choice: whoever stores an answer must know */
    bool is_decoded;             /* the original was made from a sibling: it is not on disk */
    unsigned decode_status;      /* 0, or why it cannot be: 500, 413; see decode.h */
    const char *path;            /* Borrowed: begins with '/' */
};

/* True if files beside the path are to be looked for. */
bool resource_may_have_siblings(const struct file_env *env, const char *path);

/*
 * Make a resource of what was found at the path, all of which it takes or leaves to look_close().
 * Gives 0 and a resource that goes to resource_close(), or the status due.
 * Borrowed: path, for as long as the resource is open.
 */
unsigned resource_make(const struct file_env *env, const char *path, struct look *look,
                       struct resource *out);

void resource_close(struct resource *r);

/* Descriptors that it holds, and bytes of memory. */
size_t resource_maps(const struct resource *r);
size_t resource_len(const struct resource *r);

/* True if a look (look_stat()) shows what r was opened from. */
bool resource_is_same(const struct resource *r, const struct look *look);

/* True if such a look may ask another machine or process. */
bool resource_is_remote(const struct resource *r);

/* True if a file of it was seen to have changed. */
bool resource_is_stale(const struct resource *r);

/*
 * Add the original, made from a sibling (decode_run()); what is wrong with it is remembered.
 * Gives 0, or 503 if it has to be tried once more.
 */
unsigned resource_add_original(struct resource *r, const struct file_env *env, struct found *found);

/*
 * The file to answer a request with: of the codings that the client likes best the smallest.  If it
 * likes nothing at all, or the original alone and that would be too large to make, it gets whatever
 * there is.  NULL: the original is due, and must be made first; or it cannot be, says
 * decode_status. Borrowed: from r.
 */
struct file *resource_choose(const struct resource *r, const struct weir_request *request);

#endif
