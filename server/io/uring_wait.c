/*
 * See uring.h: handing requests over, and waiting.
 *
 * The call is made here and not by liburing, whose wait with a time limit starts over, with all of
 * its time, when it ends with fewer completions than it was to end with.
 */
#include <signal.h>
#include <time.h>

#include "internal/stats.h"
#include "uring.h"

#define NO_LIMIT UINT64_MAX

/* The kernel is shown the requests that were prepared; gives how many there are. */
static unsigned ring_show(struct io_uring *ring)
{
    struct io_uring_sq *sq = &ring->sq;
    const unsigned mask = *sq->kring_mask;
    for (; sq->sqe_head != sq->sqe_tail; sq->sqe_head++) {
        if (sq->array != NULL)
            sq->array[sq->sqe_head & mask] = sq->sqe_head & mask;
    }
    io_uring_smp_store_release(sq->ktail, sq->sqe_tail);
    return io_uring_sq_ready(ring);
}

/* Hand over all requests, and wait for so many completions, if any, but no longer than limit_ns. */
static void ring_enter(struct uring *u, unsigned count, uint64_t limit_ns)
{
    struct __kernel_timespec limit = {
        .tv_sec = (int64_t)(limit_ns / 1000000000),
        .tv_nsec = (long long)(limit_ns % 1000000000),
    };
    struct io_uring_getevents_arg arg = {
        .sigmask_sz = _NSIG / 8,
        .ts = limit_ns == NO_LIMIT ? 0 : (uintptr_t)&limit,
    };
    unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    if (u->features & URING_HAS_RING_FD)
        flags |= IORING_ENTER_REGISTERED_RING;
    unsigned fd = (unsigned)u->ring.enter_ring_fd;
    uring_note_call(u, io_uring_enter2(fd, ring_show(&u->ring), count, flags,
                                       (sigset_t *)(void *)&arg, sizeof(arg)));
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void uring_wait(struct uring *u, int wait_ms)
{
    struct io_uring *ring = &u->ring;
    const uint64_t limit_ns = wait_ms == -1 ? NO_LIMIT : (uint64_t)wait_ms * 1000000;
    bool is_ready = io_uring_cq_ready(ring) > 0;
    if (is_ready && io_uring_sq_ready(ring) == 0 && wait_ms != 0)
        return;
    unsigned count = 0;
    if (!is_ready && wait_ms != 0)
        count = uring_patience_begin(&u->patience, u->prompt_sends, u->sock_count);
    if (u->patience.is_patient)
        ring_enter(u, count, limit_ns < URING_PATIENCE_NS ? limit_ns : URING_PATIENCE_NS);
    else
        ring_enter(u, count, limit_ns);
    if (u->patience.is_patient && io_uring_cq_ready(ring) == 0)
        ring_enter(u, 1, limit_ns);
    uring_patience_end(&u->patience, now_ns(), u->prompt_sends, io_uring_cq_ready(ring));
    u->prompt_sends = 0;
}
