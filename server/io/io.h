/*
 * The loop of a worker: operations are started here and end as completions.
 *
 * Nothing in this interface speaks of readiness: a back end on epoll turns readiness into
 * completions, one on io_uring has them anyway.  A completion is delivered inside io_turn() and
 * never from within the call that started the operation.
 *
 *     io_recv_start ──▶ on_recv, on_recv, ...          until io_recv_stop, the end, or an error
 *     io_send ─────────▶ on_sent                       one at a time per socket
 *     io_ask ──────────▶ on_told                       the same
 *     io_close ────────▶ on_closed                     the last completion of the socket
 *     io_fetch ────────▶ f->done                       once; in any order
 *
 * Life:   a socket's memory is the caller's again in on_closed, not before.
 * Thread: the worker that opened it.
 */
#ifndef IO_IO_H
#define IO_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "internal/fetch.h"
#include "list.h"
#include "weir/buf.h"
#include "weir/err.h"
#include "weir/gather.h"

struct io;
struct io_held;
struct io_sock;
struct listener;
struct mem;
struct sockaddr;
struct stats;
struct uring_zc;

struct io_events {
    /*
     * A connection has come (handle >= 0), or accepting failed (handle is -errno).
     * Own: the handle goes to io_adopt() or io_refuse().
     * Borrowed: peer, its address, for the length of the call.
     */
    void (*on_accept)(void *ctx, const struct listener *l, int handle, const struct sockaddr *peer);

    /*
     * res > 0: bytes have come, and the slice's reference is the callee's.
     * res == 0: the peer sends no more.  res < 0: -errno, the socket is dead.
     * The slice's block is referred to by nobody else, so its bytes may be changed in place.
     */
    void (*on_recv)(struct io_sock *s, int res, struct weir_slice data);

    /* The kernel took res bytes from the front of the list, or failed with -errno. */
    void (*on_sent)(struct io_sock *s, int res);

    /*
     * The answer to io_ask(): bytes that were sent and that the peer has not acknowledged; 0 also
     * where the kernel cannot tell.
     */
    void (*on_told)(struct io_sock *s, size_t unacknowledged);

    /* Nothing of the socket is left. */
    void (*on_closed)(struct io_sock *s);

    /* io_wake() was called, once or more, by others or by the back end itself. */
    void (*on_wake)(void *ctx);

    /* Asked before each wait: how many ms it may last; -1 for no bound. */
    int (*wait_ms)(void *ctx);

    /* A wait has ended, however long it was: time to look at the clock, before any completion. */
    void (*on_waited)(void *ctx);
};

/* Sending pages themselves instead of a copy of them; where a back end can. */
enum io_zero_copy {
    IO_ZERO_COPY_AUTO, /* to peers elsewhere, until the kernel says that it copied after all */
    IO_ZERO_COPY_ON,   /* whatever the kernel makes of it */
    IO_ZERO_COPY_OFF,
};

/* What a loop is made from.  Borrowed, and outlives it. */
struct io_env {
    const struct io_events *events;
    void *ctx; /* handed to events that concern no socket */
    struct mem *mem;
    struct stats *stats;
    enum io_zero_copy zero_copy;
    size_t loops; /* that share what the process may pin; 0: this one alone */
};

/* The low bits of a socket's address are a back end's to use. */
#define IO_SOCK_ALIGN 16

/* A connected socket; embedded in a connection.  Its fields belong to the back end. */
struct io_sock {
    _Alignas(IO_SOCK_ALIGN) struct io *io;
    struct io_sock *next;        /* in the back end's queue that the socket is in */
    struct weir_gather *sending; /* what io_send() was given, until on_sent() */
    struct io_held *held;        /* uring: received while stopped, oldest first.  Own */
    struct io_held *held_last;
    struct uring_zc *zero_copy; /* uring: of the send in flight, if it is one */
    int handle;
    int result;          /* to be delivered: epoll: of sending; uring: of the end of receiving */
    uint32_t pending;    /* uring: completions that the kernel owes */
    uint32_t notices;    /* uring: of these, notices of zero-copy sends */
    struct list leaving; /* uring: closed, and waiting for those */
    uint64_t leave_ms;   /* until when */
    uint16_t flags;
};

/* A back end: one table per way to wait. */
struct io_backend {
    const char *name;
    bool spares_descriptors; /* a connection is none of the process's descriptors */
    size_t accepts_ahead;    /* connections of a listener that it takes before it is paused */
    enum weir_err (*open)(const struct io_env *env, struct io **out);
    void (*end)(struct io *io);
    void (*free)(struct io *io);
    enum weir_err (*listen)(struct io *io, const struct listener *l);
    void (*accept_pause)(struct io *io);
    void (*accept_resume)(struct io *io);
    void (*accept_end)(struct io *io);
    enum weir_err (*adopt)(struct io *io, struct io_sock *s, int handle);
    void (*refuse)(struct io *io, int handle);
    void (*recv_start)(struct io_sock *s);
    void (*recv_stop)(struct io_sock *s);
    void (*send)(struct io_sock *s, struct weir_gather *g);
    void (*limit_unsent)(struct io_sock *s, size_t bytes);
    void (*ask)(struct io_sock *s);
    void (*end_sending)(struct io_sock *s);
    void (*close)(struct io_sock *s);
    void (*reset)(struct io_sock *s);
    void (*fetch)(struct io *io, struct fetch *f);
    void (*turn)(struct io *io);
    void (*wake)(struct io *io);
};

