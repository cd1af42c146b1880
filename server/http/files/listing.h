/*
 * A directory as a page, or as JSON for programs.
 */
#ifndef FILES_LISTING_H
#define FILES_LISTING_H

#include <stdint.h>

#include "weir/request.h"

struct file_env;

/* names on one page; the query "page=N" asks for the others */
#define LISTING_PAGE 1000

/*
 * Answer with the names in the directory at `path`, decoded, which begins and ends with '/'.
 * Gives 0, or the status due, and nothing was sent: 404 if there is no such directory.
 */
unsigned listing_respond(struct weir_request *r, const struct file_env *env, struct weir_str path,
                         int64_t now_s);

#endif
