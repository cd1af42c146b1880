/*
 * The counters of all workers as one line of JSON (`--stats`).
 */
#ifndef OPS_STATS_JSON_H
#define OPS_STATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "internal/stats.h"
#include "tls_conn.h"

struct stats_report {
    struct stats stats;
    struct tls_stats tls_stats;
    bool has_allocations;
    uint64_t allocations; /* after warm-up */
    size_t blocks_live;
};

/* Add b to a. */
void stats_add(struct stats *a, const struct stats *b);
void tls_stats_add(struct tls_stats *a, const struct tls_stats *b);

void stats_print(const struct stats_report *r, FILE *to);

#endif
