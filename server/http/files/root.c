/* See root.h. */
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal/log.h"
#include "internal/stats.h"
#include "beneath.h"

/* Tries of an open that raced with a rename, which is EAGAIN. */
#define OPEN_TRIES 4

enum weir_err root_open(struct root *root, const char *path, bool walks_paths, struct stats *stats)
{
    *root = (struct root){.fd = -1, .walks_paths = walks_paths, .stats = stats};
    root->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root->fd == -1) {
        log_errno(LV_ERROR, errno, "cannot serve %s", path);
        return WEIR_CONFIG;
    }
    return WEIR_OK;
}

void root_close(struct root *root)
{
    if (root->fd != -1)
        close(root->fd);
    root->fd = -1;
}

/*
 * What an errno of open or stat means to a client.  A file that is there must never be reported as
 * missing: caches and crawlers would believe it.
 */
static unsigned status_of(int err)
{
    switch (err) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP: /* a chain of links without end, or a magic link */
    case EXDEV: /* out of the root */
    case ENXIO: /* a socket, or a device that nothing drives */
    case ENODEV: return 404;
    case EACCES:
    case EPERM: return 403;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EAGAIN: return 503;
    default: log_errno(LV_WARN, err, "cannot open a file below the root"); return 500;
    }
}

static int open_beneath(const struct root *root, const char *path)
{
    static const struct open_how how = {
        .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    if (root->walks_paths)
        return beneath_open(root->fd, path, (int)how.flags, root->stats);
    root->stats->calls.openat2++;
    return (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
}

unsigned root_open_file(const struct root *root, const char *path, int *fd)
{
    *fd = open_beneath(root, path);
    for (int i = 1; i < OPEN_TRIES && *fd == -1 && errno == EAGAIN; i++)
        *fd = open_beneath(root, path);
    return *fd == -1 ? status_of(errno) : 0;
}

void root_close_file(const struct root *root, int fd)
{
    if (fd == -1)
        return;
    root->stats->calls.close++;
    close(fd);
}

unsigned root_stat(const struct root *root, const char *path, struct stat *st)
{
    root->stats->calls.newfstatat++;
    return fstatat(root->fd, path, st, 0) == 0 ? 0 : status_of(errno);
}

unsigned root_look(const struct root *root, int dir_fd, const char *name, struct stat *st)
{
    root->stats->calls.newfstatat++;
    return fstatat(dir_fd, name, st, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : status_of(errno);
}
