/*
 * Which names in a directory need a closer look: one in which several files were opened is scanned
 * once, and names that come later are added as the kernel tells of them.
 *
 * Invariant: one that is scanned is watched.
 * Thread:    one worker.
 */
#ifndef FILES_DIR_HINT_H
#define FILES_DIR_HINT_H

#include <stdbool.h>

#include "look.h"
#include "weir/str.h"

struct dir;
struct dirs;

/* A file at `path` is about to be opened: what is known of it and, if wanted, of its siblings. */
struct hint dirs_hint(struct dirs *d, struct weir_str path, bool with_siblings);

/* A name has come into a directory, and may be special. */
void dir_note_arrival(const struct dirs *d, struct dir *dir, struct weir_str name);

#endif