extern const struct io_backend io_epoll_backend;
extern const struct io_backend io_uring_backend;

/* What every back end's object starts with. */
struct io {
    const struct io_backend *backend;
    struct io_env env;
    size_t fetches; /* under way: the back end counts one less before it calls done */
};

/* Err: WEIR_IO: the kernel refused; the reason has been logged. */
WEIR_MUST_USE
static inline enum weir_err io_new(const struct io_backend *backend, const struct io_env *env,
                                   struct io **out)
{
    return backend->open(env, out);
}

/*
 * Give back what is the loop's of its mem; all its sockets must be closed.  Only io_wake() and
 * io_free() may follow.  Fetches that are under way are given up: they never complete, and what
 * they refer to, the mem included, must stay until the process ends.  NULL is fine.
 */
static inline void io_end(struct io *io)
{
    if (io != NULL)
        io->backend->end(io);
}

/* After io_end(), if anything was opened.  NULL is fine.  Thread: any. */
static inline void io_free(struct io *io)
{
    if (io != NULL)
        io->backend->free(io);
}

/* Accept from a listening socket.  Borrowed: l, until accept_end or end. */
WEIR_MUST_USE
static inline enum weir_err io_listen(struct io *io, const struct listener *l)
{
    return io->backend->listen(io, l);
}

/* Stop and go on accepting, on all listeners.  Connections wait in the kernel's queue meanwhile. */
static inline void io_accept_pause(struct io *io)
{
    io->backend->accept_pause(io);
}

static inline void io_accept_resume(struct io *io)
{
    io->backend->accept_resume(io);
}

/* Accept no more.  Connections that wait are refused, and listeners may be closed. */
static inline void io_accept_end(struct io *io)
{
    io->backend->accept_end(io);
}

/* Bind an accepted handle to the caller's socket object.  Err: WEIR_IO; the handle is closed. */
WEIR_MUST_USE
static inline enum weir_err io_adopt(struct io *io, struct io_sock *s, int handle)
{
    return io->backend->adopt(io, s, handle);
}

/* Close an accepted handle at once. */
static inline void io_refuse(struct io *io, int handle)
{
    io->backend->refuse(io, handle);
}

/*
 * Deliver what the peer sends from now on.  While the pool is low nothing is received: the bytes
 * wait in the kernel until blocks come back.
 */
static inline void io_recv_start(struct io_sock *s)
{
    s->io->backend->recv_start(s);
}

/* Bytes that have come, or come, wait; one on_recv() that was under way may still follow. */
static inline void io_recv_stop(struct io_sock *s)
{
    s->io->backend->recv_stop(s);
}

/*
 * Send the front of the list, as much as the kernel takes at once.
 * Borrowed: g is not changed by anyone until on_sent(), which may report fewer bytes.
 */
static inline void io_send(struct io_sock *s, struct weir_gather *g)
{
    s->io->backend->send(s, g);
}

/* Let the kernel hold that many bytes unsent; a wish, without result. */
static inline void io_limit_unsent(struct io_sock *s, size_t bytes)
{
    s->io->backend->limit_unsent(s, bytes);
}

/* Ask how much the peer has not acknowledged: on_told() comes.  One question at a time. */
static inline void io_ask(struct io_sock *s)
{
    s->io->backend->ask(s);
}

/* Send FIN; receiving goes on.  Nothing may be under way; to do it again changes nothing. */
static inline void io_end_sending(struct io_sock *s)
{
    s->io->backend->end_sending(s);
}

/* Give the socket up: what is under way is cancelled, then on_closed() comes. */
static inline void io_close(struct io_sock *s)
{
    s->io->backend->close(s);
}

/* The same, and what the kernel still has to send is thrown away: the peer sees a reset. */
static inline void io_reset(struct io_sock *s)
{
    s->io->backend->reset(s);
}

/*
 * Do something that may wait for a disk, off the loop; see internal/fetch.h.
 * Borrowed: f and what it refers to, until f->done().
 */
static inline void io_fetch(struct io *io, struct fetch *f)
{
    io->fetches++;
    io->backend->fetch(io, f);
}

/* Deliver completions; wait for some if there are none, as long as wait_ms() allows. */
static inline void io_turn(struct io *io)
{
    io->backend->turn(io);
}

/* Make io_turn() return soon, with on_wake().  Thread: any. */
static inline void io_wake(struct io *io)
{
    io->backend->wake(io);
}

#endif
