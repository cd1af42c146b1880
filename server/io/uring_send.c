/*
 * See uring.h: sending.
 *
 * A request takes the front of the gather list, as much as a list of addresses holds.  It is never
 * told to wait for all of it (MSG_WAITALL): what the socket had room for is reported, its slices go
 * back, and the connection decides anew what comes next.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "internal/limits.h"
#include "internal/stats.h"
#include "uring.h"
#include "uring_abi.h"

static void count_iovecs(struct uring *u, size_t count)
{
    struct stats *stats = u->io.env.stats;
    stats->iovecs += count;
    if (count > stats->iovecs_max)
        stats->iovecs_max = count;
}

/* The list's front as addresses, which last until the request is handed over. */
static struct msghdr *sock_export(struct io_sock *s, size_t *len)
{
    struct uring *u = uring_from(s->io);
    size_t max = s->sending->count < LIMIT_IOVECS ? s->sending->count : LIMIT_IOVECS;
    struct msghdr *msg = uring_scratch(u, sizeof(*msg) + max * sizeof(struct iovec));
    struct iovec *iov = (struct iovec *)(void *)(msg + 1);
    size_t count = weir_gather_export(s->sending, iov, max, INT32_MAX, len);
    *msg = (struct msghdr){.msg_iov = iov, .msg_iovlen = count};
    count_iovecs(u, count);
    return msg;
}

static void sock_send(struct io_sock *s)
{
    size_t len;
    const struct msghdr *msg = sock_export(s, &len);
    struct uring_zc *zc = uring_zc_is_due(s, len) ? uring_zc_new(s, msg->msg_iovlen) : NULL;
    struct io_uring_sqe *sqe = uring_request(uring_from(s->io));
    if (zc != NULL) {
        uring_zc_prepare(sqe, zc, msg);
        uring_sock_tag(s, sqe, URING_SEND_ZC, zc);
    } else if (msg->msg_iovlen == 1) {
        io_uring_prep_send(sqe, s->handle, msg->msg_iov->iov_base, len, MSG_NOSIGNAL);
        uring_sock_tag(s, sqe, URING_SEND, s);
    } else {
        io_uring_prep_sendmsg(sqe, s->handle, msg, MSG_NOSIGNAL);
        uring_sock_tag(s, sqe, URING_SEND, s);
    }
    sqe->flags |= IOSQE_FIXED_FILE;
    if (zc == NULL && len <= URING_PROMPT_SEND_MAX)
        uring_from(s->io)->prompt_sends++;
}

void uring_send(struct io_sock *s, struct weir_gather *g)
{
    WEIR_ASSERT(s->sending == NULL && g->len > 0);
    s->sending = g;
    sock_send(s);
}

void uring_sent(struct io_sock *s, int res)
{
    struct stats *stats = s->io->env.stats;
    if (res > 0) {
        stats->writes++;
        stats->bytes_sent += (uint64_t)res;
    }
    s->sending = NULL;
    if ((s->flags & URING_IS_CLOSED) == 0)
        s->io->env.events->on_sent(s, res);
}

void uring_resend(struct io_sock *s)
{
    if (s->flags & URING_IS_CLOSED)
        uring_sent(s, -ECANCELED);
    else
        sock_send(s);
}

void uring_on_send(struct io_sock *s, int res)
{
    s->pending--;
    if (res == -EINTR)
        uring_resend(s);
    else
        uring_sent(s, res);
    uring_sock_settle(s);
}

void uring_limit_unsent(struct io_sock *s, size_t bytes)
{
    struct uring *u = uring_from(s->io);
    if ((u->features & URING_HAS_SETSOCKOPT) == 0)
        return; /* it keeps what it has from its listener */
    int *value = uring_scratch(u, sizeof(*value));
    *value = (int)bytes;
    struct io_uring_sqe *sqe = uring_request(u);
    uring_prep_setsockopt(sqe, s->handle, IPPROTO_TCP, TCP_NOTSENT_LOWAT, value);
    sqe->flags |= IOSQE_FIXED_FILE;
    uring_sock_tag(s, sqe, URING_SOCK, s);
}

void uring_ask(struct io_sock *s)
{
    struct uring *u = uring_from(s->io);
    struct io_uring_sqe *sqe = uring_request(u);
    if (u->features & URING_HAS_SETSOCKOPT) {
        io_uring_prep_rw(IORING_OP_URING_CMD, sqe, s->handle, NULL, 0, URING_CMD_SIOCOUTQ);
        sqe->flags |= IOSQE_FIXED_FILE;
    } else {
        io_uring_prep_nop(sqe);
    }
    uring_sock_tag(s, sqe, URING_ASK, s);
}

void uring_on_told(struct io_sock *s, int res)
{
    s->pending--;
    if ((s->flags & URING_IS_CLOSED) == 0)
        s->io->env.events->on_told(s, res > 0 ? (size_t)res : 0);
    uring_sock_settle(s);
}

void uring_end_sending(struct io_sock *s)
{
    WEIR_ASSERT(s->sending == NULL || (s->flags & URING_IS_CLOSED));
    if (s->flags & URING_HAS_FIN)
        return; /* a second one could be run when the entry is another socket's */
    struct io_uring_sqe *sqe = uring_request(uring_from(s->io));
    io_uring_prep_shutdown(sqe, s->handle, SHUT_WR);
    sqe->flags |= IOSQE_FIXED_FILE;
    uring_sock_tag(s, sqe, URING_FIN, s); /* fails only if the peer is gone: receiving tells */
    s->flags |= URING_FINISHES | URING_HAS_FIN;
}
