/*
 * See uring.h: making a ring, and finding out what the kernel at hand can do.
 *
 * Features are tried rather than told by a version: kernels are patched, and containers filter.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal/limits.h"
#include "uring.h"
#include "uring_abi.h"

static const struct {
    uint8_t op;
    const char *name;
} needed_ops[] = {
    {IORING_OP_ACCEPT, "accept"},     {IORING_OP_ASYNC_CANCEL, "cancel"},
    {IORING_OP_CLOSE, "close"},       {IORING_OP_CONNECT, "connect"},
    {IORING_OP_READ, "read"},         {IORING_OP_RECV, "recv"},
    {IORING_OP_SEND, "send"},         {IORING_OP_SENDMSG, "sendmsg"},
    {IORING_OP_SHUTDOWN, "shutdown"},
};

/*
 * The ring itself: of the two ways, the first that the kernel knows.  The second costs 1.00 to 1.04
 * of the first's CPU time per request (1 KiB; 50 and 400 connections, with and without TLS).
 */
static enum weir_err ring_set_up(struct io_uring *ring, unsigned without, unsigned *features,
                                 char why[URING_WHY_LEN])
{
    static const struct {
        unsigned flags;
        unsigned feature;
    } ways[] = {
        {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, URING_HAS_DEFER_TASKRUN},
        {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN, 0},
    };
    const unsigned needed = IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL |
                            IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;
    int rv = -EINVAL;
    struct io_uring_params params = {0};
    for (size_t i = 0; rv == -EINVAL && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (ways[i].feature & without)
            continue;
        params = (struct io_uring_params){
            .flags = ways[i].flags | IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL,
            .cq_entries = URING_CQ_ENTRIES,
        };
        rv = io_uring_queue_init_params(URING_SQ_ENTRIES, ring, &params);
        *features = ways[i].feature;
    }
    if (rv == 0 && (params.features & needed) == needed)
        return WEIR_OK;
    if (rv == 0) {
        io_uring_queue_exit(ring);
        rv = -EINVAL;
    }
    if (rv == -EINVAL)
        snprintf(why, URING_WHY_LEN, "this kernel's io_uring is older than Linux 6.0");
    else
        snprintf(why, URING_WHY_LEN, "io_uring_setup: %s", strerrordesc_np(-rv));
    return WEIR_IO;
}

static bool ring_knows(const struct io_uring_probe *probe, uint8_t op)
{
    return op <= probe->last_op && (probe->ops[op].flags & IO_URING_OP_SUPPORTED) != 0;
}

static enum weir_err ring_check_ops(struct io_uring *ring, unsigned *features, bool *has_zc,
                                    char why[URING_WHY_LEN])
{
    struct io_uring_probe *probe = io_uring_get_probe_ring(ring);
    if (probe == NULL) {
        snprintf(why, URING_WHY_LEN, "io_uring does not tell its operations");
        return WEIR_IO;
    }
    enum weir_err err = WEIR_OK;
    for (size_t i = 0; err == WEIR_OK && i < sizeof(needed_ops) / sizeof(needed_ops[0]); i++) {
        if (ring_knows(probe, needed_ops[i].op))
            continue;
        snprintf(why, URING_WHY_LEN, "io_uring has no %s", needed_ops[i].name);
        err = WEIR_IO;
    }
    *has_zc = ring_knows(probe, IORING_OP_SEND_ZC) && ring_knows(probe, IORING_OP_SENDMSG_ZC);
    if (ring_knows(probe, IORING_OP_MADVISE))
        *features |= URING_HAS_MADVISE;
    io_uring_free_probe(probe);
    return err;
}

/* Run the one request that is there: its result.  Notices are of requests before it. */
static int ring_try(struct io_uring *ring)
{
    struct __kernel_timespec limit = {.tv_sec = 1};
    struct io_uring_cqe *cqe;
    bool is_notice = true;
    int rv = 0;
    while (is_notice) {
        rv = io_uring_submit_and_wait_timeout(ring, &cqe, 1, &limit, NULL);
        if (rv < 0)
            return rv;
        rv = cqe->res;
        is_notice = (cqe->flags & IORING_CQE_F_NOTIF) != 0;
        io_uring_cqe_seen(ring, cqe);
    }
    return rv;
}

static struct io_uring_sqe *ring_request(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    WEIR_ASSERT(sqe != NULL); /* one at a time */
    return sqe;
}

/* Multishot receive from buffers that are not there: a kernel that knows how says just that. */
static bool ring_has_multishot(struct io_uring *ring, int fd, size_t cap)
{
    struct io_uring_sqe *sqe = ring_request(ring);
    io_uring_prep_recv_multishot(sqe, fd, NULL, cap, 0);
    sqe->flags |= IOSQE_BUFFER_SELECT;
    return ring_try(ring) == -ENOBUFS;
}

static bool ring_has_setsockopt(struct io_uring *ring, int fd)
{
    const int on = 1;
    struct io_uring_sqe *sqe = ring_request(ring);
    uring_prep_setsockopt(sqe, fd, SOL_SOCKET, SO_KEEPALIVE, &on);
    return ring_try(ring) == 0;
}

