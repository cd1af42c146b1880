/*
 * What kernels offer and Debian 12's headers do not name yet.  The names are ours, so that newer
 * headers do no harm; whether the kernel at hand knows them is found out at start.
 */
#ifndef IO_URING_ABI_H
#define IO_URING_ABI_H

#include <liburing.h>
#include <stdint.h>
#include <string.h>

/* Linux 6.2: the notification of a zero-copy send tells whether the bytes were copied after all. */
#define URING_SEND_ZC_REPORT_USAGE (1U << 3)
#define URING_NOTIF_ZC_COPIED (1U << 31)

/* Linux 5.14: madvise() reads pages in, and says what goes wrong. */
#define URING_POPULATE_READ 22

/* Linux 6.7: IORING_OP_URING_CMD on a socket sets an option, or tells what is not acknowledged. */
#define URING_CMD_SETSOCKOPT 3
#define URING_CMD_SIOCOUTQ 1

/*
 *     addr:  [ level ][ option ]     addr3:  where the value is     file_index:  its length
 */
static inline void uring_prep_setsockopt(struct io_uring_sqe *sqe, int fd, int level, int option,
                                         const int *value)
{
    const uint32_t halves[2] = {(uint32_t)level, (uint32_t)option};
    io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, URING_CMD_SETSOCKOPT);
    memcpy(&sqe->addr, halves, sizeof(halves));
    sqe->addr3 = (uintptr_t)value;
    sqe->file_index = sizeof(*value);
}

#endif
