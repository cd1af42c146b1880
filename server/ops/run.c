/* See run.h.  Thread: the main thread, which serves no connection. */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "internal/limits.h"
#include "internal/log.h"
#include "allocations.h"
#include "beneath.h"
#include "choose.h"
#include "cpus.h"
#include "map_guard.h"
#include "mem.h"
#include "stats_json.h"
#include "worker.h"

struct program {
    const struct config *config;
    const struct io_backend *io;
    char io_note[IO_NOTE_LEN]; /* which that is, and why */
    struct files_config files;
    struct tls_ctx *tls; /* NULL if no listener needs it */
    struct cpus cpus;
    size_t connections_max;
    size_t worker_count; /* started */
    struct worker *workers[CONFIG_WORKERS_MAX];
    int fds[CONFIG_LISTENERS_MAX][CONFIG_WORKERS_MAX];
    int ended_fd;
    int signal_fd;
};

static struct files_config files_config_of(const struct config *config)
{
    return (struct files_config){
        .root = config->dir,
        .walks_paths = !beneath_is_in_kernel(),
        .server = {config->server, strlen(config->server)},
        .cached_max = config->cache_files,
        .cached_bytes = config->cache_size,
        .cache_rules = {config->cache_rules.rules, config->cache_rules.count},
        .type_rules = {config->type_rules.rules, config->type_rules.count},
        .ignores_siblings = config->ignores_siblings,
        .lists_directories = config->lists_directories,
        .fallback = {config->fallback, strlen(config->fallback)},
    };
}

/* Certificate, key and engine, if any listener is for TLS.  *out may be NULL. */
static enum weir_err open_tls(const struct config *config, struct tls_ctx **out)
{
    *out = NULL;
    bool is_needed = false;
    for (size_t i = 0; i < config->listener_count; i++)
        is_needed = is_needed || config->listeners[i].is_tls;
    if (!is_needed)
        return WEIR_OK;
    char message[TLS_MESSAGE_LEN];
    enum weir_err err = tls_ctx_new(&config->tls, out, message);
    if (err != WEIR_OK)
        log_line(LV_ERROR, "%s", message);
    return err;
}

static void tell_files(const struct files_config *files)
{
    if (files->walks_paths)
        log_line(LV_INFO, "openat2(2) is not to be had: paths are resolved name by name");
}

/* What an operator should know about how TLS is served. */
static void tell_tls(const struct config *config, const struct tls_ctx *tls)
{
    if (tls == NULL)
        return;
    log_line(LV_INFO, "tls records by %s", tls_ctx_engine(tls));
    if (config->tls.cert_file == NULL)
        log_line(LV_INFO,
                 "self-signed certificate made in memory for localhost, 127.0.0.1 and ::1: "
                 "no client trusts it; name yours with --cert");
    if (config->tls.keylog_file != NULL)
        log_line(LV_WARN,
                 "secrets are written to %s: whoever reads that file can read every "
                 "connection",
                 config->tls.keylog_file);
}

static enum weir_err choose_io(const struct config *config, const struct io_backend **out,
                               char note[IO_NOTE_LEN])
{
    enum weir_err err = io_choose(config->io, out, note);
    if (err != WEIR_OK)
        log_line(LV_ERROR, "%s", note);
    return err;
}

/* Signals are read from a descriptor; SIGPIPE is of no use to anyone here. */
static enum weir_err take_signals(struct program *p)
{
    signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* inherited by the workers */
    p->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
    p->ended_fd = eventfd(0, EFD_CLOEXEC);
    if (p->signal_fd != -1 && p->ended_fd != -1)
        return WEIR_OK;
    log_errno(LV_ERROR, errno, "cannot watch for signals");
    return WEIR_IO;
}

/*
 * Half of the descriptors are for connections, the rest for files and everything else.  Where a
 * connection takes up none, each worker has a table of as many as the process may have descriptors;
 * room is left there for those that are accepted before accepting pauses: the kernel resets what
 * it has accepted and finds no entry for.
 */
