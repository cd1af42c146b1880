/*
 * See beneath.h.
 *
 * No call is given more than one name, and none follows a link, so that nothing but this file
 * decides where a path leads.  What a link holds is put in front of the rest of the path:
 *
 *     done "a/b"   text ......link/c/d       where `link` holds "../e"
 *     done "a/b"   text ......../e/c/d       next: up from a/b, then e
 *
 * A `..` walks the names in `done`, all of them directories when they were passed, from the root
 * again: asking for ".." would lead out if somebody moved the directory meanwhile.
 */
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal/stats.h"

/* Links followed in one path: the kernel's number (path_resolution(7)). */
#define HOPS_MAX 40
/* Bytes of a path with the links in it; the kernel bounds only each of them. */
#define TEXT_MAX ((size_t)4 * PATH_MAX)

struct walk {
    int root_fd;           /* Borrowed */
    const char *root_path; /* Borrowed: see beneath_open() */
    int dir_fd;            /* where the walk is; Own, unless it is root_fd */
    int flags;             /* of the open at the end */
    int found;             /* what that open gave; -1: not there yet */
    unsigned hops;
    struct stats *stats;
    char *next;          /* in text: what is left of the path */
    size_t done_len;     /* of done */
    char done[PATH_MAX]; /* names from the root to dir_fd, with a '/' after each */
    char text[TEXT_MAX]; /* ends in NUL, and is filled from its end */
};

/* The next name of a path. */
struct step {
    char name[NAME_MAX + 1];
    char *rest;    /* what follows it: empty, or from a '/' on */
    bool is_last;  /* no name follows */
    bool is_slash; /* but a '/' does: it must be a directory */
};

bool beneath_is_in_kernel(void)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    long fd = syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof(how));
    if (fd == -1)
        return errno != ENOSYS && errno != EPERM;
    close((int)fd);
    return true;
}

