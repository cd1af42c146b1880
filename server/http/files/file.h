/*
 * An open file, ready to be sent: its bytes, and the field list of the response.
 *
 * Invariant: what a file says about itself never changes.  A file that changed on disk is opened
 *            anew; responses under way keep the old one.
 * Own:       one count for all holders, the cache, responses and slices: buf.refs.
 */
#ifndef FILES_FILE_H
#define FILES_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "weir/buf.h"
#include "weir/response.h"
#include "validator.h"

struct mem;
struct root;

/* Bytes that are handed out after one look at the size; a slice never crosses a multiple of it. */
#define FILE_WINDOW ((uint64_t)1024 * 1024)

/* Which bytes were opened: if all of this is the same, so are they. */
struct file_id {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
    struct timespec ctime;
};

#define FILE_FIELDS 6

struct file {
    struct weir_buf buf;        /* the bytes; base is NULL if there are none */
    struct weir_response whole; /* 200 with all of it */
    struct weir_response head;  /* the same without a body */
    struct file_id id;          /* what was opened */
    uint64_t size;              /* bytes */
    int fd;                     /* -1 if the size need not be looked at again */
    bool has_shrunk;            /* seen to be shorter than size: not to be used any more */
    struct root *root;          /* Borrowed: where system calls are counted */
    struct weir_field fields[FILE_FIELDS];
    char content_length[21];
    char etag[ETAG_CAP];
    char last_modified[30];
};

/* What all files of a cache have in common. */
struct file_env {
    struct mem *mem;
    struct root *root;
    struct weir_str server; /* value of the field `server`; empty: no such field */
};

/*
 * Open the regular file at `path`, relative to the root.
 * Gives 0 and a file with one reference, or the status due.
 */
unsigned file_open(const struct file_env *env, const char *path, struct file **out);

/* True if st shows what f was opened from, unchanged. */
bool file_is_same(const struct file *f, const struct stat *st);

static inline struct file *file_ref(struct file *f)
{
    weir_buf_ref(&f->buf);
    return f;
}

/* A NULL in *slot is fine. */
void file_unref(struct file **slot);

#endif
