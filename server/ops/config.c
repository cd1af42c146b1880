/* See config.h.  Every option is a row of a table, which is also what --help prints. */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal/log.h"

#define DEFAULT_LISTEN "127.0.0.1:8080"
#define DEFAULT_TLS "127.0.0.1:8443"

#define ADDRESS_MAX 512 /* bytes; more than any address has */

/* Options without a letter. */
enum {
    OPTION_IO = 256,
    OPTION_ZERO_COPY,
    OPTION_NO_PIN,
    OPTION_CERT,
    OPTION_KEY,
    OPTION_KEYLOG,
    OPTION_AEAD,
    OPTION_TICKET_PERIOD,
    OPTION_CACHE_CONTROL,
    OPTION_CONTENT_TYPE,
    OPTION_FALLBACK,
    OPTION_LIST,
    OPTION_NO_PRECOMPRESSED,
    OPTION_CACHE_SIZE,
    OPTION_CACHE_FILES,
    OPTION_SERVER,
    OPTION_CHECK,
    OPTION_STATS,
    OPTION_VERSION
};

struct option_row {
    const char *name;
    int code; /* the letter, or one of the above */
    const char *arg;
    const char *help;
};

static const struct option_row rows[] = {
    {"listen", 'l', "ADDR:PORT|unix:PATH", "cleartext: HTTP/1.1, h2c (default " DEFAULT_LISTEN ")"},
    {"tls", 's', "ADDR:PORT|unix:PATH", "TLS 1.3: h2, http/1.1 (default " DEFAULT_TLS ")"},
    {"cert", OPTION_CERT, "FILE", "certificate chain, PEM (default: a self-signed one, in memory)"},
    {"key", OPTION_KEY, "FILE", "private key, PEM (default: it is in the --cert file)"},
    {"keylog", OPTION_KEYLOG, "FILE",
     "append TLS secrets, for Wireshark: whoever reads it reads all"},
    {"aead", OPTION_AEAD, "auto|ipsec-mb|vaes|openssl", "who encrypts records (default auto)"},
    {"ticket-period", OPTION_TICKET_PERIOD, "SECONDS",
     "life of a ticket key; it is accepted for two such periods (default 3600)"},
    {"cache-control", OPTION_CACHE_CONTROL, "GLOB=VALUE",
     "cache-control of matching files; repeatable"},
    {"content-type", OPTION_CONTENT_TYPE, "GLOB=TYPE",
     "content-type of matching files, where the built-in table is to say another; repeatable"},
    {"fallback", OPTION_FALLBACK, "FILE",
     "page below DIR for paths without a file: a single-page application"},
    {"list", OPTION_LIST, NULL, "list directories that have no index.html"},
    {"no-precompressed", OPTION_NO_PRECOMPRESSED, NULL, "do not look for FILE.br, .zst and .gz"},
    {"cache-size", OPTION_CACHE_SIZE, "SIZE",
     "memory for small files, each worker's: 256K, 64M (default 128M)"},
    {"cache-files", OPTION_CACHE_FILES, "N", "large files kept open, each worker's (default 1024)"},
    {"server", OPTION_SERVER, "NAME", "value of the field server; '': none (default weir)"},
    {"workers", 'w', "N", "threads (default: the CPUs it may run on)"},
    {"io", OPTION_IO, "auto|uring|epoll", "how to talk to the network (default auto)"},
    {"zero-copy", OPTION_ZERO_COPY, "auto|on|off",
     "send pages themselves, with uring: auto where the kernel need not copy (default auto)"},
    {"no-pin", OPTION_NO_PIN, NULL, "do not bind each worker to a CPU"},
    {"check", OPTION_CHECK, NULL, "read and check everything, say what is wrong, exit"},
    {"stats", OPTION_STATS, NULL, "print the counters as JSON at exit"},
    {"version", OPTION_VERSION, NULL, "print the version and exit"},
    {"help", 'h', NULL, "print this and exit"},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void print_help(void)
{
    printf("usage: weir [OPTIONS] [DIR]\n\n"
           "Serves the files below DIR (default: " WEIR_DEFAULT_DIR ").\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        char names[64];
        bool has_letter = rows[i].code < 256;
        snprintf(names, sizeof(names), "%c%c%s--%s %s", has_letter ? '-' : ' ',
                 has_letter ? rows[i].code : ' ', has_letter ? ", " : "  ", rows[i].name,
                 rows[i].arg != NULL ? rows[i].arg : "");
        printf("  %-36s %s\n", names, rows[i].help);
    }
    printf("\nPort 0 takes a free one; the port is printed.  Naming a listener replaces both "
           "defaults.\n"
           "An address may end in \",h2\" or \",http/1.1\": the one protocol that is spoken "
           "there.\n"
           "SIGTERM and SIGINT drain and stop; a second one stops at once.\n"
           "Exit status: 0 after a clean stop, 1 when it could not run, 2 for a wrong command "
           "line.\n");
}

static enum config_outcome bad(const char *option, const char *value, const char *why)
{
    log_line(LV_ERROR, "--%s %s: %s", option, value, why);
    return CONFIG_BAD;
}

/*
 * Take an address apart: what stands behind a comma is the one protocol that is spoken there.
 * Err: WEIR_CONFIG, and `why` says what is wrong with it.
 */
static enum weir_err listener_parse(const char *text, struct config_listener *l, char *why,
                                    size_t why_len)
{
    const char *comma = strrchr(text, ',');
    if (comma == NULL)
        return listen_address_parse(text, &l->address, why, why_len);
    if (strcmp(comma + 1, "h2") == 0)
        l->speaks = LISTENER_H2;
    else if (strcmp(comma + 1, "http/1.1") == 0)
        l->speaks = LISTENER_HTTP1;
    char address[ADDRESS_MAX];
    size_t len = (size_t)(comma - text);
    if (l->speaks == LISTENER_ANY || len >= sizeof(address)) {
        snprintf(why, why_len,
                 "expected h2 or http/1.1 behind the comma, and an address before it");
        return WEIR_CONFIG;
    }
    memcpy(address, text, len);
    address[len] = '\0';
    return listen_address_parse(address, &l->address, why, why_len);
}

static enum config_outcome add_listener(struct config *c, const char *text, bool is_tls)
{
    const char *option = is_tls ? "tls" : "listen";
    if (c->listener_count == CONFIG_LISTENERS_MAX)
        return bad(option, text, "there are too many listeners already");
    struct config_listener *l = &c->listeners[c->listener_count];
    char why[160];
    if (listener_parse(text, l, why, sizeof(why)) != WEIR_OK)
        return bad(option, text, why);
    l->is_tls = is_tls;
    c->listener_count++;
    return CONFIG_RUN;
}

static enum config_outcome set_workers(struct config *c, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < 1 || n > CONFIG_WORKERS_MAX)
        return bad("workers", text, "expected a number from 1 to 256");
    c->workers = (size_t)n;
    return CONFIG_RUN;
}

