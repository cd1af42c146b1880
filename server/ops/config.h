/*
 * What the operator wants: the command line, checked.
 */
#ifndef OPS_CONFIG_H
#define OPS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "cache_control.h"
#include "io.h"
#include "listener.h"
#include "tls_context.h"
#include "weir/str.h"

#define CONFIG_LISTENERS_MAX 8
#define CONFIG_WORKERS_MAX 256
#define CONFIG_CACHE_RULES_MAX 64

struct config_listener {
    struct listen_address address;
    bool is_tls;
    enum listener_speaks speaks;
};

struct config {
    const char *dir; /* Borrowed: argv or a literal */
    struct config_listener listeners[CONFIG_LISTENERS_MAX];
    size_t listener_count;
    size_t workers; /* 0: as many as there are CPUs */
    const struct io_backend *io;
    struct tls_config tls;
    struct cache_rule cache_rules[CONFIG_CACHE_RULES_MAX];
    size_t cache_rule_count;
    const char *fallback; /* NULL: none */
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
