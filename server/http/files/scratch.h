/*
 * Memory of whoever works off the loop, where a worker's pools must not be touched: a map that
 * takes pages as they are written to.
 */
#ifndef FILES_SCRATCH_H
#define FILES_SCRATCH_H

#include <stddef.h>

#include "weir/err.h"

struct stats;

struct scratch {
    char *base; /* Own; NULL: there is none */
    size_t cap; /* bytes */
};

/* Own: scratch_deinit().  Err: WEIR_NOMEM; then scratch_deinit() is legal too. */
WEIR_MUST_USE
enum weir_err scratch_init(struct scratch *s, size_t cap, struct stats *stats);

void scratch_deinit(struct scratch *s, struct stats *stats);

#endif
