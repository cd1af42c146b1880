/*
 * See epoll.h: the life of a socket.
 *
 * io_send() writes at once if the socket can take it; only the completion waits for the next turn.
 * A short read means that the kernel has no more to give for now: the next edge will say when that
 * changes, and no call is spent on seeing EAGAIN.  A short write says less: it also happens where a
 * page of a file is gone, and then no edge follows.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "epoll.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "mem.h"

enum sock_flag {
    CAN_RECV = 1 << 0,  /* there may be bytes: no short read since the last edge */
    CAN_SEND = 1 << 1,  /* there may be room: no EAGAIN since the last edge */
    WANT_RECV = 1 << 2, /* between io_recv_start() and io_recv_stop() */
    SAW_END = 1 << 3,   /* FIN or an error was announced: read on until it shows */
    HAS_SENT = 1 << 4,  /* result is to be delivered */
    IS_CLOSED = 1 << 5, /* on_closed is to be delivered */
    IS_ASKED = 1 << 6,  /* on_told is to be delivered */
};

/* ---- sending ---- */

/* Write the front of s->sending.  Completed unless the kernel takes nothing for now. */
static void sock_write(struct io_epoll *e, struct io_sock *s)
{
    size_t len;
    size_t count = weir_gather_export(s->sending, e->iov, LIMIT_IOVECS, SIZE_MAX, &len);
    const struct msghdr msg = {.msg_iov = e->iov, .msg_iovlen = count};
    struct stats *stats = epoll_stats(e);
    ssize_t n;
    do {
        n = sendmsg(s->handle, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        stats->calls.sendmsg++;
    } while (n == -1 && errno == EINTR);
    if (n == -1 && errno == EAGAIN) {
        s->flags &= (uint16_t)~CAN_SEND;
        return;
    }
    if (n > 0) {
        stats->writes++;
        stats->iovecs += count;
        if (count > stats->iovecs_max)
            stats->iovecs_max = count;
        stats->bytes_sent += (uint64_t)n;
    }
    s->result = n == -1 ? -errno : (int)n;
    s->flags |= HAS_SENT;
}

void epoll_send(struct io_sock *s, struct weir_gather *g)
{
    struct io_epoll *e = epoll_from(s->io);
    WEIR_ASSERT(s->sending == NULL && g->len > 0);
    s->sending = g;
    if (s->flags & CAN_SEND)
        sock_write(e, s);
    if (s->flags & HAS_SENT)
        sock_queue_put(&e->queue, s);
}

void epoll_limit_unsent(struct io_sock *s, size_t bytes)
{
    int value = (int)bytes;
    epoll_stats(epoll_from(s->io))->calls.setsockopt++;
    setsockopt(s->handle, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value, sizeof(value)); /* not for unix */
}

void epoll_ask(struct io_sock *s)
{
    s->flags |= IS_ASKED;
    sock_queue_put(&epoll_from(s->io)->queue, s);
}

static void sock_tell(struct io_epoll *e, struct io_sock *s)
{
    int bytes = 0;
    s->flags &= (uint16_t)~IS_ASKED;
    epoll_stats(e)->calls.ioctl++;
    bool is_known = ioctl(s->handle, SIOCOUTQ, &bytes) == 0 && bytes > 0;
    e->io.env.events->on_told(s, is_known ? (size_t)bytes : 0);
}

void epoll_end_sending(struct io_sock *s)
{
    WEIR_ASSERT(s->sending == NULL);
    epoll_stats(epoll_from(s->io))->calls.shutdown++;
    shutdown(s->handle, SHUT_WR); /* fails only if the peer is gone, which receiving will tell */
}

/* ---- receiving ---- */

static void sock_deliver_end(struct io_sock *s, int res)
{
    s->flags &= (uint16_t) ~(CAN_RECV | WANT_RECV);
    s->io->env.events->on_recv(s, res, (struct weir_slice){0});
}

static bool sock_can_recv(const struct io_sock *s)
{
    return (s->flags & (CAN_RECV | WANT_RECV | IS_CLOSED)) == (CAN_RECV | WANT_RECV);
}

/* Read until there is no more, or enough for one turn. */
static void sock_read(struct io_epoll *e, struct io_sock *s)
{
    for (size_t total = 0; sock_can_recv(s) && total < LIMIT_READ_PER_TURN;) {
        struct weir_buf *b =
            mem_is_low(e->io.env.mem) ? NULL : block_take(e->io.env.mem, BLOCK_LARGE);
        if (b == NULL) {
            sock_queue_put(&e->starved, s);
            return;
        }
        ssize_t n = recv(s->handle, b->base, b->cap, MSG_DONTWAIT);
        epoll_stats(e)->calls.recv++;
        if (n <= 0) {
            int err = n == 0 ? 0 : errno;
            weir_buf_unref(&b);
            if (err == EINTR)
                continue;
            if (err == EAGAIN)
                s->flags &= (uint16_t)~CAN_RECV;
            else
                sock_deliver_end(s, -err);
            return;
        }
        if ((size_t)n < b->cap && (s->flags & SAW_END) == 0)
            s->flags &= (uint16_t)~CAN_RECV;
        total += (size_t)n;
        epoll_stats(e)->bytes_received += (uint64_t)n;
        e->io.env.events->on_recv(s, (int)n, (struct weir_slice){b, b->base, (size_t)n});
    }
    if (sock_can_recv(s))
        sock_queue_put(&e->queue, s);
}

void epoll_recv_start(struct io_sock *s)
{
    s->flags |= WANT_RECV;
    if (s->flags & CAN_RECV)
        sock_queue_put(&epoll_from(s->io)->queue, s);
}

void epoll_recv_stop(struct io_sock *s)
{
    s->flags &= (uint16_t)~WANT_RECV;
}

/* ---- coming and going ---- */

enum weir_err epoll_adopt(struct io *io, struct io_sock *s, int handle)
{
    struct io_epoll *e = epoll_from(io);
    *s = (struct io_sock){.io = io, .handle = handle, .flags = CAN_SEND};
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.ptr = s,
    };
    epoll_stats(e)->calls.epoll_ctl++;
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, handle, &event) == 0)
        return WEIR_OK;
    log_errno(LV_WARN, errno, "cannot watch a connection");
    epoll_refuse(io, handle);
    return WEIR_IO;
}

