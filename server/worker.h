/*
 * A worker: a thread with its own loop, listeners, memory, clock, timers and file cache.  Nothing
 * of it is shared; others reach it only through its inbox.
 *
 * A turn: take all completions, fire timers, then let each dirty connection pull and send once.  A
 * connection that bytes have come in for does so at once, others are marked dirty.
 */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "files.h"
#include "internal/protocol.h"
#include "internal/stats.h"
#include "io.h"
#include "list.h"
#include "listener.h"
#include "tls_conn.h"
#include "wheel.h"

struct conn;
struct mem;

#define WORKER_LISTENERS_MAX 16
/* requests after which a worker counts as warm: its pools and caches have what they need */
#define WORKER_WARMUP_REQUESTS 1000

struct worker_config {
    const struct io_backend *io;
    enum io_zero_copy zero_copy;
    size_t workers;                   /* of the process */
    const struct files_config *files; /* Borrowed until the worker has ended */
    const struct tls_ctx *tls;        /* the same; NULL if no listener needs it */
    int cpu;                          /* to pin the thread to; -1 for none */
    size_t connections_max;
    struct listener listeners[WORKER_LISTENERS_MAX]; /* Own: their descriptors */
    size_t listener_count;
    uint64_t (*allocations)(void); /* malloc calls of this thread so far; NULL: not counted */
    int ended_fd;                  /* an eventfd that is told when the worker has ended */
};

/* What a worker leaves behind. */
struct worker_result {
    struct stats stats;
    struct tls_stats tls_stats;
    uint64_t allocations; /* after warm-up */
    size_t blocks_live;   /* blocks still referenced when all connections were closed */
};

struct worker {
    struct worker_config config;
    pthread_t thread;
    sem_t started;           /* posted when the worker listens or has failed */
    sem_t ended;             /* posted when nothing more happens in the thread */
    enum weir_err start_err; /* true after started */
    atomic_uint inbox;       /* bits of enum worker_message */

    struct io *io; /* set before started; io_wake() is the only call for others */

    /* the worker's own */
    struct mem *mem;
    struct files *files;
    struct clock clock;
    struct wheel wheel;
    struct stats stats;
    struct protocol_env env;
    struct ready_heads *heads; /* Own: of env */
    struct tls_stats tls_stats;
    struct tls_env tls_env;
    struct weir_buf zeros; /* stands in for bytes that were lost */
    struct list conns;     /* all connections */
    size_t conn_count;
    uint64_t next_id;
    struct list dirty;       /* connections to be flushed in this turn, oldest first */
    struct list handshakes;  /* connections whose handshake waits for its turn */
    unsigned handshakes_now; /* handshakes worked on in this turn */
    bool is_crowded;         /* accepting is paused because connections_max is reached */
    bool is_draining;
    bool gives_up_fetches; /* waiting for them has ended */
    bool is_warm;
    struct timer accept_timer; /* ends a pause of accepting */
    uint64_t accept_pause_ms;  /* length of the last pause; 0 when accepting works */
    struct timer drain_timer;  /* ends the drain */
    struct timer fetch_timer;  /* ends waiting for fetches */
    struct worker *abandoned;  /* the next one that gives up, left to the end of the process */
    struct fetcher fetcher;    /* io_fetch(), for those who know no loop */
    uint64_t warm_allocations; /* allocations when warm-up ended */
    struct worker_result result;
};

enum worker_message {
    WORKER_DRAIN = 1 << 0, /* stop accepting, finish what is open, end */
    WORKER_STOP = 1 << 1,  /* end at once */
};

/*
 * Start the thread and wait until it listens.
 * Own: worker_join() when it has ended.  Err: the worker failed to start, logged; nothing is left.
 */
WEIR_MUST_USE
enum weir_err worker_start(const struct worker_config *config, struct worker **out);

/* Thread: any. */
void worker_post(struct worker *w, enum worker_message message);

/* Wait for the end, hand out the result and free the worker.  Thread: one for all workers. */
void worker_join(struct worker *w, struct worker_result *result);

/* For connections. */
void worker_mark_dirty(struct worker *w, struct conn *c);

/* Whether another handshake may be worked on in this turn; if not, the connection waits. */
bool worker_may_handshake(struct worker *w, struct conn *c);
void worker_add(struct worker *w, struct conn *c);
void worker_remove(struct worker *w, struct conn *c);

#endif
