/* Options, files, and what is printed: one object of JSON. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "load.h"

static const char usage[] =
    "usage: weir-load [OPTIONS] PORT   (of 127.0.0.1)\n"
    "  --root DIR           the files that are served; every answer is compared with them\n"
    "  --path PATH          ask for this one; repeatable\n"
    "  --paths FILE         ask for these, one a line\n"
    "  --suffix TEXT        what the answers hold is in the files of that name and this ending\n"
    "  --body FILE[:AT:LEN] what the answers must be, if not the file of that path\n"
    "  --pattern LEN        every file is its path and a line feed, repeated up to this length\n"
    "  --shuffle SEED       in another order\n"
    "  --field 'N: V'       a field of every request; repeatable\n"
    "  --status N           what every answer must have (default 200)\n"
    "  --http1              HTTP/1.1 instead of HTTP/2\n"
    "  --tls                TLS 1.3;  --suite NAME --group NAME: these only\n"
    "  --connections N, --streams N, --requests N\n"
    "  --rate R             requests per second, all in all, whatever the answers do\n"
    "  --skip N             requests at the beginning that are not recorded\n"
    "  --batch              a connection asks again when all of its streams are answered\n"
    "  --per-connection N   then close it and open another;  --resume: with the ticket of the "
    "last\n"
    "  --wait               say so when all are connected, and ask when a line is read\n"
    "  --hold               one request per connection (or --per-connection), then idle until\n"
    "                       standard input ends\n"
    "  --log FILE           latencies, as 64-bit numbers of nanoseconds\n";

void load_fail(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *c = text; *c != 0; c++) {
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            *c = '\'';
    }
    printf("{\"error\": \"%s\"}\n", text);
    fflush(stdout);
    _exit(1);
}

__attribute__((noreturn)) static void fail_usage(void)
{
    fputs(usage, stderr);
    _exit(2);
}

static void *grown(void *old, size_t count, size_t each)
{
    void *now = realloc(old, count * each + 1);
    if (now == NULL)
        load_fail("out of memory");
    return now;
}

/* The file of that name with the suffix, if there is one, else without. */
static uint8_t *file_content(const char *root, const char *path, const char *suffix, size_t *len)
{
    char name[4096];
    snprintf(name, sizeof(name), "%s%s%s", root, path, suffix);
    if (access(name, R_OK) == -1)
        snprintf(name, sizeof(name), "%s%s", root, path);
    FILE *in = fopen(name, "rb");
    if (in == NULL)
        load_fail("cannot read %s", name);
    fseek(in, 0, SEEK_END);
    *len = (size_t)ftell(in);
    rewind(in);
    uint8_t *content = grown(NULL, *len, 1);
    if (fread(content, 1, *len, in) != *len)
        load_fail("cannot read %s", name);
    fclose(in);
    return content;
}

static void add_path(struct load *l, const char *path)
{
    if ((l->target_count & (l->target_count - 1)) == 0)
        l->targets = grown(l->targets, l->target_count * 2 + 1, sizeof(*l->targets));
    l->targets[l->target_count++] = (struct target){.path = strdup(path)};
}

static void add_paths(struct load *l, const char *list)
{
    char line[4096];
    FILE *in = fopen(list, "r");
    if (in == NULL)
        load_fail("cannot read %s", list);
    while (fgets(line, sizeof(line), in) != NULL) {
        line[strcspn(line, "\n")] = 0;
        add_path(l, line);
    }
    fclose(in);
}

/* The body that all answers have: a file, or a part of it. */
static void set_body(struct load *l, char *spec)
{
    char *at = strchr(spec, ':');
    char *len = at != NULL ? strchr(at + 1, ':') : NULL;
    if (at != NULL)
        *at = 0;
    size_t whole;
    l->content = file_content("", spec, "", &whole);
    size_t from = at != NULL ? strtoul(at + 1, NULL, 10) : 0;
    size_t count = len != NULL ? strtoul(len + 1, NULL, 10) : whole - from;
    for (size_t i = 0; i < l->target_count; i++) {
        l->targets[i].content = l->content + from;
        l->targets[i].len = count;
    }
}

/* Every file is its path and a line feed, again and again. */
static void set_pattern(struct load *l, size_t len)
{
    uint8_t *content = grown(NULL, l->target_count, len);
    l->content = content;
    for (size_t i = 0; i < l->target_count; i++, content += len) {
        size_t line_len = strlen(l->targets[i].path) + 1;
        for (size_t at = 0; at < len; at++)
            content[at] = (uint8_t)l->targets[i].path[at % line_len];
        for (size_t at = line_len - 1; at < len; at += line_len)
            content[at] = '\n';
        l->targets[i].content = content;
        l->targets[i].len = len;
    }
}

