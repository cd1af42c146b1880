/*
 * An open file, ready to be sent: its bytes, and the field list of the response.
 *
 * A small one is a snapshot in pool memory, a large one a map.
 *
 * Invariant: what a file says about itself never changes, but that a tag may be added to it.  A
 * file that changed on disk is opened anew; responses under way keep the old one. Own:       one
 * count for all holders, the cache, responses and slices: buf.refs.
 */
#ifndef FILES_FILE_H
#define FILES_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "list.h"
#include "rules.h"
#include "validator.h"
#include "weir/buf.h"
#include "weir/response.h"

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
    off_t size;
    struct timespec mtime;
    struct timespec ctime;
};

#define FILE_FIELDS 12

struct file {
    struct weir_buf buf;               /* the bytes of a snapshot; a map's are in its windows */
    struct weir_response whole;        /* 200 with all of it */
    struct weir_response head;         /* the same without a body */
    struct weir_response not_modified; /* 304 */
    uint64_t partial_id;               /* of its fields without content-length */
    struct validators validators;      /* views of the texts below */
    uint64_t size;                     /* bytes */
    int fd;                            /* of a map; -1 for a snapshot */
    uint64_t looked_ms;                /* when a map was last looked at */
    struct list windows;               /* of a map: those that are in use */
    struct windows *windows_of;        /* Borrowed: what these belong to */
    unsigned losses;         /* map_guard_losses() when the windows were last looked through */
    bool is_lost;            /* bytes of a window were lost */
    bool is_private;         /* nobody else can change it, and it is in memory */
    bool is_ours;            /* the kernel tells us what of it is in memory */
    bool is_remote;          /* looking at it may ask another machine or process */
    bool is_untaggable;      /* its time says nothing, and its content cannot be read */
    struct tagging *tagging; /* Borrowed: its tag is being made (tagger.h); NULL: it is not */
    char mark;               /* of its tag: tells its coding; NUL: none */
    bool is_retired;         /* no longer in a cache: no window of it is kept */
    bool is_stale;           /* seen to have changed: not to be used any more */
    bool is_settled;         /* did not change just before it was opened */
    struct file_id id;       /* what was opened */
    struct root *root;       /* Borrowed: where system calls are counted */
    struct weir_field fields[FILE_FIELDS];
    char content_length[21];
    char etag[ETAG_CAP];
    char last_modified[30];
    uint8_t snapshot[]; /* the bytes of a small file */
};

/* Where the fields of every file stand that only a whole representation has. */
enum { FILE_CONTENT_LENGTH, FILE_CONTENT_TYPE, FILE_FIELDS_FIXED };

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
    return f->fd != -1;
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
