/*
 * What a change of a name in a directory makes doubtful: entries, and paths that led nowhere.
 *
 * Thread: one worker.
 */
#ifndef FILES_DOUBT_H
#define FILES_DOUBT_H

#include <stdbool.h>

#include "weir/str.h"

struct dir;
struct missing;
struct store;

/* `dir` told of it; is_new: there may be something else at the name than before. */
void doubt_change(struct store *store, struct missing *missing, const struct dir *dir,
                  struct weir_str name, bool is_new);

#endif
