/*
 * Connections that are made, used, cut and closed at random, from both ends.  What must hold is
 * checked by the loop: no completion after the last, each socket closed once, no block left, no
 * byte wrong.  WEIR_STRESS_SECONDS=60 goes on for that long.
 */
#include "cm.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io_loop.h"
#include "uring.h"

#define STEPS 30000
#define CLIENTS 64
#define PIECE_MAX 60000

struct client {
    int fd; /* -1: none */
    size_t sent;
};

/* Forget the sides that are closed. */
static void reap(void)
{
    size_t kept = 0;
    for (size_t i = 0; i < loop.side_count; i++) {
        struct side *s = loop.sides[i];
        if (s->closes == 0) {
            loop.sides[kept++] = s;
            continue;
        }
        assert_int_equal(s->closes, 1);
        assert_false(s->is_wrong);
        free(s);
    }
    loop.side_count = kept;
}

static void client_act(struct client *c, struct rng *r)
{
    static uint8_t bytes[PIECE_MAX];
    if (c->fd == -1) {
        *c = (struct client){client_connect(&loop), 0};
        return;
    }
    switch (rng_below(r, 10)) {
    case 0: close(c->fd); break;
    case 1: {
        const struct linger none = {.l_onoff = 1};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        close(c->fd);
        break;
    }
    case 2: shutdown(c->fd, SHUT_WR); return;
    case 3:
    case 4: {
        ssize_t n = recv(c->fd, bytes, rng_below(r, PIECE_MAX) + 1, 0);
        if (n > 0 || (n == -1 && errno == EAGAIN))
            return;
        close(c->fd);
        break;
    }
    default: {
        size_t len = rng_below(r, rng_below(r, 4) == 0 ? PIECE_MAX : 500) + 1;
        for (size_t i = 0; i < len; i++)
            bytes[i] = loop_byte(c->sent + i);
        ssize_t n = send(c->fd, bytes, len, MSG_NOSIGNAL);
        c->sent += n > 0 ? (size_t)n : 0;
        return;
    }
    }
    c->fd = -1;
}

static void side_act(struct side *s, struct rng *r)
{
    if (s->is_given_up)
        return;
    switch (rng_below(r, 12)) {
    case 0: side_close(s, false); break;
    case 1: side_close(s, true); break;
    case 2:
        if (s->sock.sending == NULL && s->out.len == 0)
            io_end_sending(&s->sock);
        break;
    case 3:
    case 4: io_recv_stop(&s->sock); break;
    case 5:
    case 6:
    case 7:
        if (s->ends == 0)
            io_recv_start(&s->sock);
        break;
    case 8: io_limit_unsent(&s->sock, (size_t)16384 << rng_below(r, 6)); break;
    default:
        if (s->sock.sending != NULL || mem_is_low(loop.mem))
            break;
        if (s->out.len == 0)
            side_append(&loop, s, 0, rng_below(r, PIECE_MAX) + 1, rng_below(r, 15000) + 1000);
        io_send(&s->sock, &s->out);
        break;
    }
}

static void nothing_is_lost_whatever_happens_when(void **state)
{
    struct client clients[CLIENTS];
    struct rng r = rng_new("io_stress");
    const char *seconds =
        getenv("WEIR_STRESS_SECONDS"); // NOLINT(concurrency-mt-unsafe): one thread
    time_t until = seconds != NULL ? time(NULL) + strtol(seconds, NULL, 10) : 0;
    loop_open(&loop, *state, LOOP_MEMORY);
    loop_listen(&loop, false);
    loop.wait_ms = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        clients[i].fd = -1;

    size_t steps = 0;
    for (; seconds != NULL ? time(NULL) < until : steps < STEPS; steps++) {
        client_act(&clients[rng_below(&r, CLIENTS)], &r);
        if (loop.side_count > 0)
            side_act(loop.sides[rng_below(&r, loop.side_count)], &r);
        if (rng_below(&r, 500) == 0)
            io_accept_pause(loop.io);
        if (rng_below(&r, 50) == 0)
            io_accept_resume(loop.io);
        if (rng_below(&r, 3) == 0) {
            io_turn(loop.io);
            reap();
        }
    }
    print_message("%zu steps\n", steps);
    for (size_t i = 0; i < CLIENTS; i++) {
        if (clients[i].fd != -1)
            close(clients[i].fd);
    }
    loop_close(&loop);
}

static struct loop_kind kinds[] = {
    {.name = "epoll", .backend = &io_epoll_backend},
    {.name = "uring", .backend = &io_uring_backend},
    {.name = "uring of an old kernel", .backend = &io_uring_backend, .without = UINT32_MAX},
    {.name = "uring with zero copy", .backend = &io_uring_backend, .zero_copy = IO_ZERO_COPY_ON},
};

int main(void)
{
    int failed = 0;
    bool has_uring = loop_has_uring();
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        if (kinds[k].backend == &io_uring_backend && !has_uring)
            continue;
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_prestate(nothing_is_lost_whatever_happens_when, &kinds[k])};
        failed += cmocka_run_group_tests_name(kinds[k].name, tests, NULL, NULL);
    }
    return failed;
}
