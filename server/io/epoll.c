/*
 * The back end on epoll.  Sockets are registered once, edge-triggered.  An edge is noted in the
 * socket's flags and puts it into a queue; working the queue off turns flags into completions:
 *
 *     edge ──▶ CAN_RECV ──▶ recv    ──▶ on_recv
 *          └─▶ CAN_SEND ──▶ sendmsg ──▶ HAS_SENT ──▶ on_sent
 *
 * io_send() writes at once if the socket can take it; only the completion waits for the next turn.
 * A short read means that the kernel has no more to give for now: the next edge will say when that
 * changes, and no call is spent on seeing EAGAIN.  A short write says less: it also happens where a
 * page of a file is gone, and then no edge follows.
 *
 * Invariant: a socket with a flag to act on is in the queue or among the starved; never in both.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "io.h"
#include "listener.h"
#include "mem.h"
#include "sock_queue.h"

#define EVENTS_PER_WAIT 256
#define LISTENERS_MAX 16
/* ms after which sockets that starve for memory are looked at again */
#define STARVED_WAIT_MS 10

enum sock_flag {
    CAN_RECV = 1 << 0,  /* there may be bytes: no short read since the last edge */
    CAN_SEND = 1 << 1,  /* there may be room: no EAGAIN since the last edge */
    WANT_RECV = 1 << 2, /* between io_recv_start() and io_recv_stop() */
    SAW_END = 1 << 3,   /* FIN or an error was announced: read on until it shows */
    HAS_SENT = 1 << 4,  /* result is to be delivered */
    IS_CLOSED = 1 << 5, /* on_closed is to be delivered */
    IS_ASKED = 1 << 6,  /* on_told is to be delivered */
};

struct io_epoll {
    struct io io;
    int epoll_fd;
    int wake_fd;
    struct helper *helper; /* Own: carries fetches out */
    bool is_paused;        /* accepting */
    size_t listener_count;
    const struct listener *listeners[LISTENERS_MAX];
    struct sock_queue queue;   /* to be worked off in this turn */
    struct sock_queue starved; /* could receive, but the pool is low */
    struct iovec iov[LIMIT_IOVECS];
    struct epoll_event events[EVENTS_PER_WAIT];
};

static struct io_epoll *epoll_from(struct io *io)
{
    return container_of(io, struct io_epoll, io);
}

static struct stats *stats_of(struct io_epoll *e)
{
    return e->io.env.stats;
}

/* ---- sending ---- */

/* Write the front of s->sending.  Completed unless the kernel takes nothing for now. */
static void sock_write(struct io_epoll *e, struct io_sock *s)
{
    size_t len;
    size_t count = weir_gather_export(s->sending, e->iov, LIMIT_IOVECS, SIZE_MAX, &len);
    const struct msghdr msg = {.msg_iov = e->iov, .msg_iovlen = count};
    struct stats *stats = stats_of(e);
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

static void epoll_send(struct io_sock *s, struct weir_gather *g)
{
    struct io_epoll *e = epoll_from(s->io);
    WEIR_ASSERT(s->sending == NULL && g->len > 0);
    s->sending = g;
    if (s->flags & CAN_SEND)
        sock_write(e, s);
    if (s->flags & HAS_SENT)
        sock_queue_put(&e->queue, s);
}

static void epoll_limit_unsent(struct io_sock *s, size_t bytes)
{
    int value = (int)bytes;
    stats_of(epoll_from(s->io))->calls.setsockopt++;
    setsockopt(s->handle, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &value, sizeof(value)); /* not for unix */
}

static void epoll_ask(struct io_sock *s)
{
    s->flags |= IS_ASKED;
    sock_queue_put(&epoll_from(s->io)->queue, s);
}

static void sock_tell(struct io_epoll *e, struct io_sock *s)
{
    int bytes = 0;
    s->flags &= (uint16_t)~IS_ASKED;
    stats_of(e)->calls.ioctl++;
    bool is_known = ioctl(s->handle, SIOCOUTQ, &bytes) == 0 && bytes > 0;
    e->io.env.events->on_told(s, is_known ? (size_t)bytes : 0);
}

static void epoll_end_sending(struct io_sock *s)
{
    WEIR_ASSERT(s->sending == NULL);
    stats_of(epoll_from(s->io))->calls.shutdown++;
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
        stats_of(e)->calls.recv++;
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
        stats_of(e)->bytes_received += (uint64_t)n;
        e->io.env.events->on_recv(s, (int)n, (struct weir_slice){b, b->base, (size_t)n});
    }
    if (sock_can_recv(s))
        sock_queue_put(&e->queue, s);
}

