/*
 * A directory as a page, or as JSON for programs.
 *
 * Reading one may wait for a disk, and of a large one takes long: it is done off the loop.  Who
 * asks for the same page meanwhile waits for the same, and is answered with the same bytes.
 *
 *     listing_respond ──▶ queued ──▶ written off the loop ──▶ done: who waits asks again
 *
 * Thread: one worker.
 */
#ifndef FILES_LISTING_H
#define FILES_LISTING_H

#include <stdint.h>

#include "list.h"
#include "root.h"
#include "waiter.h"
#include "weir/request.h"

struct file_env;
struct listing_job;

/* Those of one worker. */
struct listings {
    const struct file_env *env;  /* Borrowed */
    struct list jobs;            /* all that are not over */
    unsigned count;              /* of those */
    unsigned running;            /* of these, those that are off the loop */
    struct listing_job *pending; /* Borrowed: what listing_respond() last said LISTING_WAITS for */
};

/* Borrowed: env, for as long as all is used. */
void listings_init(struct listings *all, const struct file_env *env);

/* Not a status: whoever asked is to wait, and to ask again. */
#define LISTING_WAITS ROOT_WAITS

/*
 * Answer with the names in the directory at `path`, decoded, which begins and ends with '/'.
 * Gives 0; or the status due, and nothing was sent: 404 if there is no such directory; or
 * LISTING_WAITS.
 */
unsigned listing_respond(struct listings *all, struct weir_request *r, struct weir_str path,
                         int64_t now_s);

/* Wait for what the last call said LISTING_WAITS for. */
void listing_wait(struct listings *all, struct waiter *waiter);

#endif