static size_t connections_per_worker(const struct io_backend *io, size_t workers, size_t listeners)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
        return LIMIT_CONNECTIONS;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit); /* what we may have anyway; else the old one holds */
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    rlim_t ahead = listeners * io->accepts_ahead;
    rlim_t each = io->spares_descriptors ? limit.rlim_cur : limit.rlim_cur / 2 / workers;
    each = each > ahead ? each - ahead : 1;
    return each < LIMIT_CONNECTIONS ? (size_t)each : LIMIT_CONNECTIONS;
}

static enum weir_err open_listeners(struct program *p, struct config *config, size_t workers)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        enum weir_err err = listen_open(&config->listeners[i].address, p->fds[i], workers);
        if (err == WEIR_OK)
            continue;
        while (i-- > 0) {
            for (size_t j = 0; j < workers; j++)
                close(p->fds[i][j]);
        }
        return err;
    }
    return WEIR_OK;
}

static enum weir_err start_worker(struct program *p, size_t i, size_t workers)
{
    const struct config *config = p->config;
    struct worker_config wc = {
        .io = p->io,
        .zero_copy = config->zero_copy,
        .workers = workers,
        .files = &p->files,
        .tls = p->tls,
        .cpu = -1,
        .connections_max = p->connections_max,
        .listener_count = config->listener_count,
        .allocations = allocations_are_counted() ? allocations_of_thread : NULL,
        .ended_fd = p->ended_fd,
    };
    if (config->is_pinned && p->cpus.count > 0)
        wc.cpu = p->cpus.ids[i % p->cpus.count];
    for (size_t l = 0; l < config->listener_count; l++)
        wc.listeners[l] = (struct listener){
            .fd = p->fds[l][i],
            .is_tls = config->listeners[l].is_tls,
            .speaks = config->listeners[l].speaks,
        };
    return worker_start(&wc, &p->workers[i]);
}

static void post_all(struct program *p, enum worker_message message)
{
    for (size_t i = 0; i < p->worker_count; i++)
        worker_post(p->workers[i], message);
}

static enum weir_err start_workers(struct program *p, size_t workers)
{
    for (size_t i = 0; i < workers; i++) {
        enum weir_err err = start_worker(p, i, workers);
        if (err != WEIR_OK) {
            for (size_t l = 0; l < p->config->listener_count; l++) {
                for (size_t j = i + 1; j < workers; j++)
                    close(p->fds[l][j]);
            }
            return err;
        }
        p->worker_count++;
    }
    return WEIR_OK;
}

static void print_listeners(const struct config *config)
{
    for (size_t i = 0; i < config->listener_count; i++) {
        const struct config_listener *l = &config->listeners[i];
        char text[LISTEN_TEXT_MAX];
        listen_address_format(&l->address, text);
        static const char *const alone[] = {
            [LISTENER_ANY] = "",
            [LISTENER_H2] = " (h2 alone)",
            [LISTENER_HTTP1] = " (http/1.1 alone)",
        };
        const char *scheme = l->is_tls ? "https://" : "http://";
        bool is_unix = l->address.addr.any.sa_family == AF_UNIX;
        printf("weir: listening on %s%s%s\n", is_unix ? "" : scheme, text, alone[l->speaks]);
    }
    fflush(stdout);
}

/* Drain at the first signal, stop at the second, until all workers have ended. */
static void wait_for_end(struct program *p)
{
    uint64_t ended = 0;
    bool is_draining = false;
    struct pollfd fds[] = {{.fd = p->signal_fd, .events = POLLIN},
                           {.fd = p->ended_fd, .events = POLLIN}};
    while (ended < p->worker_count) {
        if (poll(fds, 2, -1) == -1 && errno != EINTR)
            return;
        struct signalfd_siginfo info;
        if ((fds[0].revents & POLLIN) != 0 &&
            read(p->signal_fd, &info, sizeof(info)) == sizeof(info)) {
            log_line(LV_INFO, is_draining ? "stopping at once signal=%s" : "draining signal=%s",
                     info.ssi_signo == SIGINT ? "INT" : "TERM");
            post_all(p, is_draining ? WORKER_STOP : WORKER_DRAIN);
            is_draining = true;
        }
        uint64_t count;
        if ((fds[1].revents & POLLIN) != 0 &&
            read(p->ended_fd, &count, sizeof(count)) == sizeof(count))
            ended += count;
    }
}

