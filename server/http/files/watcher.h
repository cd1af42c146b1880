/*
 * What the kernel tells of changes in directories: inotify(7), one instance per worker.
 *
 * Nobody waits for its descriptor: it is read when somebody asks for a file, so that changes which
 * nobody is interested in wake nobody.
 */
#ifndef FILES_WATCHER_H
#define FILES_WATCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/inotify.h>

struct stats;

struct watcher {
    struct stats *stats; /* Borrowed: system calls are counted there */
    int fd;              /* Own; -1: not opened yet, or it cannot be */
    bool is_refused;     /* it cannot be: said in one line */
    bool is_full;        /* no more watches are to be had: the same */
};

void watcher_init(struct watcher *w, struct stats *stats);
void watcher_deinit(struct watcher *w);

/*
 * Watch the directory that a descriptor refers to.  Gives a number that events of it carry, or -1:
 * it cannot be watched.
 */
int watcher_add(struct watcher *w, int dir_fd);

void watcher_remove(struct watcher *w, int watch);

/* Call fn for whatever has happened since the last time. */
void watcher_read(struct watcher *w, void (*fn)(void *ctx, const struct inotify_event *event),
                  void *ctx);

#endif
