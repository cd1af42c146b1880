/*
 * What the protocols have in common when they hand out the body of a response.
 */
#ifndef CORE_RESPONSE_BODY_H
#define CORE_RESPONSE_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "weir/gather.h"
#include "weir/response.h"

struct stats;

/*
 * Read the bytes behind the first `sent` of the body, at most `max` of them (max >= 1), and hold
 * the source to its contract.
 * Own: *out carries a reference.
 * Err: AGAIN: the source is going to call weir_response_resume(), or has done so already.
 *      CLOSED: there are no more; resp->body_len, if it was not known, is `sent` from now on.
 *      STREAM: they cannot be had.  NOMEM.
 */
WEIR_MUST_USE
enum weir_err response_body_read(struct weir_response *resp, uint64_t sent, size_t max,
                                 struct weir_slice *out);

/*
 * Append a slice of a body, and count its bytes by the way they take.
 * Own: takes over the slice's reference, also when it fails.  Err: NOMEM.
 */
WEIR_MUST_USE
enum weir_err response_body_append(struct weir_gather *out, struct weir_slice s,
                                   struct stats *stats);

#endif
