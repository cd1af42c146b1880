/*
 * See uring.h: receiving.
 *
 * One multishot request per socket takes its bytes, into buffers of a ring that all sockets share:
 * an idle connection holds none.  They are blocks of the worker's pool; each is handed on as it was
 * filled, and another takes its place.
 *
 *     pool ──▶ ring ──▶ kernel fills ──▶ on_recv ──▶ (parsed) ──▶ pool
 *
 * While the pool is low, or when more came at once than there are buffers, the ring runs dry.  A
 * request then ends with ENOBUFS: what has not been received stays in the kernel, and the socket
 * waits among the starved until there are buffers.
 *
 * A socket that has stopped receiving keeps its request for as long as nothing comes; what comes is
 * held, and the request is cancelled.
 */
#include <errno.h>
#include <sys/mman.h>

#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "mem.h"
#include "uring.h"

#define BUFFER_GROUP 0
#define BUFFERS_LEN (URING_BUFFERS * sizeof(struct io_uring_buf))
/* buffers in the ring at first; doubled whenever that was not enough */
#define STOCK_MIN 64

/* ---- buffers ---- */

enum weir_err uring_buffers_open(struct uring *u)
{
    struct uring_buffers *b = &u->buffers;
    void *map = mmap(NULL, BUFFERS_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return WEIR_NOMEM;
    b->ring = map;
    io_uring_buf_ring_init(b->ring);
    struct io_uring_buf_reg reg = {
        .ring_addr = (uintptr_t)map, .ring_entries = URING_BUFFERS, .bgid = BUFFER_GROUP};
    int rv = io_uring_register_buf_ring(&u->ring, &reg, 0);
    if (rv != 0) {
        log_errno(LV_ERROR, -rv, "cannot register buffers for receiving");
        return WEIR_IO;
    }
    b->stock = STOCK_MIN;
    for (unsigned id = URING_BUFFERS; id-- > 0;)
        b->free_ids[b->free_count++] = (uint16_t)id;
    return WEIR_OK;
}

void uring_buffers_close(struct uring *u)
{
    for (unsigned id = 0; id < URING_BUFFERS; id++)
        weir_buf_unref(&u->buffers.blocks[id]);
    if (u->buffers.ring != NULL)
        munmap(u->buffers.ring, BUFFERS_LEN);
    u->buffers.ring = NULL;
}

void uring_buffers_refill(struct uring *u)
{
    struct uring_buffers *b = &u->buffers;
    while (b->count < b->stock && !mem_is_low(u->io.env.mem)) {
        struct weir_buf *block = block_take(u->io.env.mem, BLOCK_LARGE);
        if (block == NULL)
            break;
        uint16_t id = b->free_ids[--b->free_count];
        b->blocks[id] = block;
        io_uring_buf_ring_add(b->ring, block->base, (unsigned)block->cap, id,
                              io_uring_buf_ring_mask(URING_BUFFERS), (int)b->added);
        b->added++;
        b->count++;
    }
    io_uring_buf_ring_advance(b->ring, (int)b->added);
    b->added = 0;
}

/* The buffer that a completion names, as a slice.  Own: the caller's. */
static struct weir_slice buffer_take(struct uring *u, uint32_t flags, size_t len)
{
    struct uring_buffers *b = &u->buffers;
    uint16_t id = (uint16_t)(flags >> IORING_CQE_BUFFER_SHIFT);
    struct weir_buf *block = b->blocks[id];
    b->blocks[id] = NULL;
    b->free_ids[b->free_count++] = id;
    b->count--;
    return (struct weir_slice){block, block->base, len};
}

/* ---- the request ---- */

static bool sock_may_receive(const struct io_sock *s)
{
    const unsigned mask = URING_WANT_RECV | URING_RECEIVES | URING_AT_END | URING_IS_CLOSED;
    return (s->flags & mask) == URING_WANT_RECV;
}

static void sock_receive(struct io_sock *s)
{
    struct uring *u = uring_from(s->io);
    bool has_cap = (u->features & URING_HAS_RECV_CAP) != 0;
    struct io_uring_sqe *sqe = uring_request(u);
    io_uring_prep_recv_multishot(sqe, s->handle, NULL, has_cap ? LIMIT_READ_PER_TURN : 0, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT | IOSQE_FIXED_FILE;
    sqe->buf_group = BUFFER_GROUP;
    uring_sock_tag(s, sqe, URING_RECV, s);
    s->flags |= URING_RECEIVES;
}

void uring_recv_start(struct io_sock *s)
{
    s->flags |= URING_WANT_RECV;
    if (s->held != NULL || (s->flags & URING_AT_END))
        sock_queue_put(&uring_from(s->io)->queue, s);
    else if (sock_may_receive(s) && (s->flags & SOCK_IN_QUEUE) == 0)
        sock_receive(s);
}

void uring_recv_stop(struct io_sock *s)
{
    s->flags &= (uint16_t)~URING_WANT_RECV;
}

void uring_recv_feed_starved(struct uring *u)
{
    struct sock_queue now = u->starved;
    u->starved = (struct sock_queue){0};
    struct io_sock *s;
    while ((s = sock_queue_take(&now)) != NULL) {
        if (sock_may_receive(s) && u->buffers.count == 0)
            sock_queue_put(&u->starved, s);
        else
            sock_queue_put(&u->queue, s);
    }
}

/* ---- what has come ---- */

static void sock_hold(struct io_sock *s, struct weir_slice slice)
{
    struct uring *u = uring_from(s->io);
    struct io_held *held = mem_take(u->io.env.mem, sizeof(*held));
    if (held == NULL) {
        weir_slice_drop(&slice);
        s->flags |= URING_AT_END; /* bytes are lost: nothing that follows may be delivered */
        s->result = -ENOMEM;
        return;
    }
    *held = (struct io_held){.slice = slice};
    if (s->held == NULL)
        s->held = held;
    else
        s->held_last->next = held;
    s->held_last = held;
}

static struct weir_slice sock_unhold(struct io_sock *s)
{
    struct io_held *held = s->held;
    struct weir_slice slice = held->slice;
    s->held = held->next;
    mem_give(held);
    return slice;
}

void uring_recv_forget(struct io_sock *s)
{
    while (s->held != NULL) {
        struct weir_slice slice = sock_unhold(s);
        weir_slice_drop(&slice);
    }
}

static bool sock_wants(const struct io_sock *s)
{
    return (s->flags & (URING_WANT_RECV | URING_IS_CLOSED)) == URING_WANT_RECV;
}

static void sock_deliver_end(struct io_sock *s)
{
    s->flags &= (uint16_t)~URING_WANT_RECV;
    s->io->env.events->on_recv(s, s->result, (struct weir_slice){0});
}

void uring_recv_work(struct io_sock *s)
{
    while (s->held != NULL && sock_wants(s)) {
        struct weir_slice slice = sock_unhold(s);
        s->io->env.events->on_recv(s, (int)slice.len, slice);
    }
    if (sock_wants(s) && s->held == NULL && (s->flags & URING_AT_END))
        sock_deliver_end(s);
    if (sock_may_receive(s))
        sock_receive(s);
}

static void sock_take_in(struct io_sock *s, struct weir_slice slice)
{
    struct uring *u = uring_from(s->io);
    u->io.env.stats->bytes_received += slice.len;
    if (sock_wants(s) && s->held == NULL && (s->flags & URING_AT_END) == 0) {
        u->io.env.events->on_recv(s, (int)slice.len, slice);
        return;
    }
    if (s->flags & (URING_IS_CLOSED | URING_AT_END)) {
        weir_slice_drop(&slice);
        return;
    }
    sock_hold(s, slice);
    if ((s->flags & (URING_RECEIVES | URING_CANCELS)) == URING_RECEIVES) {
        s->flags |= URING_CANCELS;
        uring_cancel(u, URING_RECV, s);
    }
}

void uring_on_recv(struct io_sock *s, int res, uint32_t flags)
{
    struct uring *u = uring_from(s->io);
    if ((flags & IORING_CQE_F_MORE) == 0) {
        s->flags &= (uint16_t) ~(URING_RECEIVES | URING_CANCELS);
        s->pending--;
    }
    struct weir_slice slice = {0};
    if (flags & IORING_CQE_F_BUFFER)
        slice = buffer_take(u, flags, res > 0 ? (size_t)res : 0);
    if (res > 0) {
        sock_take_in(s, slice);
    } else {
        weir_slice_drop(&slice);
        if (res == -ENOBUFS && u->buffers.stock < URING_BUFFERS)
            u->buffers.stock *= 2;
        if (res != -ENOBUFS && res != -ECANCELED && res != -EINTR &&
            (s->flags & (URING_AT_END | URING_IS_CLOSED)) == 0) {
            s->flags |= URING_AT_END;
            s->result = res;
            if (s->held == NULL && sock_wants(s))
                sock_deliver_end(s);
        }
    }
    if (sock_may_receive(s))
        sock_queue_put(&u->starved, s); /* goes on when there are buffers, mostly at once */
    uring_sock_settle(s);
}
