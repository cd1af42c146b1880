/* See uring.h: the turn, and the table of the back end. */
#include "uring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "helper.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"

/* ms after which sockets that starve for memory are looked at again */
#define STARVED_WAIT_MS 10
/* by how much the end of a wait may be late; the kernel's own 50 us would double short ones */
#define TIMER_SLACK_NS 1000UL

/* ---- requests ---- */

/* What the kernel says that is no bug of ours: it was interrupted, or is short of something now. */
static bool is_passing(int err)
{
    return err == EINTR || err == ETIME || err == EAGAIN || err == EBUSY || err == ENOMEM;
}

void uring_note_call(struct uring *u, int rv)
{
    u->io.env.stats->calls.io_uring_enter++;
    WEIR_ASSERT(rv >= 0 || is_passing(-rv));
    if (io_uring_sq_ready(&u->ring) == 0) /* and all was read (IORING_FEAT_SUBMIT_STABLE) */
        u->scratch_used = 0;
}

void uring_submit(struct uring *u)
{
    uring_note_call(u, io_uring_submit(&u->ring));
}

struct io_uring_sqe *uring_request(struct uring *u)
{
    struct io_uring_sqe *sqe;
    while ((sqe = io_uring_get_sqe(&u->ring)) == NULL)
        uring_submit(u);
    sqe->user_data = URING_NONE;
    return sqe;
}

void uring_tag(struct io_uring_sqe *sqe, enum uring_op op, void *ptr)
{
    sqe->user_data = (uintptr_t)ptr | op;
}

void uring_sock_tag(struct io_sock *s, struct io_uring_sqe *sqe, enum uring_op op, void *ptr)
{
    uring_tag(sqe, op, ptr);
    s->pending++;
}

