/*
 * See uring.h: zero-copy sends.
 *
 * The kernel sends from our pages themselves, and says by a second completion, the notification,
 * when it needs them no more: when the peer has acknowledged the bytes.  on_sent() comes with the
 * first one, so that the connection goes on; until the notification a uring_zc keeps a reference on
 * every slice.
 *
 *     sendmsg_zc ──▶ result ──▶ on_sent ──▶ next send ──▶ ...
 *                       └── references ──────────▶ notification ──▶ given back
 *
 * What lies in the registered buffer (uring_fixed.c), as records of TLS do, goes from there.
 *
 * It costs more than a copy where the kernel has to copy after all: on loopback always, and where a
 * device cannot gather.  The notification tells, and `auto` ends it for that connection.
 */
#include <errno.h>

#include "internal/limits.h"
#include "internal/stats.h"
#include "mem.h"
#include "uring.h"
#include "uring_abi.h"

bool uring_zc_is_due(const struct io_sock *s, size_t len)
{
    return (s->flags & URING_SENDS_ZC) != 0 && len >= LIMIT_ZERO_COPY_MIN;
}

struct uring_zc *uring_zc_new(struct io_sock *s, size_t count)
{
    size_t len = sizeof(struct uring_zc) + count * sizeof(struct weir_slice);
    struct uring_zc *z = mem_take(s->io->env.mem, len);
    if (z == NULL)
        return NULL;
    *z = (struct uring_zc){.sock = s, .max = count};
    s->zero_copy = z;
    return z;
}

void uring_zc_prepare(struct io_uring_sqe *sqe, struct uring_zc *z, const struct msghdr *msg)
{
    struct uring *u = uring_from(z->sock->io);
    z->is_fixed = uring_fixed_covers(u, msg->msg_iov, msg->msg_iovlen);
    if (msg->msg_iovlen == 1)
        io_uring_prep_send_zc(sqe, z->sock->handle, msg->msg_iov->iov_base, msg->msg_iov->iov_len,
                              MSG_NOSIGNAL, 0);
    else
        io_uring_prep_sendmsg_zc(sqe, z->sock->handle, msg, MSG_NOSIGNAL);
    if (u->features & URING_HAS_ZC_REPORT)
        sqe->ioprio |= URING_SEND_ZC_REPORT_USAGE;
    if (z->is_fixed) {
        sqe->ioprio |= IORING_RECVSEND_FIXED_BUF;
        sqe->buf_index = URING_POOL_BUFFER;
    }
}

static void zc_free(struct uring_zc *z)
{
    for (size_t i = 0; i < z->count; i++)
        weir_slice_drop(&z->slices[i]);
    mem_give(z);
}

/* Refer to the first `sent` bytes of the list, which are about to leave it. */
static void zc_hold(struct uring_zc *z, const struct weir_gather *g, size_t sent)
{
    size_t len;
    z->count = weir_gather_peek(g, z->slices, z->max, sent, &len);
    for (size_t i = 0; i < z->count; i++)
        weir_buf_ref(z->slices[i].buf);
}

/* The kernel has no zero copy for this socket, or no more memory to pin for it. */
static bool is_refusal(int res)
{
    return res == -EOPNOTSUPP || res == -ENOMEM || res == -ENOBUFS || res == -EINTR;
}

static void zc_on_result(struct uring_zc *z, int res, bool is_noticed)
{
    struct io_sock *s = z->sock;
    struct stats *stats = s->io->env.stats;
    s->zero_copy = NULL;
    if (is_noticed) {
        s->notices++;
        stats->zero_copy_notices++;
        if (res > 0)
            zc_hold(z, s->sending, (size_t)res);
    } else {
        zc_free(z);
    }
    if (res > 0) {
        stats->zero_copy_sends++;
        stats->zero_copy_fixed += z->is_fixed;
    }
    if (is_refusal(res)) {
        s->flags &= (uint16_t)~URING_SENDS_ZC;
        uring_resend(s);
        return;
    }
    uring_sent(s, res);
}

static void zc_on_notice(struct uring_zc *z, uint32_t res)
{
    struct io_sock *s = z->sock;
    struct stats *stats = s->io->env.stats;
    s->notices--;
    if (z->count > 0 && (res & URING_NOTIF_ZC_COPIED)) {
        stats->zero_copy_copied++;
        if (s->io->env.zero_copy == IO_ZERO_COPY_AUTO)
            s->flags &= (uint16_t)~URING_SENDS_ZC;
    }
    zc_free(z);
}

void uring_on_send_zc(struct uring_zc *z, int res, uint32_t flags)
{
    struct io_sock *s = z->sock;
    if ((flags & IORING_CQE_F_MORE) == 0)
        s->pending--;
    if (flags & IORING_CQE_F_NOTIF)
        zc_on_notice(z, (uint32_t)res);
    else
        zc_on_result(z, res, (flags & IORING_CQE_F_MORE) != 0);
    uring_leave_on(s);
    uring_sock_settle(s);
}
