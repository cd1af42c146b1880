/*
 * Paths resolved below a directory, step by step, where the kernel does not do it: openat2(2) came
 * with Linux 5.6, and sandboxes older than it refuse it.  Nor does it follow absolute links that
 * come back into the directory.
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
 * A link to root_path, which has no links and no '/' at its end, or to what lies below it, is one
 * from the directory on; NULL: all absolute links lead out.
 * Own: the caller closes the descriptor.  Err: -1, and errno as openat2(2) would set it.
 */
int beneath_open(int root_fd, const char *root_path, const char *path, int flags,
                 struct stats *stats);

#endif
