/*
 * Paths resolved below a directory, step by step, where the kernel does not do it: openat2(2) came
 * with Linux 5.6, and sandboxes older than it refuse it.
 */
#ifndef FILES_BENEATH_H
#define FILES_BENEATH_H

#include <stdbool.h>

struct stats;

/* True if openat2(2) works here; it then is the better way, since no step can race with a rename.
 */
bool beneath_is_in_kernel(void);

/*
 * What openat2(2) does with RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS: open `path` relative to
 * `root_fd`, following links, but never out of the directory.  EXDEV: the path leads out.  EAGAIN:
 * the tree changed on the way; try again.  `flags` may not create.
 * Own: the caller closes the descriptor.  Err: -1, and errno as openat2(2) would set it.
 */
int beneath_open(int root_fd, const char *path, int flags, struct stats *stats);

#endif