static enum config_outcome set_io(struct config *c, const char *text)
{
    static const char *const names[] = {
        [IO_CHOICE_AUTO] = "auto",
        [IO_CHOICE_URING] = "uring",
        [IO_CHOICE_EPOLL] = "epoll",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            c->io = (enum io_choice)i;
            return CONFIG_RUN;
        }
    }
    return bad("io", text, "expected auto, uring or epoll");
}

static enum config_outcome set_zero_copy(struct config *c, const char *text)
{
    static const char *const names[] = {
        [IO_ZERO_COPY_AUTO] = "auto",
        [IO_ZERO_COPY_ON] = "on",
        [IO_ZERO_COPY_OFF] = "off",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            c->zero_copy = (enum io_zero_copy)i;
            return CONFIG_RUN;
        }
    }
    return bad("zero-copy", text, "expected auto, on or off");
}

static enum config_outcome set_aead(struct config *c, const char *text)
{
    static const char *const names[] = {
        [TLS_AEAD_AUTO] = "auto",
        [TLS_AEAD_IPSEC_MB] = "ipsec-mb",
        [TLS_AEAD_VAES] = "vaes",
        [TLS_AEAD_OPENSSL] = "openssl",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            c->tls.aead = (enum tls_aead_choice)i;
            return CONFIG_RUN;
        }
    }
    return bad("aead", text, "expected auto, ipsec-mb, vaes or openssl");
}