static void shuffle(struct load *l, uint64_t seed)
{
    for (size_t i = l->target_count; i > 1; i--) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        size_t j = seed % i;
        struct target t = l->targets[i - 1];
        l->targets[i - 1] = l->targets[j];
        l->targets[j] = t;
    }
}

static void make_tls(struct load *l, const char *suite, const char *group)
{
    l->tls = SSL_CTX_new(TLS_client_method());
    if (l->tls == NULL || SSL_CTX_set_min_proto_version(l->tls, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(l->tls, suite) != 1 ||
        SSL_CTX_set1_groups_list(l->tls, group) != 1 ||
        SSL_CTX_set_alpn_protos(l->tls, (const unsigned char *)l->protocol->alpn,
                                (unsigned)strlen(l->protocol->alpn)) != 0)
        load_fail("cannot set TLS up for %s, %s", suite, group);
    SSL_CTX_set_mode(l->tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static void make_links(struct load *l)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    prctl(PR_SET_TIMERSLACK, 1UL);
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->links = grown(NULL, l->connections, sizeof(*l->links));
    memset(l->links, 0, l->connections * sizeof(*l->links));
    for (unsigned i = 0; i < l->connections; i++) {
        l->links[i].load = l;
        l->links[i].slots = grown(NULL, l->streams, sizeof(*l->links->slots));
        memset(l->links[i].slots, 0, l->streams * sizeof(*l->links->slots));
    }
    l->latency_ns = grown(NULL, l->total, sizeof(uint64_t));
    l->late_ns = grown(NULL, l->total, sizeof(uint64_t));
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_percentiles(const char *name, uint64_t *values, uint64_t count)
{
    static const struct {
        const char *name;
        double share;
    } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}};
    qsort(values, count, sizeof(*values), by_size);
    printf(", \"%s\": {", name);
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        /* nearest rank: the smallest value that as many are not above */
        double rank = points[i].share * (double)count;
        uint64_t at = (uint64_t)rank;
        if ((double)at < rank)
            at++;
        printf("%s\"%s\": %.3f", i > 0 ? ", " : "", points[i].name,
               count > 0 ? (double)values[at > 0 ? at - 1 : 0] / 1e3 : 0.0);
    }
    printf("}");
}

static void report(struct load *l, const char *log)
{
    double cpu = (double)(load_cpu_ns() - l->start_cpu_ns) / 1e9;
    if (log != NULL) {
        FILE *out = fopen(log, "wb");
        if (out == NULL || fwrite(l->latency_ns, 8, l->recorded, out) != l->recorded ||
            fclose(out) != 0)
            load_fail("cannot write %s", log);
    }
    const char *suite = l->links[0].ssl != NULL ? SSL_get_cipher_name(l->links[0].ssl) : "";
    printf("{\"error\": null, \"requests\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f,"
           " \"bytes\": %llu,"
           " \"connections\": %llu, \"resumed\": %llu, \"suite\": \"%s\"",
           (unsigned long long)l->done, (double)(l->end_ns - l->start_ns) / 1e9, cpu,
           (unsigned long long)l->bytes, (unsigned long long)l->connects,
           (unsigned long long)l->resumed, suite);
    print_percentiles("latency_us", l->latency_ns, l->recorded);
    print_percentiles("late_us", l->late_ns, l->recorded);
    printf("}\n");
}

enum {
    ROOT = 256,
    PATH,
    PATHS,
    SUFFIX,
    BODY,
    PATTERN,
    SHUFFLE,
    FIELD,
    STATUS,
    HTTP1,
    TLS,
    SUITE,
    GROUP,
    CONNECTIONS,
    STREAMS,
    REQUESTS,
    RATE,
    SKIP,
    BATCH,
    PER_CONNECTION,
    RESUME,
    WAIT,
    HOLD,
    LOG
};

