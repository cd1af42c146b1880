/*
 * Entity-tags of large files whose time says nothing: each is made of the content, once, off the
 * loop, and piece by piece, so that whatever else waits for a disk gets its turn.
 *
 * Meanwhile the file is sent without a tag.  Who makes a condition has to wait: the answer depends
 * on it.
 *
 * Thread: one worker.
 */
#ifndef FILES_TAGGER_H
#define FILES_TAGGER_H

#include <stdbool.h>

#include "file.h"
#include "list.h"
#include "waiter.h"

/* Those of one worker. */
struct tagger {
    const struct file_env *env; /* Borrowed */
    struct list queue;          /* files that are to have a tag */
    bool is_running;            /* a piece of the first one is under way */
    bool is_ending;
};

/* Borrowed: env, for as long as t is used. */
void tagger_init(struct tagger *t, const struct file_env *env);

/* See that a file without a tag gets one.  False: it has it, or cannot have any. */
bool tagger_begin(struct tagger *t, struct file *f);

/* Wait for it to be done, if tagger_begin() is true. */
void tagger_wait(struct file *f, struct waiter *waiter);

/* Begin no other piece: this is the end. */
void tagger_end(struct tagger *t);

#endif