static enum config_outcome set_ticket_period(struct config *c, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 || n > TLS_TICKET_PERIOD_MAX_S)
        return bad("ticket-period", text, "expected seconds, from 1 to 302400 (half a week)");
    c->tls.ticket_period_s = (uint32_t)n;
    return CONFIG_RUN;
}

/* A value goes into a field of every response as it is (RFC 9110 5.5). */
static bool is_field_value(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    }
    return true;
}

/* GLOB=VALUE, for an option that is told by an example. */
static enum config_outcome add_rule(struct config_rules *to, const char *option, const char *text,
                                    const char *expected)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return bad(option, text, expected);
    if (!is_field_value(equals + 1))
        return bad(option, text, "the value has a character that no field may have");
    if (to->count == CONFIG_RULES_MAX)
        return bad(option, text, "there are too many rules already");
    to->rules[to->count++] = (struct path_rule){
        .glob = {text, (size_t)(equals - text)},
        .value = {equals + 1, strlen(equals + 1)},
    };
    return CONFIG_RUN;
}

static enum config_outcome add_cache_rule(struct config *c, const char *text)
{
    return add_rule(&c->cache_rules, "cache-control", text,
                    "expected GLOB=VALUE, as in '*.css=max-age=60'");
}

/* A file has a type, and one that several ranges of it can repeat. */
static enum config_outcome add_type_rule(struct config *c, const char *text)
{
    static const char expected[] = "expected GLOB=TYPE, as in '*.ts=text/plain; charset=utf-8'";
    const char *equals = strchr(text, '=');
    const char *slash = equals == NULL ? NULL : strchr(equals, '/');
    if (slash == NULL || slash == equals + 1 || slash[1] == '\0' ||
        strlen(equals + 1) > CONFIG_TYPE_MAX)
        return bad("content-type", text, expected);
    return add_rule(&c->type_rules, "content-type", text, expected);
}

static enum config_outcome set_fallback(struct config *c, const char *text)
{
    const char *slash = text[0] == '/' ? "" : "/";
    int n = snprintf(c->fallback, sizeof(c->fallback), "%s%s", slash, text);
    if (text[0] == '\0' || (size_t)n >= sizeof(c->fallback))
        return bad("fallback", text, "expected a file below the served directory");
    return CONFIG_RUN;
}

static enum config_outcome set_cache_size(struct config *c, const char *text)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    unsigned shift = 0;
    if (*end == 'K' || *end == 'M' || *end == 'G')
        shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
    end += shift > 0;
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 ||
        n > CONFIG_CACHE_SIZE_MAX >> shift)
        return bad("cache-size", text, "expected bytes, as in 256K or 64M, up to 512M");
    c->cache_size = (size_t)n << shift;
    return CONFIG_RUN;
}

static enum config_outcome set_cache_files(struct config *c, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || n < 1 || n > CONFIG_CACHE_FILES_MAX)
        return bad("cache-files", text, "expected a number from 1 to 1000000");
    c->cache_files = (size_t)n;
    return CONFIG_RUN;
}

static enum config_outcome set_server(struct config *c, const char *text)
{
    size_t len = strlen(text);
    if (!is_field_value(text))
        return bad("server", text, "it has a character that no field may have");
    if (len > CONFIG_SERVER_MAX || (len > 0 && (text[0] == ' ' || text[len - 1] == ' ')))
        return bad("server", text, "expected up to 64 characters, no space at either end");
    c->server = text;
    return CONFIG_RUN;
}

