/* See watcher.h. */
#include "watcher.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "internal/log.h"
#include "internal/stats.h"

/*
 * Whatever can change what is found at a name in the directory: what it leads to, the content, the
 * mode.  Moves of the directory itself its parent tells of.  IN_CLOSE_WRITE comes also after stores
 * into a shared map, if the descriptor was kept open until they were made.
 */
#define WATCH_MASK                                                                                 \
    (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB |                 \
     IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK)

#define EVENTS_LEN 16384
#define EVENT_LEN_MAX (sizeof(struct inotify_event) + NAME_MAX + 1)

void watcher_init(struct watcher *w, struct stats *stats)
{
    *w = (struct watcher){.stats = stats, .fd = -1};
}

void watcher_deinit(struct watcher *w)
{
    if (w->fd != -1)
        close(w->fd);
    w->fd = -1;
}

static bool watcher_open(struct watcher *w)
{
    if (w->fd != -1 || w->is_refused)
        return w->fd != -1;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    w->is_refused = w->fd == -1;
    if (w->is_refused)
        log_errno(LV_WARN, errno,
                  "changes of files are looked for once a second: no inotify instance, raise "
                  "fs.inotify.max_user_instances");
    return !w->is_refused;
}

int watcher_add(struct watcher *w, int dir_fd)
{
    char name[32]; /* no call takes a descriptor; this one is the directory, wherever it is now */
    snprintf(name, sizeof(name), "/proc/self/fd/%d/.", dir_fd);
    if (!watcher_open(w))
        return -1;
    w->stats->calls.inotify_add_watch++;
    int watch = inotify_add_watch(w->fd, name, WATCH_MASK);
    if (watch == -1 && (errno == ENOSPC || errno == ENOMEM) && !w->is_full) {
        log_errno(LV_WARN, errno,
                  "changes in some directories are looked for once a second: no inotify watch, "
                  "raise fs.inotify.max_user_watches");
        w->is_full = true;
    }
    return watch;
}

void watcher_remove(struct watcher *w, int watch)
{
    w->stats->calls.inotify_rm_watch++;
    inotify_rm_watch(w->fd, watch); /* fails if the directory has gone */
}

void watcher_read(struct watcher *w, void (*fn)(void *ctx, const struct inotify_event *event),
                  void *ctx)
{
    _Alignas(struct inotify_event) char events[EVENTS_LEN];
    ssize_t n = w->fd == -1 ? 0 : 1;
    while (n > 0) {
        w->stats->calls.read++;
        n = read(w->fd, events, sizeof(events));
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const void *)(events + at);
            at += (ssize_t)sizeof(*event) + event->len;
            fn(ctx, event);
        }
        if (n + (ssize_t)EVENT_LEN_MAX <= EVENTS_LEN)
            break; /* that was all: one more would have fitted in */
    }
}
