/*
 * Heads of responses as they go out, ready-made but for `date`: of responses whose list of fields
 * has a name (fields_id), the last ones that were sent by this worker.
 *
 * Such a head is sound, since a handler's response is checked before its head is made.
 */
#ifndef HTTP1_READY_HEADS_H
#define HTTP1_READY_HEADS_H

#include <stdbool.h>

#include "weir/err.h"
#include "weir/response.h"

struct clock;
struct mem;
struct ready_heads;
struct weir_gather;

/* Own: ready_heads_free().  Borrowed: mem, which outlives it.  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err ready_heads_new(struct mem *mem, struct ready_heads **out);

/* NULL is fine. */
void ready_heads_free(struct ready_heads *r);

/* The head of this response is there.  False if r is NULL. */
bool ready_heads_has(const struct ready_heads *r, const struct weir_response *resp, bool is_head);

/*
 * Append the head of a response whose framing is its length, and that says nothing of the
 * connection; make it if it is not there.  r may be NULL.  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err ready_heads_write(struct ready_heads *r, struct weir_gather *out,
                                const struct weir_response *resp, bool is_head,
                                const struct clock *clock);

#endif