static void epoll_recv_start(struct io_sock *s)
{
    s->flags |= WANT_RECV;
    if (s->flags & CAN_RECV)
        sock_queue_put(&epoll_from(s->io)->queue, s);
}

static void epoll_recv_stop(struct io_sock *s)
{
    s->flags &= (uint16_t)~WANT_RECV;
}

/* ---- accepting ---- */

static void listener_accept(struct io_epoll *e, const struct listener *l)
{
    for (int i = 0; i < LIMIT_ACCEPTS_PER_TURN && !e->is_paused; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t peer_len = sizeof(peer);
        struct sockaddr *any = (struct sockaddr *)&peer;
        int fd = accept4(l->fd, any, &peer_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        stats_of(e)->calls.accept4++;
        if (fd == -1 && (errno == EAGAIN || errno == EINTR))
            return;
        if (fd == -1 && errno == ECONNABORTED)
            continue; /* that one is gone; the next may be there */
        e->io.env.events->on_accept(e->io.env.ctx, l, fd == -1 ? -errno : fd, any);
    }
}

static enum weir_err listener_watch(struct io_epoll *e, size_t i)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &e->listeners[i]};
    stats_of(e)->calls.epoll_ctl++;
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->listeners[i]->fd, &event) == 0)
        return WEIR_OK;
    log_errno(LV_ERROR, errno, "cannot watch a listening socket");
    return WEIR_IO;
}

static enum weir_err epoll_listen(struct io *io, const struct listener *l)
{
    struct io_epoll *e = epoll_from(io);
    if (e->listener_count == LISTENERS_MAX) {
        log_line(LV_ERROR, "more than %d listening sockets", LISTENERS_MAX);
        return WEIR_CONFIG;
    }
    e->listeners[e->listener_count++] = l;
    return e->is_paused ? WEIR_OK : listener_watch(e, e->listener_count - 1);
}

static void epoll_accept_pause(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (e->is_paused)
        return;
    e->is_paused = true;
    for (size_t i = 0; i < e->listener_count; i++) {
        stats_of(e)->calls.epoll_ctl++;
        epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, e->listeners[i]->fd, NULL);
    }
}

static void epoll_accept_resume(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (!e->is_paused)
        return;
    e->is_paused = false;
    for (size_t i = 0; i < e->listener_count; i++)
        weir_ignore(listener_watch(e, i)); /* logged; the other listeners go on */
}

static void epoll_refuse(struct io *io, int handle)
{
    stats_of(epoll_from(io))->calls.close++;
    close(handle);
}

static enum weir_err epoll_adopt(struct io *io, struct io_sock *s, int handle)
{
    struct io_epoll *e = epoll_from(io);
    *s = (struct io_sock){.io = io, .handle = handle, .flags = CAN_SEND};
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.ptr = s,
    };
    stats_of(e)->calls.epoll_ctl++;
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, handle, &event) == 0)
        return WEIR_OK;
    log_errno(LV_WARN, errno, "cannot watch a connection");
    epoll_refuse(io, handle);
    return WEIR_IO;
}

