/* See worker.h. */
#include "worker.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/probes.h"
#include "conn.h"
#include "mem.h"
#include "ready_heads.h"

/* ---- the lists of connections ---- */

void worker_add(struct worker *w, struct conn *c)
{
    list_append(&w->conns, &c->all);
    w->conn_count++;
}

void worker_remove(struct worker *w, struct conn *c)
{
    list_remove(&c->dirty);
    list_remove(&c->waiting);
    list_remove(&c->all);
    w->conn_count--;
    w->stats.closed++;
    if (w->is_crowded && !w->is_draining) {
        w->is_crowded = false;
        if (!timer_is_armed(&w->accept_timer)) /* else it resumes when the pause is over */
            io_accept_resume(w->io);
    }
}

void worker_mark_dirty(struct worker *w, struct conn *c)
{
    if (!list_is_linked(&c->dirty))
        list_append(&w->dirty, &c->dirty);
}

static void worker_flush_dirty(struct worker *w)
{
    struct list now; /* those that become dirty meanwhile wait for the next turn */
    list_move(&w->dirty, &now);
    struct list *link;
    while ((link = list_first(&now)) != NULL) {
        list_remove(link);
        conn_flush(container_of(link, struct conn, dirty));
    }
}

/*
 * A handshake costs as much as a hundred small requests: a burst of them must not hold up those
 * who have theirs behind them.  One that the client has answered to goes first: it costs little
 * more, and if all came to that point together, many would be past their deadline.
 */
bool worker_may_handshake(struct worker *w, struct conn *c)
{
    if (w->handshakes_now < LIMIT_HANDSHAKES_PER_TURN) {
        w->handshakes_now++;
        return true;
    }
    if (c->taken > 0)
        list_prepend(&w->handshakes, &c->waiting);
    else
        list_append(&w->handshakes, &c->waiting);
    return false;
}

static void worker_resume_handshakes(struct worker *w)
{
    struct list *link;
    w->handshakes_now = 0;
    while (w->handshakes_now < LIMIT_HANDSHAKES_PER_TURN &&
           (link = list_first(&w->handshakes)) != NULL) {
        list_remove(link);
        w->handshakes_now++;
        conn_resume_handshake(container_of(link, struct conn, waiting));
    }
}

/* ---- accepting ---- */

/* Out of descriptors or memory: leave the connections in the kernel's queue for a while. */
static void worker_pause_accept(struct worker *w, int err)
{
    uint64_t pause_ms = w->accept_pause_ms == 0 ? LIMIT_ACCEPT_PAUSE_MS : w->accept_pause_ms * 2;
    if (pause_ms > LIMIT_ACCEPT_PAUSE_MAX_MS)
        pause_ms = LIMIT_ACCEPT_PAUSE_MAX_MS;
    if (w->accept_pause_ms == 0)
        log_errno(LV_WARN, err, "accepting paused connections=%zu", w->conn_count);
    w->accept_pause_ms = pause_ms;
    w->stats.accept_pauses++;
    io_accept_pause(w->io);
    wheel_arm(&w->wheel, &w->accept_timer, w->clock.now_ms + pause_ms);
}

static void on_accept_timer(struct timer *t)
{
    struct worker *w = container_of(t, struct worker, accept_timer);
    if (!w->is_draining && !w->is_crowded)
        io_accept_resume(w->io);
}

static void on_accept(void *ctx, const struct listener *l, int handle, const struct sockaddr *peer)
{
    struct worker *w = ctx;
    (void)peer;
    if (handle < 0) {
        worker_pause_accept(w, -handle);
        return;
    }
    w->accept_pause_ms = 0;
    if (mem_is_low(w->mem)) {
        io_refuse(w->io, handle);
        worker_pause_accept(w, ENOMEM);
        return;
    }
    if (conn_new(w, l, handle) != WEIR_OK)
        return;
    w->stats.accepted++;
    if (w->conn_count >= w->config.connections_max) {
        w->is_crowded = true;
        w->stats.accept_pauses++;
        io_accept_pause(w->io);
    }
}

/* ---- the end ---- */

static void worker_abort_all(struct worker *w)
{
    /* Closing a connection takes it from the list later, when its last completion is in. */
    for (struct list *link = w->conns.next; link != &w->conns; link = link->next)
        conn_abort(container_of(link, struct conn, all));
}

static void on_drain_timer(struct timer *t)
{
    struct worker *w = container_of(t, struct worker, drain_timer);
    log_line(LV_WARN, "drain ended by its deadline connections=%zu", w->conn_count);
    worker_abort_all(w);
}

static void worker_close_listeners(struct worker *w)
{
    for (size_t i = 0; i < w->config.listener_count; i++)
        close(w->config.listeners[i].fd);
    w->config.listener_count = 0;
}

