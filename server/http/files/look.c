/* See look.h. */
#include "look.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "internal/bench.h"
#include "internal/log.h"
#include "sibling.h"

/* Times that a small file is read until it did not change meanwhile. */
#define READ_TRIES 3

/*
 * ns before a change that the kernel may date like the one before it: a tick of its clock.  What
 * was opened sooner after a change than this may change again without showing it.
 */
#define CHANGE_TICK_NS 20000000

static bool time_is_before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

bool sibling_counts(const struct stat *st, const struct timespec *original_mtime)
{
    return S_ISREG(st->st_mode) && st->st_size > 0 &&
           (original_mtime == NULL || !time_is_before(&st->st_mtim, original_mtime));
}

static struct timespec time_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}

/* True if the last change lies so far before a time that one since then would show. */
static bool stat_is_settled(const struct stat *st, struct timespec at)
{
    int64_t age_ns =
        (at.tv_sec - st->st_ctim.tv_sec) * 1000000000 + at.tv_nsec - st->st_ctim.tv_nsec;
    return age_ns > CHANGE_TICK_NS;
}

static bool stat_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/*
 * True if the kernel tells us which pages of the file are in memory (can_do_mincore() of Linux
 * 5.2): it is our own, or we could write it.
 */
static bool fd_shows_pages(const struct root *root, int fd, const struct stat *st)
{
    if (st->st_uid == geteuid())
        return true;
    root->stats->calls.faccessat2++;
    return faccessat(fd, "", W_OK, AT_EACCESS | AT_EMPTY_PATH) == 0;
}

/* 0 for a regular file, 308 for a directory, whose name ends with a slash, 404 for all else. */
static unsigned mode_status(mode_t mode)
{
    if (S_ISREG(mode))
        return 0;
    return S_ISDIR(mode) ? 308 : 404;
}

static unsigned fd_stat(const struct root *root, int fd, struct stat *st)
{
    root->stats->calls.fstat++;
    return fstat(fd, st) == 0 ? 0 : 500;
}

/* ---- content ---- */

/* Read at most len bytes.  Gives their number, or -1; EAGAIN: it would have to wait. */
static ssize_t fd_read(const struct root *root, int fd, void *out, size_t len, off_t at,
                       bool may_wait)
{
    ssize_t n;
    do {
        if (may_wait) {
            root->stats->calls.pread64++;
            n = pread(fd, out, len, at);
        } else {
            const struct iovec iov = {out, len};
            root->stats->calls.preadv2++;
            n = preadv2(fd, &iov, 1, at, RWF_NOWAIT);
        }
    } while (n == -1 && errno == EINTR);
    if (n == -1 && errno == EOPNOTSUPP)
        errno = EAGAIN;
    return n;
}

/* Read a small file whole.  Gives 0 or a status; 503: its size changed. */
static unsigned fd_read_all(const struct root *root, int fd, uint8_t *bytes, size_t size,
                            bool may_wait)
{
    for (size_t len = 0; len < size;) {
        ssize_t n = fd_read(root, fd, bytes + len, size - len, (off_t)len, may_wait);
        if (n == -1 && errno == EAGAIN)
            return ROOT_WAITS;
        if (n == -1) {
            log_errno(LV_WARN, errno, "cannot read a file below the root");
            return 500;
        }
        if (n == 0)
            return 503;
        len += (size_t)n;
    }
    return 0;
}

/* Read a small file, all of it of one version, which found->st then shows. */
static unsigned found_read(struct found *found, const struct root *root, int fd, uint8_t *bytes,
                           bool may_wait)
{
    for (int i = 0; i < READ_TRIES; i++) {
        struct stat st;
        size_t size = (size_t)found->st.st_size;
        unsigned status = fd_read_all(root, fd, bytes, size, may_wait);
        if (status != 0 && status != 503)
            return status;
        if (fd_stat(root, fd, &st) != 0)
            return 500;
        if (status == 0 && stat_is_same(&found->st, &st))
            return 0;
        if (st.st_size != found->st.st_size)
            return 503;
        found->st = st;
    }
    return 503; /* it is being written */
}

/*
 * Read a file before anything is known of it, and then see whether it was small, and did not change
 * since before.  False: not so, or it would have to wait; found->st is then what it is, if
 * has_stat.
 */
static bool found_read_first(struct found *found, const struct root *root, int fd, uint8_t *bytes,
                             bool may_wait, bool *has_stat)
{
    struct timespec before = time_now();
    ssize_t n = fd_read(root, fd, bytes, LIMIT_SNAPSHOT_LEN, 0, may_wait);
    *has_stat = n >= 0 && fd_stat(root, fd, &found->st) == 0;
    found->is_settled = *has_stat && stat_is_settled(&found->st, before);
    return found->is_settled && S_ISREG(found->st.st_mode) && found->st.st_size == (off_t)n;
}

/* Find out what a descriptor is of, and read it if it is small. */
static unsigned found_examine(struct found *found, const struct root *root, int fd, uint8_t *bytes,
                              bool may_wait, bool has_stat)
{
    unsigned status = has_stat ? 0 : fd_stat(root, fd, &found->st);
    if (status == 0)
        status = mode_status(found->st.st_mode);
    if (status == 0 && found->st.st_size <= (off_t)LIMIT_SNAPSHOT_LEN) {
        status = found_read(found, root, fd, bytes, may_wait);
        found->bytes = bytes;
    } else if (status == 0) {
        found->shows_pages = fd_shows_pages(root, fd, &found->st);
    }
    found->is_settled = stat_is_settled(&found->st, time_now());
    return status;
}

