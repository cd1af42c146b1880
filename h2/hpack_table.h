/*
 * The tables of an HPACK decoder (RFC 7541 2.3).
 *
 * An entry is a name and a value in one block, never changed and counted by its holders, so that a
 * request refers to it for as long as it likes, also when the table has long dropped it.  It
 * carries what was found out about it: for a field that comes again, that is looked at no more.
 *
 *     index   1 ─── 61   62 ────────────────────── 61 + count
 *             static     newest entry ─────▶ oldest entry, which is the next to go
 *
 * Thread: entries of the static table are shared, and never written; others are a connection's.
 */
#ifndef H2_HPACK_TABLE_H
#define H2_HPACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "field_kind.h"
#include "internal/limits.h"
#include "weir/err.h"
#include "weir/request.h"

struct mem;

struct hpack_entry {
    uint32_t refs;             /* holders; 0: of the static table, and not counted */
    uint32_t len;              /* by RFC 7541 4.1, which is that of RFC 9113 6.5.2 as well */
    enum field_kind name_kind; /* field_kind_of_name() */
    enum field_kind kind;      /* field_kind_of() */
    struct weir_field field;   /* its bytes follow the entry, or are constant */
    struct weir_memo memo;     /* of the handler, for the value; not of the static table's */
};

#define HPACK_STATIC_COUNT 61
#define HPACK_OVERHEAD 32 /* bytes that an entry counts beside its own (RFC 7541 4.1) */
#define HPACK_ENTRIES_MAX (LIMIT_HPACK_TABLE / HPACK_OVERHEAD)
#define HPACK_ENTRIES_MIN 16 /* places of the ring at first */

struct hpack_table {
    struct hpack_entry **ring; /* Own; grows to HPACK_ENTRIES_MAX; NULL until the first entry */
    uint32_t cap;              /* of ring, a power of two */
    uint32_t newest;           /* number of the newest entry; its place is that modulo cap */
    uint32_t count;            /* entries */
    uint32_t len;              /* their size (RFC 7541 4.1) */
    uint32_t max;              /* of len: the peer's choice, at most LIMIT_HPACK_TABLE */
};

void hpack_table_init(struct hpack_table *t);

/* Legal on a zeroed struct. */
void hpack_table_deinit(struct hpack_table *t);

/* The static table's entry at index 1..HPACK_STATIC_COUNT. */
extern const struct hpack_entry hpack_static[HPACK_STATIC_COUNT + 1];

/* The entry at an index, or NULL.  Borrowed. */
static inline const struct hpack_entry *hpack_table_get(const struct hpack_table *t, uint32_t index)
{
    if (index - 1 < HPACK_STATIC_COUNT)
        return &hpack_static[index];
    uint32_t back = index - HPACK_STATIC_COUNT - 1;
    return back < t->count ? t->ring[(t->newest - back) & (t->cap - 1)] : NULL;
}

/* A size update (RFC 7541 6.3); max <= LIMIT_HPACK_TABLE. */
void hpack_table_resize(struct hpack_table *t, uint32_t max);

/*
 * Insert an entry, at the cost of old ones; one that is larger than the table empties it.
 * Own: the table takes a reference of its own.  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err hpack_table_add(struct hpack_table *t, struct mem *mem, struct hpack_entry *e);

static inline void hpack_entry_ref(const struct hpack_entry *e)
{
    if (e->refs != 0)
        ((struct hpack_entry *)(uintptr_t)e)->refs++;
}

/* Its memo, or NULL. */
static inline struct weir_memo *hpack_entry_memo(const struct hpack_entry *e)
{
    return e->refs == 0 ? NULL : &((struct hpack_entry *)(uintptr_t)e)->memo;
}

/* Drop a reference. */
void hpack_entry_unref(const struct hpack_entry *e);

#endif