static void worker_drain(struct worker *w)
{
    if (w->is_draining)
        return;
    w->is_draining = true;
    wheel_disarm(&w->wheel, &w->accept_timer);
    io_accept_end(w->io);
    worker_close_listeners(w);
    wheel_arm(&w->wheel, &w->drain_timer, w->clock.now_ms + LIMIT_DRAIN_MS);
    for (struct list *link = w->conns.next; link != &w->conns; link = link->next)
        conn_drain(container_of(link, struct conn, all));
}

void worker_post(struct worker *w, enum worker_message message)
{
    atomic_fetch_or(&w->inbox, (unsigned)message);
    io_wake(w->io); /* lives until worker_join() */
}

static void on_wake(void *ctx)
{
    struct worker *w = ctx;
    unsigned messages = atomic_exchange(&w->inbox, 0);
    if (messages & (WORKER_DRAIN | WORKER_STOP))
        worker_drain(w);
    if (messages & WORKER_STOP)
        worker_abort_all(w);
}

/* A disk that does not answer must not keep a worker from ending. */
static void on_fetch_timer(struct timer *t)
{
    struct worker *w = container_of(t, struct worker, fetch_timer);
    log_line(LV_WARN, "a disk does not answer: gave up fetches=%zu", w->io->fetches);
    w->gives_up_fetches = true;
}

/* True when the worker is to end; if only fetches keep it from that, they have some time left. */
static bool worker_is_over(struct worker *w)
{
    if (!w->is_draining || w->conn_count > 0)
        return false;
    if (w->io->fetches == 0 || w->gives_up_fetches)
        return true;
    files_end(w->files);
    if (!timer_is_armed(&w->fetch_timer))
        wheel_arm(&w->wheel, &w->fetch_timer, w->clock.now_ms + LIMIT_FETCH_END_MS);
    return false;
}

/* ---- the loop ---- */

static int wait_ms(void *ctx)
{
    struct worker *w = ctx;
    if (list_first(&w->dirty) != NULL || list_first(&w->handshakes) != NULL || worker_is_over(w))
        return 0;
    uint64_t next = wheel_next_ms(&w->wheel);
    if (next == WHEEL_NEVER)
        return -1;
    if (next <= w->clock.now_ms)
        return 0;
    uint64_t ms = next - w->clock.now_ms;
    return ms < 60000 ? (int)ms : 60000;
}

/* Completions must not see the time from before the wait: deadlines would have passed at once. */
static void on_waited(void *ctx)
{
    struct worker *w = ctx;
    clock_tick(&w->clock);
    WEIR_PROBE1(turn_begin, w);
}

static const struct io_events worker_events = {
    .on_accept = on_accept,
    .on_recv = conn_on_recv,
    .on_sent = conn_on_sent,
    .on_told = conn_on_told,
    .on_closed = conn_on_closed,
    .on_wake = on_wake,
    .wait_ms = wait_ms,
    .on_waited = on_waited,
};

static void worker_note_warmth(struct worker *w)
{
    if (w->is_warm || w->stats.requests < WORKER_WARMUP_REQUESTS)
        return;
    w->is_warm = true;
    if (w->config.allocations != NULL)
        w->warm_allocations = w->config.allocations();
}

static void worker_run(struct worker *w)
{
    while (!worker_is_over(w)) {
        io_turn(w->io);
        wheel_advance(&w->wheel, w->clock.now_ms);
        worker_resume_handshakes(w);
        worker_flush_dirty(w);
        worker_note_warmth(w);
    }
}

static void worker_pin(const struct worker *w)
{
    if (w->config.cpu < 0)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)w->config.cpu, &set);
    int err = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    if (err != 0)
        log_errno(LV_WARN, err, "cannot pin a worker to cpu %d; it runs unpinned", w->config.cpu);
}

/* The worker holds the first reference, so that it is never released. */
static void on_zeros_release(struct weir_buf *b)
{
    WEIR_ASSERT(b == NULL);
}

static void worker_fetch(struct fetcher *fetcher, struct fetch *f)
{
    io_fetch(container_of(fetcher, struct worker, fetcher)->io, f);
}

/* Everything that is made by the worker's own thread, so that its memory lies near its CPU. */
static enum weir_err worker_set_up(struct worker *w)
{
    worker_pin(w);
    static uint8_t zeros[LIMIT_DATA_FRAME]; /* of all workers; only the count is each one's own */
    w->zeros = (struct weir_buf){
        .refs = 1, .base = zeros, .cap = sizeof(zeros), .release = on_zeros_release};
    list_init(&w->conns);
    list_init(&w->dirty);
    list_init(&w->handshakes);
    clock_tick(&w->clock);
    wheel_init(&w->wheel, w->clock.now_ms);
    w->accept_timer.fn = on_accept_timer;
    w->drain_timer.fn = on_drain_timer;
    w->fetch_timer.fn = on_fetch_timer;
    w->fetcher.start = worker_fetch;