static void join_workers(struct program *p, struct stats_report *report)
{
    *report = (struct stats_report){.has_allocations = allocations_are_counted()};
    for (size_t i = 0; i < p->worker_count; i++) {
        struct worker_result result;
        worker_join(p->workers[i], &result);
        stats_add(&report->stats, &result.stats);
        report->allocations += result.allocations;
        tls_stats_add(&report->tls_stats, &result.tls_stats);
        report->blocks_live += result.blocks_live;
    }
    p->worker_count = 0;
}

static int run_workers(struct program *p, struct config *config)
{
    size_t workers = config->workers != 0 ? config->workers : p->cpus.worth;
    if (workers > CONFIG_WORKERS_MAX)
        workers = CONFIG_WORKERS_MAX;
    p->connections_max = connections_per_worker(p->io, workers, config->listener_count);
    if (open_listeners(p, config, workers) != WEIR_OK) {
        close(p->signal_fd);
        close(p->ended_fd);
        return 1;
    }

    int status = 0;
    if (start_workers(p, workers) == WEIR_OK) {
        log_line(LV_INFO, "%s", p->io_note);
        print_listeners(config);
    } else {
        post_all(p, WORKER_STOP);
        status = 1;
    }
    wait_for_end(p);
    close(p->signal_fd);
    close(p->ended_fd);
    struct stats_report report;
    join_workers(p, &report);
    for (size_t i = 0; i < config->listener_count; i++)
        listen_address_unlink(&config->listeners[i].address);
    if (config->print_stats && status == 0)
        stats_print(&report, stdout);
    return status;
}

static int status_of(enum weir_err err)
{
    switch (err) {
    case WEIR_OK: return 0;
    case WEIR_CONFIG: return 2;
    default: return 1;
    }
}

/* What a worker will do first, done once here, where an error is said once. */
static enum weir_err try_files(const struct files_config *files)
{
    struct mem *mem;
    enum weir_err err = mem_new(LIMIT_WORKER_MEMORY, &mem);
    if (err != WEIR_OK)
        return err;
    struct clock clock = {0};
    struct stats stats = {0};
    struct files *f;
    clock_tick(&clock);
    err = files_new(files, mem, &clock, &stats, &f);
    files_free(f);
    mem_free(mem);
    return err;
}

int run_check(const struct config *config)
{
    struct tls_ctx *tls = NULL;
    const struct io_backend *io;
    char note[IO_NOTE_LEN];
    const struct files_config files = files_config_of(config);
    enum weir_err err = try_files(&files);
    if (err == WEIR_OK)
        err = open_tls(config, &tls);
    tls_ctx_free(tls);
    if (err == WEIR_OK)
        err = choose_io(config, &io, note);
    return status_of(err);
}

int run(struct config *config)
{
    struct program *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        log_line(LV_ERROR, "out of memory");
        return 1;
    }
    p->config = config;
    p->files = files_config_of(config);
    cpus_find(&p->cpus);
    enum weir_err err = try_files(&p->files);
    if (err == WEIR_OK)
        err = open_tls(config, &p->tls);
    if (err == WEIR_OK)
        err = map_guard_install();
    if (err == WEIR_OK)
        err = take_signals(p);
    if (err == WEIR_OK)
        err = choose_io(config, &p->io, p->io_note);
    if (err == WEIR_OK) {
        tell_files(&p->files);
        tell_tls(config, p->tls);
    }
    int status = err == WEIR_OK ? run_workers(p, config) : status_of(err);
    tls_ctx_free(p->tls);
    free(p);
    return status;
}
