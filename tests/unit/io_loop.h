/*
 * A loop over a back end, with what it delivered written down, and clients over loopback, for the
 * tests of server/io/.  Client and server share the thread: a client's socket does not block, and
 * the loop is turned until what is waited for has come.
 */
#ifndef TESTS_IO_LOOP_H
#define TESTS_IO_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "internal/stats.h"
#include "io.h"
#include "listener.h"
#include "mem.h"

/* the exit status of a program all of whose tests are left out */
#define LOOP_SKIPPED 77
#define LOOP_MEMORY ((size_t)64 * 1024 * 1024)

/* A way to make a loop: a back end, and what it has to do without. */
struct loop_kind {
    const char *name;
    const struct io_backend *backend;
    unsigned without;
    enum io_zero_copy zero_copy;
};

/* The server's side of a connection. */
struct side {
    struct io_sock sock;
    struct weir_gather out;
    size_t received;
    bool keeps;              /* what comes is kept, in kept */
    struct weir_gather kept; /* Own */
    bool is_wrong;           /* a byte was not the pattern's, or a block not ours alone */
    int ends;                /* times the end was delivered */
    int end;                 /* what it was */
    int sends;               /* on_sent() */
    int sent;                /* its last result */
    bool is_given_up;        /* by side_close() */
    int closes;              /* on_closed() */
    struct sockaddr_storage peer;
};

struct loop {
    struct mem *mem;
    struct stats stats;
    struct io *io;
    struct listener listener;
    struct listen_address address;
    int wait_ms;       /* what the back end is told */
    int wakes;         /* on_wake() */
    int waits;         /* on_waited() */
    int accept_errors; /* on_accept() without a handle */
    int refusals;      /* handles to refuse from now on */
    size_t side_count;
    struct side *sides[4096]; /* in the order in which they came.  Own */
};

/* Byte `at` of everything that these tests send. */
static inline uint8_t loop_byte(size_t at)
{
    return (uint8_t)(at * 31 + (at >> 8) * 7 + (at >> 16));
}

/* Says why not, if not.  cmocka lets no set-up skip its test, so main() has to ask. */
bool loop_has_uring(void);

/* `memory`: bytes of the pool. */
void loop_open(struct loop *l, const struct loop_kind *kind, size_t memory);

/* A loop that listens on loopback, or on a unix socket without a name. */
void loop_listen(struct loop *l, bool is_unix);

/* Closes what is open, and checks that each socket was closed once and no block is left. */
void loop_close(struct loop *l);

/* The loop of a program's cases, each of which has its own kind of it as state. */
extern struct loop loop;

/* Set-up and tear-down of a case: open and listening on loopback, closed. */
int loop_set_up(void **state);
int loop_tear_down(void **state);

/* A case with those two, over that kind of loop. */
#define LOOP_TEST(name, kind)                                                                      \
    cmocka_unit_test_prestate_setup_teardown(name, loop_set_up, loop_tear_down,                    \
                                             (void *)(uintptr_t)(kind))

/* Turn until *value is at least `least`; fails when that takes ten seconds. */
void loop_until(struct loop *l, const int *value, int least);
void loop_until_size(struct loop *l, const size_t *value, size_t least);

/* A few turns in which nothing has to come. */
void loop_idle(struct loop *l);

/* A socket that does not block, connected to the loop.  Own: the caller's to close. */
int client_connect(struct loop *l);

/* The same, and the server's side of it, which receives. */
int client_accepted(struct loop *l, struct side **out);

/* Send so many bytes of the pattern from `at` on, turning the loop while the socket is full. */
void client_send(struct loop *l, int fd, size_t at, size_t len);

/* Receive so many bytes of the pattern from `at` on, turning the loop meanwhile. */
void client_expect(struct loop *l, int fd, size_t at, size_t len);

/* Turn until the connection has ended: 0 for FIN, errno else; bytes before it are dropped. */
int client_end(struct loop *l, int fd);

/* Append so many bytes of the pattern from `at` on to a side's output, in slices of `slice`. */
void side_append(struct loop *l, struct side *s, size_t at, size_t len, size_t slice);

/* io_close() or io_reset(), once. */
void side_close(struct side *s, bool by_reset);

/* Send all of a side's output. */
void side_send_all(struct loop *l, struct side *s);

/* The same while the client reads it: the pattern from its beginning. */
void side_transfer(struct loop *l, struct side *s, int fd);

#endif