    enum weir_err err = mem_new(LIMIT_WORKER_MEMORY, &w->mem);
    if (err != WEIR_OK)
        return err;
    struct files_config files = *w->config.files;
    files.fetcher = &w->fetcher;
    err = files_new(&files, w->mem, &w->clock, &w->stats, &w->files);
    if (err != WEIR_OK)
        return err;
    err = ready_heads_new(w->mem, &w->heads);
    if (err != WEIR_OK)
        return err;
    w->env = (struct protocol_env){
        .heads = w->heads,
        .mem = w->mem,
        .clock = &w->clock,
        .stats = &w->stats,
        .handler = files_handle,
        .refuse = files_refuse,
        .handler_ctx = w->files,
    };
    w->tls_env = (struct tls_env){.mem = w->mem, .clock = &w->clock, .stats = &w->tls_stats};
    const struct io_env io_env = {
        .events = &worker_events,
        .ctx = w,
        .mem = w->mem,
        .stats = &w->stats,
        .zero_copy = w->config.zero_copy,
        .loops = w->config.workers,
    };
    err = io_new(w->config.io, &io_env, &w->io);
    for (size_t i = 0; err == WEIR_OK && i < w->config.listener_count; i++)
        err = io_listen(w->io, &w->config.listeners[i]);
    return err;
}

static void worker_tear_down(struct worker *w)
{
    if (w->is_warm && w->config.allocations != NULL)
        w->result.allocations = w->config.allocations() - w->warm_allocations;
    worker_close_listeners(w);
    io_end(w->io); /* what it holds of the memory; others may still wake it */
    w->result.stats = w->stats;
    w->result.tls_stats = w->tls_stats;
    if (w->gives_up_fetches)
        return; /* threads that wait may still write there */
    files_free(w->files);
    ready_heads_free(w->heads);
    w->result.stats = w->stats;
    if (w->mem != NULL)
        w->result.blocks_live = mem_blocks_live(w->mem);
    if (w->result.blocks_live > 0)
        mem_blocks_report(w->mem);
    mem_free(w->mem);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    w->start_err = worker_set_up(w);
    if (w->start_err == WEIR_NOMEM) /* of other reasons who met them has spoken */
        log_line(LV_ERROR, "cannot start a worker: out of memory");
    bool ok = w->start_err == WEIR_OK;
    sem_post(&w->started);
    if (ok)
        worker_run(w);
    worker_tear_down(w);
    const uint64_t one = 1;
    if (ok && write(w->config.ended_fd, &one, sizeof(one)) != sizeof(one))
        log_errno(LV_ERROR, errno, "cannot report the end of a worker");
    bool is_stuck = w->gives_up_fetches;
    sem_post(&w->ended);
    /* Why: the kernel lets no thread go whose requests wait for a disk; the process it does. */
    // NOLINTNEXTLINE(bugprone-infinite-loop): the end of the process ends it
    while (is_stuck)
        pause();
    return NULL;
}

/* Workers that gave up fetches, whose threads may still refer to them. */
static struct worker *abandoned;

static void worker_free(struct worker *w)
{
    if (w->gives_up_fetches) {
        w->abandoned = abandoned;
        abandoned = w;
        return;
    }
    io_free(w->io);
    sem_destroy(&w->started);
    sem_destroy(&w->ended);
    free(w);
}

enum weir_err worker_start(const struct worker_config *config, struct worker **out)
{
    *out = NULL;
    struct worker *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        log_line(LV_ERROR, "cannot start a worker: out of memory");
        return WEIR_NOMEM;
    }
    w->config = *config;
    sem_init(&w->started, 0, 0);
    sem_init(&w->ended, 0, 0);
    int err = pthread_create(&w->thread, NULL, worker_main, w);
    if (err != 0) {
        log_errno(LV_ERROR, err, "cannot start a worker");
        worker_close_listeners(w);
        worker_free(w);
        return WEIR_IO;
    }
    while (sem_wait(&w->started) == -1 && errno == EINTR) {
    }
    enum weir_err start_err = w->start_err;
    if (start_err != WEIR_OK) {
        pthread_join(w->thread, NULL);
        worker_free(w);
        return start_err;
    }
    *out = w;
    return WEIR_OK;
}

void worker_join(struct worker *w, struct worker_result *result)
{
    while (sem_wait(&w->ended) == -1 && errno == EINTR) {
    }
    if (w->gives_up_fetches)
        pthread_detach(w->thread);
    else
        pthread_join(w->thread, NULL);
    *result = w->result;
    worker_free(w);
}
