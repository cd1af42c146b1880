/*
 * What the operator wants: the command line, checked.
 */
#ifndef OPS_CONFIG_H
#define OPS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "rules.h"
#include "choose.h"
#include "io.h"
#include "listener.h"
#include "tls_context.h"
#include "weir/str.h"

#define CONFIG_LISTENERS_MAX 8
#define CONFIG_WORKERS_MAX 256
/* bytes of a media type; with its parameters few have more than 80 */
#define CONFIG_TYPE_MAX 120
/* of each kind */
#define CONFIG_RULES_MAX 64
#define CONFIG_FALLBACK_LEN 1024
#define CONFIG_CACHE_SIZE_MAX ((size_t)512 << 20) /* half of a worker's memory */
#define CONFIG_CACHE_FILES_MAX 1000000
#define CONFIG_SERVER_MAX 64

struct config_listener {
    struct listen_address address;
    bool is_tls;
    enum listener_speaks speaks;
};

struct config_rules {
    struct path_rule rules[CONFIG_RULES_MAX];
    size_t count;
};

struct config {
    const char *dir; /* Borrowed: argv or a literal */
    struct config_listener listeners[CONFIG_LISTENERS_MAX];
    size_t listener_count;
    size_t workers; /* 0: as many as there are CPUs */
    enum io_choice io;
    enum io_zero_copy zero_copy;
    struct tls_config tls;
    struct config_rules cache_rules;    /* of the field cache-control */
    struct config_rules type_rules;     /* of the field content-type */
    char fallback[CONFIG_FALLBACK_LEN]; /* path from dir, with '/'; empty: none */
    size_t cache_size;                  /* bytes; 0: the default */
    size_t cache_files;                 /* 0: the default */
    const char *server;                 /* value of the field `server`; empty: no such field */
    bool lists_directories;
    bool ignores_siblings;
    bool is_pinned;
    bool check_only;
    bool print_stats;
};

enum config_outcome {
    CONFIG_RUN,  /* go on with *out */
    CONFIG_EXIT, /* --help or --version has been printed: exit 0 */
    CONFIG_BAD,  /* said in one line on standard error: exit 2 */
};

enum config_outcome config_parse(int argc, char **argv, struct config *out);

#endif
