/*
 * An open file, ready to be sent: its bytes, and what responses say of them.
 *
 * A small one is a snapshot in pool memory, a large one a map.  Of small ones there are very many:
 * what only a map needs is apart.
 *
 * Invariant: what a file says about itself never changes, but that a tag may be added to it.  A
 * file that changed on disk is opened anew; responses under way keep the old one.
 * Own:       one count for all holders, the cache, responses and slices: buf.refs.
 */
#ifndef FILES_FILE_H
#define FILES_FILE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "list.h"
#include "rules.h"
#include "weir/buf.h"
#include "weir/response.h"
#include "weir/str.h"

struct description;
struct fetcher;
struct found;
struct mem;
struct root;
struct tagging;
struct windows;

/* Which bytes were opened: if all of this is the same, so are they. */
struct file_id {
    dev_t dev;
    ino_t ino;
    uint64_t size; /* bytes */
    int64_t mtime_s;
    int64_t ctime_s;
    uint32_t mtime_ns; /* beyond the second */
    uint32_t ctime_ns;
};

/* What a file has beside its identity if its bytes are those on disk. */
struct file_map {
    int fd;
    unsigned losses;         /* map_guard_losses() when the windows were last looked through */
    uint64_t looked_ms;      /* when it was last looked at */
    struct list windows;     /* those that are in use */
    struct tagging *tagging; /* Borrowed: its tag is being made (tagger.h); NULL: it is not */
    bool is_lost;            /* bytes of a window were lost */
    bool is_ours;            /* the kernel tells us what of it is in memory */
    bool is_untaggable;      /* its time says nothing, and its content cannot be read */
};

struct file {
    struct weir_buf buf;        /* the bytes of a snapshot; a map's are in its windows */
    struct file_id id;          /* what was opened */
    const struct file_env *env; /* Borrowed */
    struct description *says;   /* Own: what responses say of it; NULL: nothing yet */
    struct file_map *map;       /* in tail; NULL: a snapshot */
#ifdef WEIR_BENCH
    int disk_fd; /* of a snapshot, if it is read all the same (copy.h); or -1 */
#endif
    bool is_private;           /* nobody else can change it, and it is in memory */
    bool is_remote;            /* looking at it may ask another machine or process */
    bool is_retired;           /* no longer in a cache: no window of it is kept */
    bool is_stale;             /* seen to have changed: not to be used any more */
    bool is_settled;           /* did not change just before it was opened */
    alignas(8) uint8_t tail[]; /* the bytes of a small file */
};

/* What all files of a cache have in common. */
struct file_env {
    struct mem *mem;
    struct root *root;
    struct windows *windows;
    struct fetcher *fetcher;       /* NULL: disks are waited for */
    struct weir_str server;        /* value of the field `server`; empty: no such field */
    struct path_rules cache_rules; /* see struct files_config */
    struct path_rules type_rules;
    struct weir_str fallback; /* path of the file that is sent for others; empty: none */
    bool ignores_siblings;    /* precompressed files are not looked for */
};

/*
 * Make a file of what was found.
 * Own: a descriptor passes from *found to the file.  Gives 0 or 503.
 */
unsigned file_make(const struct file_env *env, struct found *found, struct file **out);

static inline struct timespec file_mtime(const struct file *f)
{
    return (struct timespec){.tv_sec = f->id.mtime_s, .tv_nsec = f->id.mtime_ns};
}

/* Bytes of memory that it takes; those of a map are the page cache's, unless it was made. */
size_t file_cost(const struct file *f);

/* True if st shows what f was opened from, unchanged. */
bool file_is_same(const struct file *f, const struct stat *st);

/*
 * True if the bytes are still those that the fields tell of, as far as a look at them shows.  One
 * look in a millisecond is enough.
 */
bool file_is_current(struct file *f, uint64_t now_ms);

/* True if its bytes are those of the file on disk; else they are a copy. */
static inline bool file_is_map(const struct file *f)
{
    return f->map != NULL;
}

/* True if bytes of a map were lost under a reader. */
bool file_is_poisoned(struct file *f);

/* False: bytes that were promised are gone, as far as a look at the size tells. */
bool file_has_its_size(struct file *f);

/* The cache gives f up: it is kept by responses under way alone.  A reference goes with it. */
void file_retire(struct file **slot);

/*
 * The source of a snapshot's bytes, and of responses of any file that send none; ctx is the file,
 * of which it holds a reference.  Bytes of a map are read by a struct reader.
 */
extern const struct weir_source file_source;

static inline struct file *file_ref(struct file *f)
{
    weir_buf_ref(&f->buf);
    return f;
}

/* A NULL in *slot is fine. */
void file_unref(struct file **slot);

#endif
