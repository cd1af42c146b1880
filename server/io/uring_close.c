/*
 * See uring.h: the life of a socket.
 *
 *     adopt ──▶ requests and completions ──▶ close: cancel, take out of the file table
 *                                                   │
 *                     the last completion ──▶ on_closed
 *
 * The requests of a close take effect in the order in which they were written.  A request under way
 * keeps the file alive after it has left the table, so the entry may be taken by the next accept at
 * once; completions find their socket by its address, never by the entry.
 *
 * With two exceptions.  A socket whose pages the kernel still sends from (zero copy) leaves the
 * table when it has said that it needs them no more: a peer that takes nothing could keep them for
 * ever, so after a while without a notice the connection is cut, which needs its entry.
 *
 * And shutdown() is run by a thread of the kernel, which looks the entry up only then.  So a socket
 * leaves the table when its shutdown is over: else another one would be shut.
 */
#include <sys/socket.h>
#include <time.h>

#include "internal/stats.h"
#include "uring.h"

enum weir_err uring_adopt(struct io *io, struct io_sock *s, int handle)
{
    struct uring *u = uring_from(io);
    u->sock_count++;
    *s = (struct io_sock){.io = io, .handle = handle};
    bool is_wanted = io->env.zero_copy == IO_ZERO_COPY_ON && u->reach[handle] != URING_UNIX;
    if (io->env.zero_copy == IO_ZERO_COPY_AUTO) /* which cannot do without the report */
        is_wanted = u->reach[handle] == URING_FAR && (u->features & URING_HAS_ZC_REPORT);
    if (is_wanted && (u->features & URING_HAS_SEND_ZC))
        s->flags |= URING_SENDS_ZC;
    return WEIR_OK;
}

/*
 * A direct descriptor has no SO_LINGER that every kernel could set.  To connect a TCP socket to no
 * address disconnects it: what is unsent is thrown away and the peer is told by RST.  A unix socket
 * refuses, and is closed as ever.
 */
static void sock_disconnect(struct io_sock *s)
{
    static const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    struct io_uring_sqe *sqe = uring_request(uring_from(s->io));
    io_uring_prep_connect(sqe, s->handle, &nowhere, sizeof(nowhere));
    sqe->flags |= IOSQE_FIXED_FILE;
    uring_sock_tag(s, sqe, URING_SOCK, s);
}

static void sock_leave_table(struct io_sock *s)
{
    WEIR_ASSERT(s->handle >= 0); /* one less would close descriptor 0 */
    if (s->flags & URING_IS_RESET)
        sock_disconnect(s);
    struct io_uring_sqe *sqe = uring_request(uring_from(s->io));
    io_uring_prep_close_direct(sqe, (unsigned)s->handle);
    uring_sock_tag(s, sqe, URING_SOCK, s);
    s->handle = -1;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* FIN follows what is unsent, as with any close, while the socket waits for its notices. */
static void sock_linger(struct io_sock *s)
{
    struct uring *u = uring_from(s->io);
    s->flags |= URING_LEAVES;
    s->leave_ms = now_ms() + u->leave_ms;
    list_append(&u->leaving, &s->leaving);
    if ((s->flags & URING_FINISHES) == 0)
        uring_end_sending(s);
}

/* Out of the table, unless a shutdown is still to be run on the entry: then when that is over. */
static void sock_stop_lingering(struct io_sock *s, uint16_t flags)
{
    s->flags &= (uint16_t)~URING_LEAVES;
    s->flags |= flags;
    list_remove(&s->leaving);
    if ((s->flags & URING_FINISHES) == 0)
        sock_leave_table(s);
}

void uring_leave_on(struct io_sock *s)
{
    struct uring *u = uring_from(s->io);
    if ((s->flags & URING_LEAVES) == 0)
        return;
    if (s->notices == 0 && s->zero_copy == NULL) {
        sock_stop_lingering(s, 0);
        return;
    }
    s->leave_ms = now_ms() + u->leave_ms;
    list_remove(&s->leaving);
    list_append(&u->leaving, &s->leaving);
}

int uring_leave_check(struct uring *u)
{
    struct list *link;
    while ((link = list_first(&u->leaving)) != NULL) {
        struct io_sock *s = container_of(link, struct io_sock, leaving);
        uint64_t now = now_ms();
        if (now < s->leave_ms)
            return (int)(s->leave_ms - now);
        sock_stop_lingering(s, URING_IS_RESET);
    }
    return -1;
}

static void sock_give_up(struct io_sock *s, uint16_t flags)
{
    struct uring *u = uring_from(s->io);
    WEIR_ASSERT((s->flags & URING_IS_CLOSED) == 0);
    s->flags |= flags;
    if (s->flags & URING_RECEIVES)
        uring_cancel(u, URING_RECV, s);
    if (s->zero_copy != NULL)
        uring_cancel(u, URING_SEND_ZC, s->zero_copy);
    else if (s->sending != NULL)
        uring_cancel(u, URING_SEND, s);
    if ((s->notices > 0 || s->zero_copy != NULL) && (s->flags & URING_IS_RESET) == 0)
        sock_linger(s);
    else if ((s->flags & URING_FINISHES) == 0)
        sock_leave_table(s);
}

void uring_close(struct io_sock *s)
{
    sock_give_up(s, URING_IS_CLOSED);
}

void uring_reset(struct io_sock *s)
{
    sock_give_up(s, URING_IS_CLOSED | URING_IS_RESET);
}

void uring_sock_settle(struct io_sock *s)
{
    /* One that is in a queue is found there, and comes back. */
    if ((s->flags & (URING_IS_CLOSED | SOCK_IN_QUEUE)) != URING_IS_CLOSED || s->pending > 0)
        return;
    uring_recv_forget(s);
    uring_from(s->io)->sock_count--;
    s->io->env.events->on_closed(s);
}

void uring_on_sock(struct io_sock *s)
{
    s->pending--;
    uring_sock_settle(s);
}

void uring_on_fin(struct io_sock *s)
{
    s->pending--;
    s->flags &= (uint16_t)~URING_FINISHES;
    if ((s->flags & (URING_IS_CLOSED | URING_LEAVES)) == URING_IS_CLOSED)
        sock_leave_table(s);
    uring_sock_settle(s);
}
