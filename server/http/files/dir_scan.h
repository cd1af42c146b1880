/*
 * The names of a directory, read off the loop, for those that are special.
 */
#ifndef FILES_DIR_SCAN_H
#define FILES_DIR_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/fetch.h"
#include "internal/stats.h"
#include "name_filter.h"
#include "root.h"

struct dir;
struct dirs;
struct mem;

struct dir_scan {
    struct fetch fetch;
    struct dirs *dirs;  /* Borrowed */
    struct dir *dir;    /* Borrowed */
    uint64_t ticket;    /* of the directory when it began: another one, and all was for nothing */
    uint64_t seed;      /* of the hash of names */
    struct root root;   /* a copy, which counts system calls apart: */
    struct stats stats; /* there */
    struct name_filter special;
    bool is_whole; /* all names were read */
    char path[];   /* of the directory, from the root on; a NUL follows */
};

/* Own: mem_give().  NULL: there is no memory. */
struct dir_scan *dir_scan_new(struct mem *mem, const struct root *root, const char *path);

/* Read the directory.  Thread: any. */
void dir_scan_run(struct dir_scan *s);

#endif
