/*
 * A directory, served (RFC 9110).  One per worker.
 */
#ifndef FILES_FILES_H
#define FILES_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "rules.h"
#include "weir/err.h"
#include "weir/handler.h"
#include "weir/str.h"

struct clock;
struct fetcher;
struct files;
struct mem;
struct stats;

struct files_config {
    const char *root;              /* the directory */
    struct weir_str server;        /* value of the field `server`; empty: no such field */
    size_t cached_max;             /* files kept open; 0: LIMIT_CACHED_FILES */
    size_t cached_bytes;           /* memory for small files; 0: LIMIT_CACHED_BYTES */
    size_t mapped_bytes;           /* of large ones, kept mapped; 0: LIMIT_MAPPED_BYTES */
    struct fetcher *fetcher;       /* Borrowed: of the worker; NULL: disks are waited for */
    struct path_rules cache_rules; /* of the field cache-control; the operator's own */
    struct path_rules type_rules;  /* of the field content-type */
    bool walks_paths;              /* openat2(2) does not work here: see beneath.h */
    bool ignores_siblings;    /* precompressed files, NAME.br and its kin, are not looked for */
    bool lists_directories;   /* that have no index */
    struct weir_str fallback; /* path from the root, with '/', of the page that stands in for paths
                                 that only a script in it knows; empty: none */
};

/*
 * Borrowed: mem, clock, stats and all that config refers to, for as long as it lives.
 * Own:      files_free().
 * Err:      WEIR_CONFIG: the root or the fallback cannot be read; said in one line.  WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err files_new(const struct files_config *config, struct mem *mem,
                        const struct clock *clock, struct stats *stats, struct files **out);

/* Begin nothing more that no request waits for. */
void files_end(struct files *f);

/* Once all responses are released.  NULL is fine. */
void files_free(struct files *f);

/* Answer a request.  A weir_handler_fn; ctx is the struct files. */
void files_handle(void *ctx, struct weir_request *r);

/* Answer a request that the protocol refuses.  A refusal_fn; ctx is the struct files. */
void files_refuse(void *ctx, struct weir_request *r, unsigned status);

#endif
