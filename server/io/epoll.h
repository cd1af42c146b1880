/*
 * The back end on epoll, as its files share it.  Sockets are registered once, edge-triggered.  An
 * edge is noted in the socket's flags and puts it into a queue; working the queue off turns flags
 * into completions:
 *
 *     edge ──▶ CAN_RECV ──▶ recv    ──▶ on_recv
 *          └─▶ CAN_SEND ──▶ sendmsg ──▶ HAS_SENT ──▶ on_sent
 *
 * Invariant: a socket with a flag to act on is in the queue or among the starved; never in both.
 *
 * Files: epoll.c has the turn and the table; epoll_accept.c the listeners; epoll_sock.c the sockets
 * and their flags.
 */
#ifndef IO_EPOLL_H
#define IO_EPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "internal/assert.h"
#include "internal/limits.h"
#include "io.h"
#include "sock_queue.h"

#define EPOLL_EVENTS_PER_WAIT 256
#define EPOLL_LISTENERS_MAX 16

struct io_epoll {
    struct io io;
    int epoll_fd;
    int wake_fd;
    struct helper *helper; /* Own: carries fetches out */
    bool is_paused;        /* accepting */
    size_t listener_count;
    const struct listener *listeners[EPOLL_LISTENERS_MAX];
    struct sock_queue queue;   /* to be worked off in this turn */
    struct sock_queue starved; /* could receive, but the pool is low */
    struct iovec iov[LIMIT_IOVECS];
    struct epoll_event events[EPOLL_EVENTS_PER_WAIT];
};

static inline struct io_epoll *epoll_from(struct io *io)
{
    return container_of(io, struct io_epoll, io);
}

static inline struct stats *epoll_stats(struct io_epoll *e)
{
    return e->io.env.stats;
}

/* ---- epoll_accept.c ---- */

WEIR_MUST_USE
enum weir_err epoll_listen(struct io *io, const struct listener *l);
void epoll_accept_pause(struct io *io);
void epoll_accept_resume(struct io *io);
void epoll_refuse(struct io *io, int handle);

/* Somebody has come to that listener. */
void epoll_accept(struct io_epoll *e, const struct listener *l);

/* ---- epoll_sock.c ---- */

WEIR_MUST_USE
enum weir_err epoll_adopt(struct io *io, struct io_sock *s, int handle);
void epoll_recv_start(struct io_sock *s);
void epoll_recv_stop(struct io_sock *s);
void epoll_send(struct io_sock *s, struct weir_gather *g);
void epoll_limit_unsent(struct io_sock *s, size_t bytes);
void epoll_ask(struct io_sock *s);
void epoll_end_sending(struct io_sock *s);
void epoll_close_sock(struct io_sock *s);
void epoll_reset(struct io_sock *s);

/* An edge has come: its flags, and the queue if there is something to be done. */
void epoll_sock_on_event(struct io_epoll *e, const struct epoll_event *event);

/* Do what the flags say.  Life: s may be gone. */
void epoll_sock_work(struct io_epoll *e, struct io_sock *s);

#endif