static const struct option options[] = {
    {"root", 1, NULL, ROOT},
    {"path", 1, NULL, PATH},
    {"paths", 1, NULL, PATHS},
    {"suffix", 1, NULL, SUFFIX},
    {"body", 1, NULL, BODY},
    {"pattern", 1, NULL, PATTERN},
    {"shuffle", 1, NULL, SHUFFLE},
    {"field", 1, NULL, FIELD},
    {"status", 1, NULL, STATUS},
    {"http1", 0, NULL, HTTP1},
    {"tls", 0, NULL, TLS},
    {"suite", 1, NULL, SUITE},
    {"group", 1, NULL, GROUP},
    {"connections", 1, NULL, CONNECTIONS},
    {"streams", 1, NULL, STREAMS},
    {"requests", 1, NULL, REQUESTS},
    {"rate", 1, NULL, RATE},
    {"skip", 1, NULL, SKIP},
    {"batch", 0, NULL, BATCH},
    {"per-connection", 1, NULL, PER_CONNECTION},
    {"resume", 0, NULL, RESUME},
    {"wait", 0, NULL, WAIT},
    {"hold", 0, NULL, HOLD},
    {"log", 1, NULL, LOG},
    {NULL, 0, NULL, 0},
};

/* What the options say that is not in struct load. */
struct words {
    const char *root;
    const char *suffix;
    const char *log;
    const char *suite;
    const char *group;
    char *body;
    size_t pattern_len;
    uint64_t seed;
};

static void take_option(struct load *l, struct words *w, int option)
{
    switch (option) {
    case ROOT: w->root = optarg; return;
    case PATH: add_path(l, optarg); return;
    case PATHS: add_paths(l, optarg); return;
    case SUFFIX: w->suffix = optarg; return;
    case BODY: w->body = optarg; return;
    case PATTERN: w->pattern_len = strtoul(optarg, NULL, 10); return;
    case SHUFFLE: w->seed = strtoull(optarg, NULL, 10); return;
    case FIELD:
        if (strstr(optarg, ": ") == NULL || l->field_count == 8)
            load_fail("--field takes 'name: value', 8 times at most");
        l->fields[l->field_count++] = optarg;
        return;
    case STATUS: l->status = (unsigned)strtoul(optarg, NULL, 10); return;
    case HTTP1: l->protocol = &protocol_h1; return;
    case TLS: l->is_tls = true; return;
    case SUITE: w->suite = optarg; return;
    case GROUP: w->group = optarg; return;
    case CONNECTIONS: l->connections = (unsigned)strtoul(optarg, NULL, 10); return;
    case STREAMS: l->streams = (unsigned)strtoul(optarg, NULL, 10); return;
    case REQUESTS: l->total = strtoull(optarg, NULL, 10); return;
    case RATE: l->rate = strtod(optarg, NULL); return;
    case SKIP: l->skip = strtoull(optarg, NULL, 10); return;
    case BATCH: l->is_batched = true; return;
    case PER_CONNECTION: l->per_connection = (unsigned)strtoul(optarg, NULL, 10); return;
    case RESUME: l->is_resuming = true; return;
    case WAIT: l->is_waiting = true; return;
    case HOLD: l->is_held = true; return;
    case LOG: w->log = optarg; return;
    default: fail_usage();
    }
}

static void set_contents(struct load *l, const struct words *w)
{
    if (w->body != NULL) {
        set_body(l, w->body);
    } else if (w->pattern_len > 0) {
        set_pattern(l, w->pattern_len);
    } else {
        for (size_t i = 0; i < l->target_count; i++)
            l->targets[i].content =
                file_content(w->root, l->targets[i].path, w->suffix, &l->targets[i].len);
    }
}

int main(int argc, char **argv)
{
    struct load l = {.protocol = &protocol_h2, .status = 200, .connections = 1, .streams = 1};
    struct words w = {
        .root = ".", .suffix = "", .suite = "TLS_AES_128_GCM_SHA256", .group = "X25519"};
    int option;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread, now or later */
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        take_option(&l, &w, option);
    if (l.is_held) {
        if (l.per_connection == 0)
            l.per_connection = 1;
        l.total = (uint64_t)l.connections * l.per_connection;
    }
    if (optind + 1 != argc || l.target_count == 0 || l.total == 0 || l.connections == 0 ||
        l.streams == 0 || l.skip >= l.total)
        fail_usage();
    l.port = (uint16_t)strtoul(argv[optind], NULL, 10);
    char authority[32];
    snprintf(authority, sizeof(authority), "127.0.0.1:%u", l.port);
    l.authority = authority;
    set_contents(&l, &w);
    if (w.seed != 0)
        shuffle(&l, w.seed);
    if (l.is_tls)
        make_tls(&l, w.suite, w.group);
    make_links(&l);
    run(&l);
    report(&l, w.log);
    return 0;
}
