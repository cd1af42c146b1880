/*
 * What the handler of files has, and how what it is made of comes together:
 *
 *     files.c ──▶ serve.c: which file is meant, and how it is answered
 *                    │ ▲
 *                    ▼ │ woken
 *                 park.c: requests that wait for a disk, a list, a tag or a decoder
 *
 * Thread: one worker.
 */
#ifndef FILES_SERVE_H
#define FILES_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "file.h"
#include "internal/limits.h"
#include "listing.h"
#include "piece.h"
#include "redirect.h"
#include "root.h"
#include "tagger.h"
#include "waiter.h"
#include "weir/request.h"
#include "window.h"

struct cache;
struct clock;

struct files {
    struct root root;
    struct file_env env;
    struct windows windows;
    struct pieces pieces;
    struct failures failures;
    struct cache *cache;       /* Own */
    const struct clock *clock; /* Borrowed */
    struct listings listings;
    struct tagger tagger;
    bool lists_directories;   /* see struct files_config */
    struct weir_str fallback; /* Borrowed: see struct files_config */
    struct parked *current;   /* Own: who waited and is served again just now; NULL: nobody */
    uint64_t random;          /* state of the generator of boundaries */
    struct weir_field options[2];
    size_t options_count;
    char path[LIMIT_PATH_LEN + 1]; /* the path being decoded */
    char location[REDIRECT_CAP(LIMIT_PATH_LEN, LIMIT_PATH_LEN)];
};

/* What a request has come to. */
enum stage {
    STAGE_FILE, /* the file at its path is looked for */
    STAGE_LIST, /* there is none: a list may stand in */
    STAGE_PAGE, /* nor a list: a page of the operator's may */
};

/* A request that is served again when something has come that it waits for. */
struct parked {
    struct waiter waiter;
    struct files *files; /* Borrowed */
    struct weir_request *request;
    enum stage stage; /* where it goes on */
    unsigned rounds;  /* times that it has waited */
};

/* Answer r, or have it wait. */
void files_serve(struct files *f, struct weir_request *r);

/* Where the request that is served just now goes on. */
enum stage files_stage(const struct files *f);

/*
 * Who is to be woken to serve r again.  NULL: it has been answered.
 * Own: whoever wakes it; the request goes on, and the memory is given back, then.
 */
struct waiter *files_park(struct files *f, struct weir_request *r);

/* The same, for what the cache or the lists have just said that it waits for. */
void files_wait_for_cache(struct files *f, struct weir_request *r, enum stage stage);
void files_wait_for_listing(struct files *f, struct weir_request *r);

/*
 * True if the bytes at that offset can be sent at once.  Else r waits for them, or has been told
 * that they cannot be had: it is too late for that once its response has begun.
 */
bool files_has_bytes(struct files *f, struct weir_request *r, struct file *file, uint64_t offset);

#endif