void epoll_reset(struct io_sock *s)
{
    /* What the kernel holds unsent is thrown away, and the peer is told by RST. */
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(s->handle, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    s->io->backend->close(s);
}

void epoll_close_sock(struct io_sock *s)
{
    struct io_epoll *e = epoll_from(s->io);
    WEIR_ASSERT((s->flags & IS_CLOSED) == 0);
    epoll_stats(e)->calls.close++;
    close(s->handle); /* which also takes it out of the epoll set */
    s->handle = -1;
    s->sending = NULL;
    s->flags |= IS_CLOSED;
    sock_queue_put(&e->queue, s); /* one that starves is found there */
}

/* ---- edges, and what follows from them ---- */

void epoll_sock_on_event(struct io_epoll *e, const struct epoll_event *event)
{
    struct io_sock *s = event->data.ptr;
    if (event->events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        s->flags |= CAN_RECV;
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        s->flags |= SAW_END;
    if (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        s->flags |= CAN_SEND;
    if ((s->flags & CAN_SEND && s->sending != NULL) || sock_can_recv(s))
        sock_queue_put(&e->queue, s);
}

void epoll_sock_work(struct io_epoll *e, struct io_sock *s)
{
    const struct io_events *events = e->io.env.events;
    if (s->sending != NULL && (s->flags & (HAS_SENT | CAN_SEND)) == CAN_SEND)
        sock_write(e, s);
    if ((s->flags & (HAS_SENT | IS_CLOSED)) == HAS_SENT) {
        s->flags &= (uint16_t)~HAS_SENT;
        s->sending = NULL;
        events->on_sent(s, s->result);
    }
    if ((s->flags & (IS_ASKED | IS_CLOSED)) == IS_ASKED)
        sock_tell(e, s);
    if (sock_can_recv(s))
        sock_read(e, s);
    /* A socket that was closed just now is back in the queue, and comes up again. */
    if ((s->flags & (IS_CLOSED | SOCK_IN_QUEUE)) == IS_CLOSED)
        events->on_closed(s);
}
