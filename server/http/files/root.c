/* See root.h. */
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "internal/log.h"
#include "internal/stats.h"
#include "beneath.h"

/*
 * Tries of an open that raced with a change of the tree, which is EAGAIN.  To openat2(2) that is a
 * rename anywhere on the machine, if the path has a `..` in a link; a walk only minds its own path.
 */
#define OPENAT2_TRIES 4
#define WALK_TRIES 4

#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)

/* Linux 5.12; older headers do not name it. */
#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/* File systems (statfs(2)) whose opens and looks ask the disk at most. */
static const uint32_t local_types[] = {
    0x0000ef53, /* ext2, ext3, ext4 */
    0x58465342, /* xfs */
    0x9123683e, /* btrfs */
    0xf2f52010, /* f2fs */
    0x2fc12fc1, /* zfs */
    0x01021994, /* tmpfs */
    0x858458f6, /* ramfs */
    0x794c7630, /* overlayfs; what it lies over is taken to be local too */
    0x73717368, /* squashfs */
    0xe0f5e1e2, /* erofs */
};

static void root_classify(struct root *root)
{
    struct statfs fs;
    struct stat st;
    if (fstatfs(root->fd, &fs) == -1 || fstat(root->fd, &st) == -1)
        return;
    root->dev = st.st_dev;
    for (size_t i = 0; i < sizeof(local_types) / sizeof(local_types[0]); i++)
        root->is_local |= (uint32_t)fs.f_type == local_types[i];
}

enum weir_err root_open(struct root *root, const char *path, bool walks_paths, struct stats *stats)
{
    *root = (struct root){.fd = -1, .walks_paths = walks_paths, .stats = stats};
    root->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root->fd == -1) {
        log_errno(LV_ERROR, errno, "cannot serve %s", path);
        return WEIR_CONFIG;
    }
    root->path = realpath(path, NULL);
    if (root->path != NULL && strcmp(root->path, "/") == 0)
        root->path[0] = '\0';
    root_classify(root);
    return WEIR_OK;
}

bool root_is_local(const struct root *root, dev_t dev)
{
    return root->is_local && root->dev == dev;
}

void root_close(struct root *root)
{
    if (root->fd != -1)
        close(root->fd);
    root->fd = -1;
    free(root->path);
    root->path = NULL;
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

/* Open by openat2(2), and by a walk where that is unsure, or knows of no way but an absolute link.
 */
static int open_beneath(const struct root *root, const char *path)
{
    static const struct open_how how = {
        .flags = OPEN_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    int fd = -1;
    bool is_out = false;
    for (int i = 0; !root->walks_paths && !is_out && i < OPENAT2_TRIES; i++) {
        root->stats->calls.openat2++;
        fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
        is_out = fd == -1 && errno == EXDEV;
        if (fd != -1 || (errno != EAGAIN && !is_out))
            return fd;
    }
    int tries = 0;
    do {
        fd = beneath_open(root->fd, root->path, path, (int)how.flags, root->stats);
    } while (fd == -1 && errno == EAGAIN && ++tries < WALK_TRIES);
    return fd;
}

/*
 * Open what the kernel finds with what it has in memory, on the file system of the root.  What it
 * says to that is true, but for EAGAIN, for EXDEV, which also tells of another file system, and for
 * EINVAL, which Linux before 5.12 says to RESOLVE_CACHED.
 */
static unsigned try_open(const struct root *root, int dir_fd, const char *path, int *fd)
{
    static const struct open_how how = {
        .flags = OPEN_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV | RESOLVE_CACHED,
    };
    if (root->walks_paths || !root->is_local)
        return ROOT_WAITS;
    root->stats->calls.openat2++;
    *fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
    if (*fd != -1)
        return 0;
    return errno == EAGAIN || errno == EXDEV || errno == EINVAL ? ROOT_WAITS : status_of(errno);
}

unsigned root_open_file(const struct root *root, const char *path, bool may_wait, int *fd)
{
    *fd = -1;
    if (!may_wait)
        return try_open(root, root->fd, path, fd);
    *fd = open_beneath(root, path);
    return *fd == -1 ? status_of(errno) : 0;
}

unsigned root_open_in(const struct root *root, int dir_fd, const char *name, int *fd)
{
    *fd = -1;
    return try_open(root, dir_fd, name, fd);
}

int root_open_dir(const struct root *root, const char *path)
{
    static const struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_CACHED,
    };
    if (root->walks_paths || !root->is_local)
        return -1;
    root->stats->calls.openat2++;
    return (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
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
