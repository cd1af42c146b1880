/*
 * Files that are read anew for each response, for comparison: see internal/bench.h.  In builds for
 * measurement only; in others nothing is kept.
 */
#ifndef FILES_REREAD_H
#define FILES_REREAD_H

#include "file.h"
#include "look.h"

#ifdef WEIR_BENCH

/* Take over the descriptor that a snapshot was read from, if it was left open. */
void file_keep_disk(struct file *f, struct found *found);

/* Close it.  Call: when f goes. */
void file_drop_disk(struct file *f);

#else

static inline void file_keep_disk(struct file *f, struct found *found)
{
    (void)f;
    (void)found;
}

static inline void file_drop_disk(struct file *f)
{
    (void)f;
}

#endif

#endif
