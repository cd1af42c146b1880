/*
 * Which stream identifiers a client has used lately (RFC 9113 5.1.1).
 *
 * A client's identifiers only grow.  A field section on a lower one is an error of the whole
 * connection, of one kind if the identifier was never used, of another if its stream is closed;
 * only on a stream that we have just reset may trailers still be on their way.
 */
#ifndef H2_IDS_H
#define H2_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/limits.h"
#include "weir/err.h"

struct mem;

#define IDS_SIGNALS 128          /* identifiers that a priority may precede */
#define IDS_WINDOW 64            /* identifiers remembered one by one, the highest first */
#define IDS_RESETS LIMIT_STREAMS /* streams we have reset lately: all that can be open at once */

struct ids {
    uint32_t highest;          /* highest identifier used; 0 for none */
    uint64_t used;             /* bit i: identifier highest - 2i was used */
    uint32_t *resets;          /* Own: ring of IDS_RESETS that we have reset; NULL: none yet */
    uint32_t reset_next;       /* where the next one goes */
    unsigned __int128 signals; /* bit i: identifier highest + 2 + 2i has been given a priority */
};

enum ids_state {
    IDS_NEW,    /* higher than any before */
    IDS_UNUSED, /* passed over: never used, and never to be */
    IDS_CLOSED, /* used before */
    IDS_RESET,  /* reset by us lately */
};

/*
 * The client gave a stream a priority that it has yet to open (RFC 9218 7.1).  One that is too far
 * ahead of all others is not remembered.
 */
void ids_signal(struct ids *ids, uint32_t id);

/* True if it did so for an identifier higher than any before. */
bool ids_has_signal(const struct ids *ids, uint32_t id);

/* The client opened `id`, higher than any before. */
void ids_open(struct ids *ids, uint32_t id);

/* We reset `id`.  Err: WEIR_NOMEM: it is not remembered. */
WEIR_MUST_USE
enum weir_err ids_reset(struct ids *ids, struct mem *mem, uint32_t id);

/* Legal on a zeroed struct. */
void ids_deinit(struct ids *ids);

/* What is known of an identifier that no live stream has. */
enum ids_state ids_state(const struct ids *ids, uint32_t id);

#endif
