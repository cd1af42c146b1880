/*
 * Answers that are not a file: the statuses that say why.
 */
#ifndef FILES_FAILURE_H
#define FILES_FAILURE_H

#include "weir/request.h"

/* Methods that files know, as in the field `allow`. */
#define FAILURE_ALLOW "GET, HEAD"

#define FAILURE_KINDS 7
#define FAILURE_FIELDS 4

/* The ready field lists of one worker. */
struct failures {
    struct {
        struct weir_field fields[FAILURE_FIELDS];
        size_t field_count;
    } kinds[FAILURE_KINDS];
};

/* Borrowed: server, the value of that field, for as long as f is used; empty: no such field. */
void failures_init(struct failures *f, struct weir_str server);

/* Answer with one of 400, 403, 404, 405, 414, 500, 503. */
void failures_answer(const struct failures *f, struct weir_request *r, unsigned status);

#endif