/* On a socket without a connection it fails; but not for a flag that is not known. */
static int ring_try_zc(struct io_uring *ring, int fd, unsigned flags)
{
    static char byte;
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    const struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct io_uring_sqe *sqe = ring_request(ring);
    io_uring_prep_sendmsg_zc(sqe, fd, &msg, MSG_NOSIGNAL);
    sqe->ioprio |= (uint16_t)flags;
    return ring_try(ring);
}

static bool ring_has_zc(struct io_uring *ring, int fd, unsigned flags)
{
    int rv = ring_try_zc(ring, fd, flags);
    return rv != -EINVAL && rv != -EOPNOTSUPP;
}

/*
 * Registered buffers: an empty table of them.  A kernel that takes lists from there looks there,
 * and says that it found none.
 */
static unsigned ring_make_buffers(struct io_uring *ring, int fd)
{
    if (io_uring_register_buffers_sparse(ring, URING_POOL_BUFFERS) != 0)
        return 0;
    unsigned features = URING_HAS_FIXED;
    if (ring_try_zc(ring, fd, IORING_RECVSEND_FIXED_BUF) == -EFAULT)
        features |= URING_HAS_FIXED_LISTS;
    return features;
}

static unsigned ring_check_zc(struct io_uring *ring, int fd)
{
    if (!ring_has_zc(ring, fd, 0))
        return 0;
    unsigned features = URING_HAS_SEND_ZC;
    if (ring_has_zc(ring, fd, URING_SEND_ZC_REPORT_USAGE))
        features |= URING_HAS_ZC_REPORT;
    return features | ring_make_buffers(ring, fd);
}

static enum weir_err ring_check_sockets(struct io_uring *ring, bool has_zc, unsigned *features,
                                        char why[URING_WHY_LEN])
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1) {
        snprintf(why, URING_WHY_LEN, "socketpair: %s", strerrordesc_np(errno));
        return WEIR_IO;
    }
    bool has_cap = ring_has_multishot(ring, pair[0], LIMIT_READ_PER_TURN);
    bool has_multishot = has_cap || ring_has_multishot(ring, pair[0], 0);
    close(pair[0]);
    close(pair[1]);
    if (!has_multishot) {
        snprintf(why, URING_WHY_LEN, "io_uring has no multishot receive (Linux 6.0)");
        return WEIR_IO;
    }
    if (has_cap)
        *features |= URING_HAS_RECV_CAP;

    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (tcp == -1)
        return WEIR_OK; /* the rest is for TCP */
    if (ring_has_setsockopt(ring, tcp))
        *features |= URING_HAS_SETSOCKOPT;
    if (has_zc)
        *features |= ring_check_zc(ring, tcp);
    close(tcp);
    return WEIR_OK;
}

/* The file table can be no longer than the number of descriptors a process may have. */
static enum weir_err ring_make_files(struct io_uring *ring, unsigned *files,
                                     char why[URING_WHY_LEN])
{
    struct rlimit limit;
    *files = LIMIT_CONNECTIONS + URING_LISTENERS_MAX * URING_ACCEPTS;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < *files)
        *files = (unsigned)limit.rlim_cur;
    int rv = io_uring_register_files_sparse(ring, *files);
    if (rv == 0)
        return WEIR_OK;
    snprintf(why, URING_WHY_LEN, "io_uring file table of %u entries: %s", *files,
             strerrordesc_np(-rv));
    return WEIR_IO;
}

enum weir_err uring_ring_open(struct io_uring *ring, unsigned without, unsigned *features,
                              unsigned *files, char why[URING_WHY_LEN])
{
    enum weir_err err = ring_set_up(ring, without, features, why);
    if (err != WEIR_OK)
        return err;
    bool has_zc = false;
    err = ring_check_ops(ring, features, &has_zc, why);
    if (err == WEIR_OK)
        err = ring_check_sockets(ring, has_zc, features, why);
    if (err == WEIR_OK)
        err = ring_make_files(ring, files, why);
    if (err != WEIR_OK) {
        io_uring_queue_exit(ring);
        return err;
    }
    *features &= ~without;
    if ((without & URING_HAS_RING_FD) == 0 && io_uring_register_ring_fd(ring) == 1)
        *features |= URING_HAS_RING_FD;
    return WEIR_OK;
}

enum weir_err uring_try(char why[URING_WHY_LEN])
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {
        {URING_HAS_DEFER_TASKRUN, "defer_taskrun"}, {URING_HAS_RECV_CAP, "recv_cap"},
        {URING_HAS_SETSOCKOPT, "setsockopt"},       {URING_HAS_SEND_ZC, "zero_copy"},
        {URING_HAS_ZC_REPORT, "zc_report"},         {URING_HAS_FIXED, "fixed_buffers"},
        {URING_HAS_FIXED_LISTS, "fixed_lists"},     {URING_HAS_MADVISE, "madvise"},
    };
    struct io_uring ring;
    unsigned features;
    unsigned files;
    enum weir_err err = uring_ring_open(&ring, 0, &features, &files, why);
    if (err != WEIR_OK)
        return err;
    io_uring_queue_exit(&ring);
    size_t len = (size_t)snprintf(why, URING_WHY_LEN, "the kernel has it, with files=%u", files);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (features & names[i].bit)
            len += (size_t)snprintf(why + len, URING_WHY_LEN - len, " %s", names[i].name);
    }
    return WEIR_OK;
}