static enum config_outcome set_option(struct config *c, int code, const char *arg)
{
    switch (code) {
    case 'l': return add_listener(c, arg, false);
    case 's': return add_listener(c, arg, true);
    case OPTION_CERT: c->tls.cert_file = arg; return CONFIG_RUN;
    case OPTION_KEY: c->tls.key_file = arg; return CONFIG_RUN;
    case OPTION_KEYLOG: c->tls.keylog_file = arg; return CONFIG_RUN;
    case OPTION_AEAD: return set_aead(c, arg);
    case OPTION_TICKET_PERIOD: return set_ticket_period(c, arg);
    case OPTION_CACHE_CONTROL: return add_cache_rule(c, arg);
    case OPTION_CONTENT_TYPE: return add_type_rule(c, arg);
    case OPTION_FALLBACK: return set_fallback(c, arg);
    case OPTION_LIST: c->lists_directories = true; return CONFIG_RUN;
    case OPTION_NO_PRECOMPRESSED: c->ignores_siblings = true; return CONFIG_RUN;
    case OPTION_CACHE_SIZE: return set_cache_size(c, arg);
    case OPTION_CACHE_FILES: return set_cache_files(c, arg);
    case OPTION_SERVER: return set_server(c, arg);
    case 'w': return set_workers(c, arg);
    case OPTION_IO: return set_io(c, arg);
    case OPTION_ZERO_COPY: return set_zero_copy(c, arg);
    case OPTION_NO_PIN: c->is_pinned = false; return CONFIG_RUN;
    case OPTION_CHECK: c->check_only = true; return CONFIG_RUN;
    case OPTION_STATS: c->print_stats = true; return CONFIG_RUN;
    case OPTION_VERSION: printf("weir " WEIR_VERSION "\n"); return CONFIG_EXIT;
    case 'h': print_help(); return CONFIG_EXIT;
    default: return CONFIG_BAD;
    }
}

/* Say what is wrong with an option.  `code` is getopt's result, `word` the last that it took. */
static enum config_outcome reject(int code, const char *word)
{
    bool is_known = false;
    for (size_t i = 0; i < ROWS; i++)
        is_known = is_known || rows[i].code == optopt;
    if (is_known)
        log_line(LV_ERROR, "%s: %s", word, code == ':' ? "it needs a value" : "it takes no value");
    else if (optopt != 0) /* a letter, maybe amid others */
        log_line(LV_ERROR, "-%c: there is no such option", optopt);
    else
        log_line(LV_ERROR, "%s: there is no such option", word);
    return CONFIG_BAD;
}

/*
 * The table in the form getopt wants; `letters` has room for two characters per row and two more.
 * The colon in front makes it tell a missing value from an unknown option.
 */
static void make_getopt(struct option *longs, char *letters)
{
    *letters++ = ':';
    for (size_t i = 0; i < ROWS; i++) {
        int has_arg = rows[i].arg != NULL ? required_argument : no_argument;
        longs[i] = (struct option){rows[i].name, has_arg, NULL, rows[i].code};
        if (rows[i].code < 256) {
            *letters++ = (char)rows[i].code;
            if (rows[i].arg != NULL)
                *letters++ = ':';
        }
    }
    longs[ROWS] = (struct option){0};
    *letters = '\0';
}

enum config_outcome config_parse(int argc, char **argv, struct config *out)
{
    *out = (struct config){
        .dir = WEIR_DEFAULT_DIR,
        .server = "weir",
        .is_pinned = true,
    };
    struct option longs[ROWS + 1];
    char letters[2 * ROWS + 2];
    make_getopt(longs, letters);

    int code;
    opterr = 0; /* what is wrong is said here */
    // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread yet
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        enum config_outcome outcome = code == '?' || code == ':' ? reject(code, argv[optind - 1])
                                                                 : set_option(out, code, optarg);
        if (outcome != CONFIG_RUN)
            return outcome;
    }
    if (argc - optind > 1) {
        log_line(LV_ERROR, "%s: only one directory can be served", argv[optind + 1]);
        return CONFIG_BAD;
    }
    if (argc - optind == 1)
        out->dir = argv[optind];
    if (out->tls.key_file != NULL && out->tls.cert_file == NULL)
        return bad("key", out->tls.key_file, "a key needs a certificate: name it with --cert");
    if (out->listener_count > 0)
        return CONFIG_RUN;
    enum config_outcome outcome = add_listener(out, DEFAULT_LISTEN, false);
    return outcome == CONFIG_RUN ? add_listener(out, DEFAULT_TLS, true) : outcome;
}
