/* See dir_hint.h. */
#include "dir_hint.h"

#include <limits.h>
#include <string.h>

#include "dirs.h"
#include "file.h"
#include "hash.h"
#include "internal/assert.h"
#include "internal/stats.h"
#include "mem.h"
#include "sibling.h"

/* Files opened in a directory before it is worth to be watched and scanned. */
#define OPENS_BEFORE_SCAN 4

/* Names that may come until it is scanned again, for the filter never forgets those that went. */
#define ARRIVALS_MAX 256

static void on_scanned(struct fetch *fetch, int result)
{
    (void)result;
    struct dir_scan *s = container_of(fetch, struct dir_scan, fetch);
    struct dir *dir = s->dir;
    s->dirs->is_scanning = false;
    stats_take_calls(s->dirs->env->root->stats, &s->stats);
    if (s->is_whole && dir->ticket == s->ticket) {
        name_filter_merge(&dir->special, &s->special);
        dir->is_scanned = true;
    }
    mem_give(s);
}

static int on_run(struct fetch *fetch)
{
    dir_scan_run(container_of(fetch, struct dir_scan, fetch));
    return 0;
}

/* Names that come from now on are added as they come: it is watched. */
static void dir_scan_start(struct dirs *d, struct dir *dir)
{
    struct dir_scan *s = dir_scan_new(d->env->mem, d->env->root, dir->path);
    if (s == NULL)
        return;
    s->dirs = d;
    s->dir = dir;
    s->ticket = dir->ticket;
    s->seed = d->seed;
    s->fetch = (struct fetch){.run = on_run, .done = on_scanned};
    dir->arrivals = 0;
    dir->special = (struct name_filter){0};
    d->is_scanning = true;
    if (d->env->fetcher == NULL) {
        on_scanned(&s->fetch, on_run(&s->fetch));
        return;
    }
    d->env->root->stats->fetches++;
    d->env->fetcher->start(d->env->fetcher, &s->fetch);
}

/* A file in a directory that was not scanned is being opened. */
static void dir_count_open(struct dirs *d, struct dir *dir, struct weir_str path)
{
    if (d->is_scanning || ++dir->opens != OPENS_BEFORE_SCAN)
        return;
    if (dirs_watch(d, path) == dir)
        dir_scan_start(d, dir);
    else
        dir->opens = 0;
}

/* Whether a name is in a directory's filter, with that end. */
static bool dir_has_special(const struct dirs *d, struct dir *dir, struct weir_str name,
                            enum coding coding)
{
    char text[NAME_MAX + 1];
    struct weir_str suffix = sibling_suffixes[coding];
    if (name.len + suffix.len > sizeof(text))
        return true;
    memcpy(text, name.ptr, name.len);
    memcpy(text + name.len, suffix.ptr, suffix.len);
    return name_filter_has(&dir->special,
                           hash_path(d->seed, (struct weir_str){text, name.len + suffix.len}));
}

struct hint dirs_hint(struct dirs *d, struct weir_str path, bool with_siblings)
{
    struct hint hint = {.siblings = with_siblings ? HINT_ALL_SIBLINGS : 0, .dir_fd = -1};
    size_t len = path.len;
    while (path.ptr[len - 1] != '/')
        len--;
    struct weir_str name = {path.ptr + len, path.len - len};
    if (!d->env->root->is_local || len >= PATH_MAX)
        return hint;
    struct dir *dir = dirs_get(d, (struct weir_str){path.ptr, len - 1}, NULL);
    if (dir == NULL)
        return hint;
    if (!dir->is_scanned) {
        dir_count_open(d, dir, path);
        return hint;
    }
    hint.dir_fd = dir->fd;
    hint.is_regular = !dir_has_special(d, dir, name, CODING_IDENTITY);
    hint.dir = hint.is_regular ? dir : NULL;
    for (unsigned i = CODING_IDENTITY + 1; i < CODINGS; i++) {
        if (!dir_has_special(d, dir, name, (enum coding)i))
            hint.siblings &= ~(1U << i);
    }
    return hint;
}

/* The filter cannot be asked about the name: it may have been special before. */
void dir_note_arrival(const struct dirs *d, struct dir *dir, struct weir_str name)
{
    name_filter_add(&dir->special, hash_path(d->seed, name));
    if (++dir->arrivals < ARRIVALS_MAX || !dir->is_scanned)
        return;
    dir->is_scanned = false;
    dir->opens = 0;
}