unsigned look_adopt(const struct root *root, int fd, uint8_t *bytes, bool may_wait, bool is_regular,
                    struct found *found)
{
    bool has_stat = false;
    *found = (struct found){.fd = -1};
    if (is_regular && found_read_first(found, root, fd, bytes, may_wait, &has_stat))
        found->bytes = bytes;
    else
        found->status = found_examine(found, root, fd, bytes, may_wait, has_stat);
    found->is_linked = found->st.st_nlink > 1;
    found->is_remote = !root_is_local(root, found->st.st_dev);
    if (found->status == 0 && (found->bytes == NULL || BENCH_READS))
        found->fd = fd;
    else
        root_close_file(root, fd);
    return found->status;
}

/* ---- a path and its siblings ---- */

void look_init(struct look *l, const struct root *root)
{
    l->root = *root;
    l->root.stats = &l->stats;
    l->stats = (struct stats){0};
    for (unsigned i = 0; i < CODINGS; i++)
        l->found[i] = (struct found){.status = 404, .fd = -1};
}

/*
 * Why a path may not be opened for reading: a directory may still be passed through (mode 0711),
 * so that its index is for the next request to find.
 */
static unsigned look_refused(struct look *l, const char *path, bool may_wait)
{
    struct stat st;
    if (!may_wait)
        return ROOT_WAITS;
    bool is_directory = root_stat(&l->root, path + 1, &st) == 0 && S_ISDIR(st.st_mode);
    return is_directory ? 308 : 403;
}

static unsigned look_open_one(struct look *l, const char *path, enum coding coding,
                              struct hint hint, bool may_wait)
{
    struct found *found = &l->found[coding];
    int fd;
    unsigned status;
    if (hint.is_regular && hint.dir_fd != -1 && !may_wait)
        status = root_open_in(&l->root, hint.dir_fd, strrchr(path, '/') + 1, &fd);
    else
        status = root_open_file(&l->root, path + 1, may_wait, &fd);
    if (status == 0)
        return look_adopt(&l->root, fd, l->bytes[coding], may_wait, hint.is_regular, found);
    if (status == 403)
        status = look_refused(l, path, may_wait);
    *found = (struct found){.status = status, .fd = -1};
    return status;
}

/* What of a sibling cannot be used is as if it were not there.  False: it would have to wait. */
static bool look_open_sibling(struct look *l, const char *path, enum coding coding, bool may_wait)
{
    char sibling[PATH_MAX];
    const struct found *original = &l->found[CODING_IDENTITY];
    struct found *found = &l->found[coding];
    unsigned status = 404;
    if (sibling_path(path, coding, sibling))
        status = look_open_one(l, sibling, coding, (struct hint){0}, may_wait);
    if (status == ROOT_WAITS)
        return false;
    const struct timespec *mtime = original->status == 0 ? &original->st.st_mtim : NULL;
    if (status == 0 && sibling_counts(&found->st, mtime))
        return true;
    root_close_file(&l->root, found->fd);
    *found = (struct found){.status = 404, .fd = -1};
    return true;
}

bool look_open(struct look *l, const char *path, struct hint hint, bool may_wait)
{
    unsigned status = look_open_one(l, path, CODING_IDENTITY, hint, may_wait);
    bool is_done = status != ROOT_WAITS;
    if (status == 0 || status == 404) {
        for (unsigned i = CODING_IDENTITY + 1; i < CODINGS && is_done; i++)
            is_done = (hint.siblings & 1U << i) == 0 ||
                      look_open_sibling(l, path, (enum coding)i, may_wait);
    }
    if (!is_done)
        look_close(l);
    return is_done;
}

/* At what a name leads to, and whether that is a file with this name alone. */
static void found_stat(struct found *found, const struct root *root, const char *path)
{
    found->status = root_look(root, root->fd, path, &found->st);
    found->is_linked = found->status == 0 && (S_ISLNK(found->st.st_mode) || found->st.st_nlink > 1);
    if (found->status == 0 && S_ISLNK(found->st.st_mode))
        found->status = root_stat(root, path, &found->st);
}

void look_stat(struct look *l, const char *path, struct hint hint)
{
    for (unsigned i = 0; i < CODINGS; i++) {
        char sibling[PATH_MAX];
        struct found *found = &l->found[i];
        bool is_asked = i == CODING_IDENTITY || (hint.siblings & 1U << i) != 0;
        *found = (struct found){.status = 404, .fd = -1};
        if (is_asked && sibling_path(path, (enum coding)i, sibling))
            found_stat(found, &l->root, sibling + 1);
    }
}

bool look_is_plain(const struct look *l)
{
    bool is_linked = false;
    for (unsigned i = 0; i < CODINGS; i++)
        is_linked |= l->found[i].is_linked;
    return !is_linked;
}

bool look_is_empty(const struct look *l)
{
    bool is_empty = true;
    for (unsigned i = 0; i < CODINGS; i++)
        is_empty &= l->found[i].status == 404 && !l->found[i].is_linked;
    return is_empty;
}

void look_close(struct look *l)
{
    for (unsigned i = 0; i < CODINGS; i++) {
        root_close_file(&l->root, l->found[i].fd);
        l->found[i] = (struct found){.status = 404, .fd = -1};
    }
}

void look_count(struct look *l, struct stats *stats)
{
    stats_take_calls(stats, &l->stats);
}
