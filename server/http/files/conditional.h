/*
 * Conditional requests (RFC 9110 13).
 */
#ifndef FILES_CONDITIONAL_H
#define FILES_CONDITIONAL_H

#include <stdbool.h>
#include <stdint.h>

#include "validator.h"
#include "weir/request.h"

enum condition {
    CONDITION_MET,          /* go on */
    CONDITION_NOT_MODIFIED, /* 304 */
    CONDITION_FAILED,       /* 412 */
};

/* Evaluate all preconditions of a GET or HEAD but If-Range, in the order of RFC 9110 13.2.2. */
enum condition condition_check(const struct weir_request *r, const struct validators *v,
                               int64_t now_s);

/* True if If-Range, when there is one, lets the request's ranges apply (RFC 9110 13.1.5). */
bool condition_allows_range(const struct weir_request *r, const struct validators *v,
                            int64_t now_s);

#endif
