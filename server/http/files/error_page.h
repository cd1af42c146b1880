/*
 * A file of the operator's in place of the body of a failure.
 */
#ifndef FILES_ERROR_PAGE_H
#define FILES_ERROR_PAGE_H

#include <stdbool.h>

#include "file.h"
#include "weir/request.h"

/*
 * Answer with the bytes of `f` under that status, without its validators: the page stands for no
 * resource.
 * Own:   takes a reference on f for itself.
 * False: there is no memory, and nothing was sent.
 */
bool error_page_respond(struct weir_request *r, struct mem *mem, struct file *f, unsigned status);

#endif
