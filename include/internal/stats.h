/*
 * A worker's counters.  Written by the worker alone, read after it has ended.
 */
#ifndef INTERNAL_STATS_H
#define INTERNAL_STATS_H

#include <stdint.h>

/* System calls of the request path; the names are those of the calls. */
#define STATS_CALL_MAP(X)                                                                          \
    X(io_uring_enter)                                                                              \
    X(io_uring_register)                                                                           \
    X(epoll_wait)                                                                                  \
    X(epoll_ctl)                                                                                   \
    X(accept4)                                                                                     \
    X(recv)                                                                                        \
    X(sendmsg)                                                                                     \
    X(shutdown)                                                                                    \
    X(setsockopt)                                                                                  \
    X(ioctl)                                                                                       \
    X(close)                                                                                       \
    X(read)                                                                                        \
    X(openat2)                                                                                     \
    X(openat)                                                                                      \
    X(readlinkat)                                                                                  \
    X(fstat)                                                                                       \
    X(mmap)                                                                                        \
    X(munmap)                                                                                      \
    X(mincore)                                                                                     \
    X(preadv2)                                                                                     \
    X(faccessat2)                                                                                  \
    X(newfstatat)                                                                                  \
    X(pread64)                                                                                     \
    X(getdents64)                                                                                  \
    X(inotify_add_watch)                                                                           \
    X(inotify_rm_watch)                                                                            \
    X(memfd_create)                                                                                \
    X(write)

struct stats {
    /* connections */
    uint64_t accepted;        /* connections taken */
    uint64_t closed;          /* connections ended, for whatever reason */
    uint64_t accept_pauses;   /* times that accepting paused for want of descriptors or memory */
    uint64_t limit_breaches;  /* connections ended because a limit was reached */
    uint64_t protocol_errors; /* connections ended because the peer broke the protocol */

    /* requests */
    uint64_t requests;        /* field sections that were handed to a handler */
    uint64_t responses[6];    /* by first digit of the status; [0] is not used */
    uint64_t streams_reset;   /* RST_STREAM sent or received before the response was complete */
    uint64_t streams_refused; /* REFUSED_STREAM sent */
    uint64_t bodies_lost;     /* file maps that shrank while their bytes were being sent */
    uint64_t fetches;         /* times that something was waited for off the loop */
    uint64_t changes;         /* events of directories that the kernel told of */

    /* bytes of response bodies, each counted once when it is handed to the output */
    uint64_t body_mapped; /* from a file map to the kernel or the cipher without a copy */
    uint64_t body_pooled; /* built in a pool block, or constant data */
    uint64_t body_copied; /* copied on the way */

    /* writes */
    uint64_t writes;     /* gather lists given to the kernel */
    uint64_t iovecs;     /* entries of those */
    uint64_t iovecs_max; /* most entries of one */
    uint64_t bytes_sent; /* taken by the kernel */
    uint64_t bytes_received;
    uint64_t zero_copy_sends;    /* of the writes, those of the pages themselves */
    uint64_t zero_copy_copied;   /* of these, those that the kernel copied after all */
    uint64_t zero_copy_notices;  /* waits for the kernel to be done with the pages */
    uint64_t zero_copy_fixed;    /* of these sends, those from memory pinned in advance */
    uint64_t zero_copy_pinned;   /* bytes of it */
    uint64_t zero_copy_unpinned; /* times that more of it was refused */

    struct {
#define STATS_CALL_FIELD(name) uint64_t name;
        STATS_CALL_MAP(STATS_CALL_FIELD)
#undef STATS_CALL_FIELD
    } calls;
};

/* Add the system calls counted in `from`, which begins anew, to those of `to`. */
static inline void stats_take_calls(struct stats *to, struct stats *from)
{
#define STATS_CALL_TAKE(name)                                                                      \
    to->calls.name += from->calls.name;                                                            \
    from->calls.name = 0;
    STATS_CALL_MAP(STATS_CALL_TAKE)
#undef STATS_CALL_TAKE
}

#endif