void uring_cancel(struct uring *u, enum uring_op op, void *ptr)
{
    struct io_uring_sqe *sqe = uring_request(u);
    io_uring_prep_cancel64(sqe, (uintptr_t)ptr | op, 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

void *uring_scratch(struct uring *u, size_t len)
{
    len = (len + 15) & ~(size_t)15;
    WEIR_ASSERT(len <= URING_SCRATCH_LEN);
    while (URING_SCRATCH_LEN - u->scratch_used < len || io_uring_sq_space_left(&u->ring) == 0)
        uring_submit(u);
    void *ptr = u->scratch + u->scratch_used;
    u->scratch_used += len;
    return ptr;
}

/* ---- queues ---- */

/* Work off what is queued now; what is queued meanwhile waits for the next time. */
static void uring_work(struct uring *u)
{
    struct sock_queue now = u->queue;
    u->queue = (struct sock_queue){0};
    struct io_sock *s;
    while ((s = sock_queue_take(&now)) != NULL) {
        uring_recv_work(s);
        uring_sock_settle(s);
    }
    uring_accept_work(u);
}

/* ---- waking ---- */

static void uring_watch_wake(struct uring *u)
{
    struct io_uring_sqe *sqe = uring_request(u);
    io_uring_prep_read(sqe, u->wake_fd, &u->wake_count, sizeof(u->wake_count), 0);
    uring_tag(sqe, URING_WAKE, u);
    u->pending++;
}

static void uring_on_wake(struct uring *u)
{
    u->pending--;
    if (u->is_ended)
        return;
    uring_watch_wake(u);
    helper_deliver(u->helper);
    u->io.env.events->on_wake(u->io.env.ctx);
}

static void uring_wake(struct io *io)
{
    const uint64_t one = 1;
    /* It fails only if 2^64-2 calls are pending, and then the loop wakes anyway. */
    ssize_t written = write(uring_from(io)->wake_fd, &one, sizeof(one));
    (void)written;
}

/* ---- the turn ---- */

/* The shorter of two waits; -1 is for ever. */
static int sooner(int a, int b)
{
    if (a == -1 || b == -1)
        return a == -1 ? b : a;
    return a < b ? a : b;
}

static int uring_wait_ms(struct uring *u)
{
    int wait_ms = u->io.env.events->wait_ms(u->io.env.ctx);
    if (u->queue.first != NULL)
        return 0;
    if (u->starved.first != NULL)
        wait_ms = sooner(wait_ms, STARVED_WAIT_MS);
    return sooner(wait_ms, uring_leave_check(u));
}

static void uring_dispatch(struct uring *u, const struct io_uring_cqe *cqe)
{
    int res = cqe->res;
    uint32_t flags = cqe->flags;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it went to the kernel as a number
    void *ptr = (void *)(uintptr_t)(cqe->user_data & ~(uint64_t)URING_OP_MASK);
    switch ((enum uring_op)(cqe->user_data & URING_OP_MASK)) {
    case URING_NONE: break;
    case URING_RECV: uring_on_recv(ptr, res, flags); break;
    case URING_SEND: uring_on_send(ptr, res); break;
    case URING_SEND_ZC: uring_on_send_zc(ptr, res, flags); break;
    case URING_SOCK: uring_on_sock(ptr); break;
    case URING_FIN: uring_on_fin(ptr); break;
    case URING_ASK: uring_on_told(ptr, res); break;
    case URING_ACCEPT: uring_on_accept(u, ptr, res); break;
    case URING_WAKE: uring_on_wake(u); break;
    case URING_FETCH: uring_on_fetch(ptr, res); break;
    case URING_OPS: break;
    }
}

static void uring_complete(struct uring *u)
{
    unsigned head;
    unsigned count = 0;
    const struct io_uring_cqe *cqe;
    io_uring_for_each_cqe(&u->ring, head, cqe)
    {
        uring_dispatch(u, cqe);
        count++;
    }
    io_uring_cq_advance(&u->ring, count);
}

static void uring_turn(struct io *io)
{
    struct uring *u = uring_from(io);
    uring_buffers_refill(u);
    if (u->starved.first != NULL)
        uring_recv_feed_starved(u);
    uring_work(u);
    uring_wait(u, uring_wait_ms(u));
    u->io.env.events->on_waited(u->io.env.ctx);
    uring_complete(u);
}

/* ---- life ---- */

/* Only what belongs to no socket is left, and nothing may write to our memory any more. */
static void uring_end(struct io *io)
{
    struct uring *u = uring_from(io);
    if (!u->has_ring || u->populating > 0)
        return; /* with fetches given up, the ring is left to the end of the process */
    uring_accept_end(io);
    u->is_ended = true;
    uring_cancel(u, URING_WAKE, u);
    while (u->pending > 0) {
        uring_note_call(u, io_uring_submit_and_wait(&u->ring, 1));
        uring_complete(u);
    }
    uring_submit(u); /* closes what was accepted at the last moment */
    io_uring_queue_exit(&u->ring);
    u->has_ring = false;
    uring_buffers_close(u);
}

static void uring_free(struct io *io)
{
    struct uring *u = uring_from(io);
    uring_end(io);
    if (!helper_free(u->helper) || u->populating > 0)
        return; /* somebody still wakes this loop, or writes to its ring */
    if (u->wake_fd != -1)
        close(u->wake_fd);
    free(u->reach);
    free(u);
}

enum weir_err uring_open_without(const struct io_env *env, unsigned without, struct io **out)
{
    *out = NULL;
    struct uring *u = calloc(1, sizeof(*u));
    if (u == NULL)
        return WEIR_NOMEM;
    u->io = (struct io){.backend = &io_uring_backend, .env = *env};
    u->wake_fd = eventfd(0, EFD_CLOEXEC);
    int wake_error = errno;
    u->leave_ms = LIMIT_WRITE_STALL_MS;
    list_init(&u->leaving);
    uring_patience_init(&u->patience);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS); /* without it, waits last a little longer */
    enum weir_err err = helper_new(&u->io, &u->helper);
    if (err != WEIR_OK)
        goto fail;
    char why[URING_WHY_LEN];
    err = WEIR_IO;
    if (u->wake_fd == -1)
        snprintf(why, sizeof(why), "eventfd: %s", strerrordesc_np(wake_error));
    else
        err = uring_ring_open(&u->ring, without, &u->features, &u->files, why);
    if (err != WEIR_OK) {
        log_line(LV_ERROR, "cannot set up io_uring: %s", why);
        goto fail;
    }
    u->has_ring = true;
    uring_fixed_open(u);
    u->reach = calloc(u->files, sizeof(*u->reach));
    err = u->reach == NULL ? WEIR_NOMEM : uring_buffers_open(u);
    if (err != WEIR_OK)
        goto fail;
    uring_watch_wake(u);
    *out = &u->io;
    return WEIR_OK;
fail:
    uring_free(&u->io);
    return err;
}

static enum weir_err uring_open(const struct io_env *env, struct io **out)
{
    return uring_open_without(env, 0, out);
}

const struct io_backend io_uring_backend = {
    .name = "uring",
    .spares_descriptors = true,
    .accepts_ahead = URING_ACCEPTS,
    .open = uring_open,
    .end = uring_end,
    .free = uring_free,
    .listen = uring_listen,
    .accept_pause = uring_accept_pause,
    .accept_resume = uring_accept_resume,
    .accept_end = uring_accept_end,
    .adopt = uring_adopt,
    .refuse = uring_refuse,
    .recv_start = uring_recv_start,
    .recv_stop = uring_recv_stop,
    .send = uring_send,
    .limit_unsent = uring_limit_unsent,
    .ask = uring_ask,
    .end_sending = uring_end_sending,
    .close = uring_close,
    .reset = uring_reset,
    .fetch = uring_fetch,
    .turn = uring_turn,
    .wake = uring_wake,
};
