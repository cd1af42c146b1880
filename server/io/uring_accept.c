/*
 * See uring.h: accepting into the file table.
 *
 * A direct descriptor cannot be asked for its peer, so each of several requests per listener owns
 * the address that the kernel fills in (a multishot request has one address for all that come, and
 * the next connection would overwrite it).
 *
 * What is accepted while accepting is paused stays in its request and waits, as it would in the
 * kernel's queue.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "internal/log.h"
#include "internal/stats.h"
#include "listener.h"
#include "uring.h"

static void accept_arm(struct uring_accept *a)
{
    struct io_uring_sqe *sqe = uring_request(a->uring);
    a->peer_len = sizeof(a->peer);
    io_uring_prep_accept(sqe, a->listener->fd, &a->peer.any, &a->peer_len, 0);
    sqe->file_index = IORING_FILE_INDEX_ALLOC;
    uring_tag(sqe, URING_ACCEPT, a);
    a->is_armed = true;
    a->uring->pending++;
}

static void listener_arm(struct uring_listener *l)
{
    for (size_t i = 0; i < URING_ACCEPTS; i++) {
        if (!l->accepts[i].is_armed && l->accepts[i].handle == -1)
            accept_arm(&l->accepts[i]);
    }
}

enum weir_err uring_listen(struct io *io, const struct listener *l)
{
    struct uring *u = uring_from(io);
    if (u->listener_count == URING_LISTENERS_MAX) {
        log_line(LV_ERROR, "more than %d listening sockets", URING_LISTENERS_MAX);
        return WEIR_CONFIG;
    }
    /* The ring waits for us; a descriptor that must not block would have it report EAGAIN. */
    int flags = fcntl(l->fd, F_GETFL);
    if (flags == -1 || fcntl(l->fd, F_SETFL, flags & ~O_NONBLOCK) == -1) {
        log_errno(LV_ERROR, errno, "cannot watch a listening socket");
        return WEIR_IO;
    }
    struct uring_listener *mine = &u->listeners[u->listener_count++];
    for (size_t i = 0; i < URING_ACCEPTS; i++)
        mine->accepts[i] = (struct uring_accept){.uring = u, .listener = l, .handle = -1};
    if (!u->is_paused)
        listener_arm(mine);
    return WEIR_OK;
}

static void listener_cancel(struct uring *u, struct uring_listener *l)
{
    for (size_t i = 0; i < URING_ACCEPTS; i++) {
        if (l->accepts[i].is_armed)
            uring_cancel(u, URING_ACCEPT, &l->accepts[i]);
    }
}

void uring_accept_pause(struct io *io)
{
    struct uring *u = uring_from(io);
    if (u->is_paused)
        return;
    u->is_paused = true;
    for (size_t i = 0; i < u->listener_count; i++)
        listener_cancel(u, &u->listeners[i]);
}

void uring_accept_resume(struct io *io)
{
    struct uring *u = uring_from(io);
    u->is_paused = false;
    for (size_t i = 0; i < u->listener_count; i++)
        listener_arm(&u->listeners[i]);
}

void uring_refuse(struct io *io, int handle)
{
    struct io_uring_sqe *sqe = uring_request(uring_from(io));
    io_uring_prep_close_direct(sqe, (unsigned)handle);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

static enum uring_reach peer_reach(const struct uring_accept *a)
{
    const struct in6_addr *in6 = &a->peer.in6.sin6_addr;
    bool is_here;
    switch (a->peer.any.sa_family) {
    case AF_INET: is_here = (ntohl(a->peer.in.sin_addr.s_addr) >> 24) == 127; break;
    case AF_INET6:
        is_here =
            IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
        break;
    default: return URING_UNIX;
    }
    return is_here ? URING_LOOPBACK : URING_FAR;
}

static void accept_deliver(struct uring_accept *a, int handle)
{
    struct uring *u = a->uring;
    if (handle >= 0)
        u->reach[handle] = (uint8_t)peer_reach(a);
    u->io.env.events->on_accept(u->io.env.ctx, a->listener, handle, &a->peer.any);
}

void uring_on_accept(struct uring *u, struct uring_accept *a, int res)
{
    u->pending--;
    a->is_armed = false;
    if (res >= 0 && u->accepts_no_more) {
        uring_refuse(&u->io, res);
        return;
    }
    if (res >= 0 && u->is_paused) {
        a->handle = res;
        u->accepted_count++;
        return;
    }
    bool is_over = res == -ECANCELED || res == -EINTR || res == -ECONNABORTED;
    if (!is_over && !u->is_paused)
        accept_deliver(a, res);
    if (!u->is_paused)
        accept_arm(a);
}

void uring_accept_work(struct uring *u)
{
    for (size_t i = 0; u->accepted_count > 0 && i < u->listener_count; i++) {
        for (size_t j = 0; j < URING_ACCEPTS; j++) {
            struct uring_accept *a = &u->listeners[i].accepts[j];
            if (a->handle == -1 || u->is_paused)
                continue;
            int handle = a->handle;
            a->handle = -1;
            u->accepted_count--;
            accept_deliver(a, handle);
            if (!u->is_paused)
                accept_arm(a);
        }
    }
}

void uring_accept_end(struct io *io)
{
    struct uring *u = uring_from(io);
    uring_accept_pause(io);
    u->accepts_no_more = true;
    for (size_t i = 0; i < u->listener_count; i++) {
        for (size_t j = 0; j < URING_ACCEPTS; j++) {
            struct uring_accept *a = &u->listeners[i].accepts[j];
            if (a->handle != -1)
                uring_refuse(io, a->handle);
            a->handle = -1;
        }
    }
    u->accepted_count = 0;
    uring_submit(u); /* now, while the listeners' descriptors are what they were */
}