static void epoll_reset(struct io_sock *s)
{
    /* What the kernel holds unsent is thrown away, and the peer is told by RST. */
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    setsockopt(s->handle, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    s->io->backend->close(s);
}

static void epoll_close_sock(struct io_sock *s)
{
    struct io_epoll *e = epoll_from(s->io);
    WEIR_ASSERT((s->flags & IS_CLOSED) == 0);
    stats_of(e)->calls.close++;
    close(s->handle); /* which also takes it out of the epoll set */
    s->handle = -1;
    s->sending = NULL;
    s->flags |= IS_CLOSED;
    sock_queue_put(&e->queue, s); /* one that starves is found there */
}

/* ---- fetching ---- */

static void epoll_fetch(struct io *io, struct fetch *f)
{
    helper_start(epoll_from(io)->helper, f);
}

/* ---- the turn ---- */

static void sock_work(struct io_epoll *e, struct io_sock *s)
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

/* Work off what is queued now; what is queued meanwhile waits for the next time. */
static void epoll_work(struct io_epoll *e)
{
    struct sock_queue now = e->queue;
    e->queue = (struct sock_queue){0};
    struct io_sock *s;
    while ((s = sock_queue_take(&now)) != NULL)
        sock_work(e, s);
}

static void epoll_feed_starved(struct io_epoll *e)
{
    struct sock_queue now = e->starved;
    e->starved = (struct sock_queue){0};
    struct io_sock *s;
    while ((s = sock_queue_take(&now)) != NULL)
        sock_queue_put(&e->queue, s);
}

static void on_event(struct io_epoll *e, const struct epoll_event *event)
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

/* Called once in a turn, when there is nothing else to be done. */
static int epoll_wait_ms(struct io_epoll *e)
{
    int wait_ms = e->io.env.events->wait_ms(e->io.env.ctx);
    if (e->queue.first != NULL)
        return 0;
    if (e->starved.first != NULL && (wait_ms == -1 || wait_ms > STARVED_WAIT_MS))
        return STARVED_WAIT_MS;
    return wait_ms;
}

static void epoll_drain_wake(struct io_epoll *e)
{
    uint64_t count;
    stats_of(e)->calls.read++;
    if (read(e->wake_fd, &count, sizeof(count)) != sizeof(count))
        return;
    helper_deliver(e->helper);
    e->io.env.events->on_wake(e->io.env.ctx);
}

static void epoll_turn(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (e->starved.first != NULL)
        epoll_feed_starved(e);
    epoll_work(e); /* completions of what was started since the last turn */

    int n = epoll_wait(e->epoll_fd, e->events, EVENTS_PER_WAIT, epoll_wait_ms(e));
    stats_of(e)->calls.epoll_wait++;
    e->io.env.events->on_waited(e->io.env.ctx);

    /* First all flags, then all callbacks: a callback may free a socket that has an event. */
    bool is_awake = false;
    bool accepts[LISTENERS_MAX] = {false};
    for (int i = 0; i < n; i++) {
        void *ptr = e->events[i].data.ptr;
        const struct listener **l = ptr;
        if (ptr == &e->wake_fd)
            is_awake = true;
        else if (l >= e->listeners && l < e->listeners + LISTENERS_MAX)
            accepts[l - e->listeners] = true;
        else
            on_event(e, &e->events[i]);
    }
    epoll_work(e);
    for (size_t i = 0; i < e->listener_count; i++) {
        if (accepts[i])
            listener_accept(e, e->listeners[i]);
    }
    if (is_awake)
        epoll_drain_wake(e);
}

static void epoll_wake(struct io *io)
{
    const uint64_t one = 1;
    /* It fails only if 2^64-2 calls are pending, and then the loop wakes anyway. */
    ssize_t written = write(epoll_from(io)->wake_fd, &one, sizeof(one));
    (void)written;
}

/* Nothing of the pool is held when no socket is left. */
static void epoll_end(struct io *io)
{
    (void)io;
}

static void epoll_free(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (!helper_free(e->helper))
        return; /* its threads still wake this loop */
    if (e->epoll_fd != -1)
        close(e->epoll_fd);
    if (e->wake_fd != -1)
        close(e->wake_fd);
    free(e);
}

static enum weir_err epoll_open(const struct io_env *env, struct io **out)
{
    *out = NULL;
    struct io_epoll *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return WEIR_NOMEM;
    e->io = (struct io){.backend = &io_epoll_backend, .env = *env};
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (helper_new(&e->io, &e->helper) != WEIR_OK) {
        epoll_free(&e->io);
        return WEIR_NOMEM;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &e->wake_fd};
    if (e->epoll_fd == -1 || e->wake_fd == -1 ||
        epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->wake_fd, &event) == -1) {
        log_errno(LV_ERROR, errno, "cannot set up epoll");
        epoll_free(&e->io);
        return WEIR_IO;
    }
    *out = &e->io;
    return WEIR_OK;
}

const struct io_backend io_epoll_backend = {
    .name = "epoll",
    .open = epoll_open,
    .end = epoll_end,
    .free = epoll_free,
    .listen = epoll_listen,
    .accept_pause = epoll_accept_pause,
    .accept_resume = epoll_accept_resume,
    .accept_end = epoll_accept_pause, /* closing the listeners refuses who waits there */
    .adopt = epoll_adopt,
    .refuse = epoll_refuse,
    .recv_start = epoll_recv_start,
    .recv_stop = epoll_recv_stop,
    .send = epoll_send,
    .limit_unsent = epoll_limit_unsent,
    .ask = epoll_ask,
    .end_sending = epoll_end_sending,
    .close = epoll_close_sock,
    .reset = epoll_reset,
    .fetch = epoll_fetch,
    .turn = epoll_turn,
    .wake = epoll_wake,
};