static int walk_openat(struct walk *w, const char *name, int flags)
{
    w->stats->calls.openat++;
    return openat(w->dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
}

static void walk_close(struct walk *w, int fd)
{
    if (fd == w->root_fd)
        return;
    w->stats->calls.close++;
    close(fd);
}

static void walk_enter(struct walk *w, int fd)
{
    walk_close(w, w->dir_fd);
    w->dir_fd = fd;
}

/* Open the last name, from where the walk is. */
static int walk_finish(struct walk *w, const char *name, int more_flags)
{
    w->found = walk_openat(w, name, w->flags | more_flags);
    return w->found == -1 ? errno : 0;
}

/* Go down into a directory.  ENOTDIR: it is none, but may be a link. */
static int walk_down(struct walk *w, const char *name)
{
    size_t len = strlen(name);
    if (w->done_len + len + 1 > sizeof(w->done))
        return ENAMETOOLONG;
    int fd = walk_openat(w, name, O_PATH | O_DIRECTORY);
    if (fd == -1)
        return errno;
    walk_enter(w, fd);
    memcpy(w->done + w->done_len, name, len);
    w->done_len += len;
    w->done[w->done_len++] = '/';
    return 0;
}

/* Walk the names in `done` up to `len` from the root again. */
static int walk_again(struct walk *w, size_t len)
{
    walk_enter(w, w->root_fd);
    w->done_len = 0;
    while (w->done_len < len) {
        char *name = w->done + w->done_len;
        char *end = memchr(name, '/', len - w->done_len);
        *end = '\0';
        int err = walk_down(w, name); /* puts the '/' back */
        if (err != 0)
            return err == ENOENT || err == ENOTDIR ? EAGAIN : err;
    }
    return 0;
}

static int walk_up(struct walk *w)
{
    int fd = walk_openat(w, ".", O_PATH | O_DIRECTORY); /* may it be searched? */
    if (fd == -1)
        return errno;
    walk_close(w, fd);
    if (w->done_len == 0)
        return EXDEV;
    size_t len = w->done_len - 1;
    while (len > 0 && w->done[len - 1] != '/')
        len--;
    return walk_again(w, len);
}

/* Leave out of an absolute link what leads to the root.  False: it does not lead there. */
static bool walk_cut_root(const struct walk *w, const char **target, size_t *len)
{
    if (w->root_path == NULL)
        return false;
    size_t root_len = strlen(w->root_path);
    if (*len < root_len || memcmp(*target, w->root_path, root_len) != 0 ||
        (*len > root_len && (*target)[root_len] != '/'))
        return false;
    *target += root_len;
    *len -= root_len;
    return true;
}

/* Put what a link holds in front of the rest. */
static int walk_splice(struct walk *w, char *rest, const char *target, size_t len)
{
    if (target[0] == '/') {
        if (!walk_cut_root(w, &target, &len))
            return EXDEV;
        walk_enter(w, w->root_fd);
        w->done_len = 0;
    }
    if (len == 0) {
        target = "."; /* the root itself */
        len = 1;
    }
    if ((size_t)(rest - w->text) < len)
        return ENAMETOOLONG;
    w->next = rest - len;
    memcpy(w->next, target, len);
    return 0;
}

/* A name could not be opened as what it has to be: follow the link that it is. */
static int walk_follow(struct walk *w, const struct step *s)
{
    if (w->hops++ == HOPS_MAX)
        return ELOOP;
    int fd = walk_openat(w, s->name, O_PATH);
    if (fd == -1)
        return errno;
    w->stats->calls.fstat++;
    w->stats->calls.readlinkat++;
    char target[PATH_MAX];
    ssize_t len = readlinkat(fd, "", target, sizeof(target)); /* fails if it is no link */
    struct stat st;
    int err = fstat(fd, &st) == -1 ? errno : 0;
    walk_close(w, fd);
    if (err != 0)
        return err;
    if (len != -1)
        return walk_splice(w, s->rest, target, (size_t)len);
    bool is_fit = S_ISDIR(st.st_mode) || (s->is_last && !s->is_slash);
    return is_fit ? 0 : ENOTDIR; /* fit: it was a link a moment ago; the step is taken anew */
}

static int walk_next(const struct walk *w, struct step *s)
{
    const char *name = w->next + strspn(w->next, "/");
    size_t len = strcspn(name, "/");
    if (len > NAME_MAX)
        return ENAMETOOLONG;
    memcpy(s->name, name, len);
    s->name[len] = '\0';
    s->rest = w->next + (name - w->next) + len;
    s->is_slash = *s->rest == '/';
    s->is_last = s->rest[strspn(s->rest, "/")] == '\0';
    return 0;
}

/* Take one name.  Gives an errno or 0. */
static int walk_step(struct walk *w)
{
    struct step s;
    int err = walk_next(w, &s);
    if (err != 0)
        return err;
    bool is_up = strcmp(s.name, "..") == 0;
    if (is_up || strcmp(s.name, ".") == 0) {
        w->next = s.rest;
        err = is_up ? walk_up(w) : 0;
        return err == 0 && s.is_last ? walk_finish(w, ".", 0) : err;
    }
    err = s.is_last ? walk_finish(w, s.name, s.is_slash ? O_DIRECTORY : 0) : walk_down(w, s.name);
    if (err == 0)
        w->next = s.rest;
    return err == ELOOP || err == ENOTDIR ? walk_follow(w, &s) : err;
}

int beneath_open(int root_fd, const char *root_path, const char *path, int flags,
                 struct stats *stats)
{
    struct walk w; /* its arrays are not worth clearing */
    size_t size = strlen(path) + 1;
    int err = 0;
    if (size == 1)
        err = ENOENT;
    else if (size > PATH_MAX)
        err = ENAMETOOLONG;
    else if (path[0] == '/')
        err = EXDEV;
    w.root_fd = w.dir_fd = root_fd;
    w.root_path = root_path;
    w.flags = flags;
    w.found = -1;
    w.hops = 0;
    w.stats = stats;
    w.done_len = 0;
    w.next = w.text + TEXT_MAX - (err == 0 ? size : 0);
    if (err == 0)
        memcpy(w.next, path, size);
    while (err == 0 && w.found == -1)
        err = walk_step(&w);
    walk_close(&w, w.dir_fd);
    if (err != 0)
        errno = err;
    return w.found;
}
