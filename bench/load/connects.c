/*
 * How many connections a program makes, preloaded (LD_PRELOAD) into wrk by bench/run: wrk goes on
 * with a new one when the server closes one, and says nothing of it.  A line at exit tells.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long connects; /* Thread: any; wrk has one that connects */

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *to, socklen_t len)
{
    if (to->sa_family == AF_INET)
        __atomic_fetch_add(&connects, 1, __ATOMIC_RELAXED);
    return (int)syscall(SYS_connect, fd, to, len);
}

__attribute__((destructor)) static void tell(void)
{
    printf("connects: %lu\n", __atomic_load_n(&connects, __ATOMIC_RELAXED));
}
