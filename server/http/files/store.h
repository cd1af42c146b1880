/*
 * Entries of the cache by path, bounded: what was not used for long makes room.
 *
 * Files that hold a descriptor and those that are copies in memory are bounded apart: the ones by
 * number, the others by bytes.
 *
 * Invariant: every entry is in one chain of the table.  It is in the ring of its kind unless it is
 *            being looked at or opened: so what a helper refers to is never evicted.
 * Thread:    one worker.
 */
#ifndef FILES_STORE_H
#define FILES_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resource.h"
#include "ring.h"
#include "trust.h"
#include "weir/err.h"
#include "weir/str.h"

struct mem;
struct opening;

/* What there is not enough of for all. */
enum kind {
    KIND_SNAPSHOT, /* bytes of memory */
    KIND_MAP,      /* open files */
    KIND_DECODED,  /* bytes of memory, of originals that were made; and a share for open files */
    KINDS,
};

struct entry {
    struct entry *chain;      /* next with the same bucket */
    uint64_t hash;            /* of the path */
    struct resource resource; /* Own */
    struct trust trust;       /* that it is what is on disk */
    struct opening *opening;  /* Own: what is done for it off the loop; NULL: nothing */
    uint32_t path_len;        /* bytes of the path as asked for */
    bool is_plain;            /* may be found by the raw path */
    bool is_filled;           /* it has a resource */
    bool was_short;           /* opening it failed for want of descriptors or memory, once */
    bool was_kept;            /* it has been in a ring */
    enum kind kind;           /* which ring it is in */
    struct ring_node node;
    char path[]; /* decoded, begins with '/'; then the name of the index if any; NUL */
};

/* The name of the file that a path with a slash at its end means. */
#define INDEX_NAME "index.html"

struct store_bounds {
    size_t maps;           /* files that are mapped, each of which holds a descriptor */
    size_t snapshot_bytes; /* memory for those that are small */
};

struct store {
    struct mem *mem;        /* Borrowed */
    struct entry **buckets; /* Own: chains by hash */
    size_t mask;            /* buckets - 1 */
    uint64_t seed;          /* of the hash: a peer cannot aim at one bucket */
    uint64_t epoch;         /* changes whenever an entry has gone, or its resource is another one */
    struct ring rings[KINDS];
};

/* Own: store_deinit().  Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err store_init(struct store *s, struct mem *mem, const struct store_bounds *bounds);

/* All entries must be in rings.  Legal on one that failed, or is zeroed. */
void store_deinit(struct store *s);

/* Borrowed: until it is evicted.  NULL: there is none. */
struct entry *store_find(const struct store *s, struct weir_str path, uint64_t hash);

/* An entry for a decoded path, in the table and in no ring; NULL: there is no memory. */
struct entry *store_add(struct store *s, struct weir_str path, uint64_t hash);

/* Take an entry that is in no ring from the table: store_find() finds it no more. */
void store_unlink(struct store *s, struct entry *e);

/* Free one that was unlinked. */
void entry_free(struct entry *e);

/* Give a filled entry a new resource.  Own: it passes to the entry. */
void store_fill(struct store *s, struct entry *e, const struct resource *resource);

/*
 * Put an entry into its ring, and drop others that are too many; take it out.  A newcomer mostly is
 * the next to go: see ring.h.
 */
void store_enter(struct store *s, struct entry *e);
void store_leave(struct store *s, struct entry *e);

/* Drop some, for want of descriptors or memory.  False: there are none. */
bool store_relieve(struct store *s);

#endif
