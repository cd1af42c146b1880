/*
 * A world that stands still, preloaded into weir and weir-load (LD_PRELOAD) by
 * `bench/run --instructions`, so that the same script of requests costs the same instructions to
 * the last one:
 *
 *     clocks   do not go on: no Date to be renewed, no deadline, no look at the files
 *     random   comes from a counter that STILL_SEED begins: keys, nonces, signatures repeat, and
 * with them their lengths waits    have no timeout; a byte through STILL_CONTROL calls still_mark()
 * between two of them accept   gives a connection when its first bytes have come, not sometimes
 * before
 *
 * still_mark() does nothing: callgrind is told to write its counts before it is entered.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define OPENSSL_SUPPRESS_DEPRECATED /* of a method for random numbers */
#include <openssl/rand.h>

#define EXPORT __attribute__((visibility("default")))

/* Later than every file's last change: those of less than a tick ago are read again and again. */
#define NOW_S 4102444800 /* 2100-01-01 */

void still_mark(void);

static uint64_t seed; /* what random numbers begin with: anything but 0 */
static uint64_t random_state;
static int control; /* -1: none; each byte that comes is answered by itself */

/* ---- clocks ---- */

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = NOW_S};
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    *now = (struct timeval){.tv_sec = NOW_S};
    return 0;
}

EXPORT time_t time(time_t *now)
{
    if (now != NULL)
        *now = NOW_S;
    return NOW_S;
}

/* ---- random ---- */

/* xorshift64*: what matters is that it repeats. */
static uint8_t random_byte(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint8_t)(random_state * 0x2545f4914f6cdd1dU >> 56);
}

static int still_bytes(unsigned char *out, int len)
{
    for (int i = 0; i < len; i++)
        out[i] = random_byte();
    return 1;
}

EXPORT ssize_t getrandom(void *out, size_t len, unsigned flags)
{
    (void)flags;
    still_bytes(out, (int)len);
    return (ssize_t)len;
}

static int still_status(void)
{
    return 1;
}

/* ---- waits ---- */

EXPORT __attribute__((noinline)) void still_mark(void)
{
    __asm__ volatile("");
}

static void obey(void)
{
    char word;
    bool is_told = read(control, &word, 1) == 1;
    if (is_told)
        still_mark();
    random_state = seed;
    if (!is_told || write(control, &word, 1) != 1)
        control = -1; /* nobody counts any more */
}

/* What the caller waits for comes first: a mark is where nothing is left to be done. */
EXPORT int epoll_wait(int epoll, struct epoll_event *events, int cap, int timeout_ms)
{
    struct pollfd both[] = {{.fd = epoll, .events = POLLIN}, {.fd = control, .events = POLLIN}};
    while (timeout_ms != 0) {
        if (poll(both, 2, -1) == -1)
            return -1; /* EINTR */
        if (both[0].revents != 0)
            break;
        obey();
        both[1].fd = control;
    }
    return epoll_pwait(epoll, events, cap, 0, NULL);
}

EXPORT int accept4(int listener, struct sockaddr *restrict from, socklen_t *restrict len, int flags)
{
    int fd = (int)syscall(SYS_accept4, listener, from, len, flags);
    if (fd != -1)
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1);
    return fd;
}

/* A number of the environment. */
static long number_of(const char *name, long otherwise)
{
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe): there are no threads yet */
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void still_init(void)
{
    static const RAND_METHOD method = {
        .bytes = still_bytes, .pseudorand = still_bytes, .status = still_status};
    seed = 0x9e3779b97f4a7c15U ^ (uint64_t)number_of("STILL_SEED", 0);
    random_state = seed;
    control = (int)number_of("STILL_CONTROL", -1);
    RAND_set_rand_method(&method);
}
