/*
 * A look at the disk on behalf of an entry of the cache, off the loop, and who waits for it.
 *
 *     queued ──▶ under way (it has a look) ──▶ done: the cache goes on, and wakes who waits
 *
 * Thread: one worker, but for run.
 */
#ifndef FILES_OPENING_H
#define FILES_OPENING_H

#include <stdbool.h>

#include "file.h"
#include "internal/fetch.h"
#include "list.h"
#include "look.h"
#include "negotiate.h"
#include "waiter.h"

/* As many looks are under way as threads can be busy with them, and some only if they are quick. */
#define OPENINGS_MAX LIMIT_HELPERS

enum opening_kind {
    OPENING_STAT,   /* is it what it was? */
    OPENING_OPEN,   /* open it */
    OPENING_DECODE, /* make the original from a sibling */
};

struct openings;

struct opening {
    struct fetch fetch;
    struct list link; /* among those that are queued */
    struct openings *all;
    enum opening_kind kind;
    const char *path; /* Borrowed: it stays as long as this */
    struct hint hint;
    struct file *packed[CODINGS]; /* Own: references of what may be decoded */
    struct look *look;            /* Borrowed from all; NULL while it is queued */
    struct list waiters;
    void *entry; /* the cache's */
    /* The result is in the look, which is the caller's until it returns. */
    void (*done)(struct opening *o);
};

/* Those of one worker. */
struct openings {
    const struct file_env *env; /* Borrowed */
    struct list queue;          /* those that wait for a look */
    struct list quick;          /* the same, of kind OPENING_STAT */
    struct look *looks;         /* Own: OPENINGS_MAX, and one for the loop */
    struct look *free[OPENINGS_MAX];
    unsigned free_count;
};

/* Err: WEIR_NOMEM. */
WEIR_MUST_USE
enum weir_err openings_init(struct openings *all, const struct file_env *env);
void openings_deinit(struct openings *all);

/* The look of the loop's thread; it is initialised. */
struct look *openings_own_look(struct openings *all);

/* Do it in the calling thread: look is given and initialised. */
void opening_run(struct opening *o);

/* Have it done off the loop.  Own: kept by the caller until done. */
void opening_start(struct opening *o);

#endif
