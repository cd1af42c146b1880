/* One table of cases over every back end: what server/io/io.h promises. */
#include "cm.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal/limits.h"
#include "io_loop.h"
#include "uring.h"

#define MANY 300 /* connections; more than there are buffers at first */
#define MIB ((size_t)1024 * 1024)
#define SMALL_MEMORY ((size_t)6 * 1024 * 1024)

static int set_up_unix(void **state)
{
    loop_open(&loop, *state, LOOP_MEMORY);
    loop_listen(&loop, true);
    return 0;
}

static int set_up_small(void **state)
{
    loop_open(&loop, *state, SMALL_MEMORY);
    loop_listen(&loop, false);
    return 0;
}

/* ---- accepting ---- */

static void each_connection_comes_with_its_peers_address(void **state)
{
    (void)state;
    int fds[MANY];
    for (size_t i = 0; i < MANY; i++)
        fds[i] = client_connect(&loop);
    loop_until_size(&loop, &loop.side_count, MANY);

    bool seen[MANY] = {false};
    for (size_t i = 0; i < MANY; i++) {
        struct sockaddr_in mine;
        socklen_t len = sizeof(mine);
        assert_int_equal(getsockname(fds[i], (struct sockaddr *)&mine, &len), 0);
        for (size_t j = 0; j < MANY; j++) {
            const struct sockaddr_in *peer = (struct sockaddr_in *)&loop.sides[j]->peer;
            if (peer->sin_port == mine.sin_port && peer->sin_addr.s_addr == mine.sin_addr.s_addr)
                seen[i] = true;
        }
        close(fds[i]);
    }
    for (size_t i = 0; i < MANY; i++)
        assert_true(seen[i]);
}

static void a_refused_connection_ends(void **state)
{
    (void)state;
    loop.refusals = 1;
    int refused = client_connect(&loop);
    client_end(&loop, refused);
    assert_int_equal(loop.refusals, 0);
    close(refused);

    struct side *s;
    int fd = client_accepted(&loop, &s);
    client_send(&loop, fd, 0, 10);
    loop_until_size(&loop, &s->received, 10);
    close(fd);
}

static void while_accepting_is_paused_connections_wait(void **state)
{
    (void)state;
    struct side *first;
    int fd = client_accepted(&loop, &first);
    io_accept_pause(loop.io);
    int fds[50];
    for (size_t i = 0; i < 50; i++)
        fds[i] = client_connect(&loop);
    loop_idle(&loop);
    assert_int_equal(loop.side_count, 1);
    client_send(&loop, fd, 0, 1000);
    loop_until_size(&loop, &first->received, 1000);

    io_accept_resume(loop.io);
    loop_until_size(&loop, &loop.side_count, 51);
    for (size_t i = 0; i < 50; i++)
        close(fds[i]);
    close(fd);
}

static void when_accepting_ends_those_who_wait_are_refused(void **state)
{
    (void)state;
    io_accept_pause(loop.io);
    int fd = client_connect(&loop);
    loop_idle(&loop);
    io_accept_end(loop.io);
    close(loop.listener.fd);
    loop.listener.fd = -1;

    client_end(&loop, fd);
    assert_int_equal(loop.side_count, 0);
    close(fd);
}

/* ---- receiving ---- */

static void bytes_come_in_order_and_are_ours_alone(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    client_send(&loop, fd, 0, 3 * MIB);
    loop_until_size(&loop, &s->received, 3 * MIB);
    assert_false(s->is_wrong);
    assert_int_equal(loop.stats.bytes_received, 3 * MIB);
    close(fd);
    loop_until(&loop, &s->ends, 1);
    assert_int_equal(s->end, 0);
}

static void what_comes_while_stopped_is_kept(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    size_t sent = 0;
    for (int round = 0; round < 20; round++) {
        io_recv_stop(&s->sock);
        size_t before = s->received;
        client_send(&loop, fd, sent, 100000);
        sent += 100000;
        loop_idle(&loop);
        assert_true(s->received <= before + BLOCK_LARGE_CAP); /* one that was under way */
        io_recv_start(&s->sock);
        io_recv_stop(&s->sock);
        io_recv_start(&s->sock);
        loop_until_size(&loop, &s->received, sent);
    }
    assert_false(s->is_wrong);
    close(fd);
}

static void an_end_that_comes_while_stopped_waits_behind_the_bytes(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    io_recv_stop(&s->sock);
    client_send(&loop, fd, 0, 50000);
    close(fd);
    loop_idle(&loop);
    assert_int_equal(s->ends, 0);

    io_recv_start(&s->sock);
    loop_until(&loop, &s->ends, 1);
    assert_int_equal(s->received, 50000);
    assert_int_equal(s->end, 0);
}

static void a_reset_by_the_peer_is_an_error(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    const struct linger none = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    close(fd);
    loop_until(&loop, &s->ends, 1);
    assert_int_equal(s->end, -ECONNRESET);
}

static void more_can_come_at_once_than_there_are_buffers(void **state)
{
    (void)state;
    int fds[MANY];
    for (size_t i = 0; i < MANY; i++)
        fds[i] = client_connect(&loop);
    loop_until_size(&loop, &loop.side_count, MANY);
    for (size_t round = 0; round < 5; round++) {
        for (size_t i = 0; i < MANY; i++)
            client_send(&loop, fds[i], round * 700, 700);
        for (size_t i = 0; i < MANY; i++)
            loop_until_size(&loop, &loop.sides[i]->received, (round + 1) * 700);
    }
    for (size_t i = 0; i < MANY; i++)
        close(fds[i]);
}

static void with_the_pool_low_bytes_wait_in_the_kernel(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    s->keeps = true;
    size_t sent = 0;
    for (int quiet = 0; quiet < 50; quiet++) {
        uint8_t chunk[4096];
        for (size_t i = 0; i < sizeof(chunk); i++)
            chunk[i] = loop_byte(sent + i);
        ssize_t n = send(fd, chunk, sizeof(chunk), 0);
        if (n > 0) {
            sent += (size_t)n;
            quiet = 0;
        }
        io_turn(loop.io);
    }
    assert_true(mem_is_low(loop.mem));
    assert_true(s->received < sent);

    s->keeps = false;
    weir_gather_consume(&s->kept, s->kept.len);
    loop_until_size(&loop, &s->received, sent);
    assert_false(s->is_wrong);
    close(fd);
}

/* ---- sending ---- */

static void a_long_list_is_sent_whole(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    side_append(&loop, s, 0, 600000, 300); /* 2,000 slices: more than one call takes */
    io_send(&s->sock, &s->out);
    loop_until(&loop, &s->sends, 1);
    assert_true(s->sent > 0 && s->sent < 600000);
    size_t before = (size_t)s->sent;
    client_expect(&loop, fd, 0, before);
    while (s->out.len > 0) {
        int sends = s->sends;
        io_send(&s->sock, &s->out);
        loop_until(&loop, &s->sends, sends + 1);
        client_expect(&loop, fd, before, (size_t)s->sent);
        before += (size_t)s->sent;
    }
    assert_int_equal(before, 600000);
    assert_int_equal(loop.stats.bytes_sent, 600000);
    assert_true(loop.stats.iovecs_max <= LIMIT_IOVECS);
    close(fd);
}

static void what_the_peer_does_not_take_waits(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    io_limit_unsent(&s->sock, (size_t)128 * 1024);
    size_t appended = 0;
    int sends = 0;
    for (int quiet = 0; quiet < 30;) { /* until the socket is full */
        if (s->sock.sending == NULL) {
            side_append(&loop, s, appended, 16000, 16000);
            appended += 16000;
            io_send(&s->sock, &s->out);
        }
        io_turn(loop.io);
        quiet = s->sends == sends ? quiet + 1 : 0;
        sends = s->sends;
    }
    size_t unsent = s->out.len;
    assert_true(unsent > 0);
    client_send(&loop, fd, 0, 5000); /* the other direction goes on */
    loop_until_size(&loop, &s->received, 5000);

    client_expect(&loop, fd, 0, appended - unsent);
    loop_until(&loop, &s->sends, sends + 1);
    side_send_all(&loop, s);
    client_expect(&loop, fd, appended - unsent, unsent);
    close(fd);
}

static void after_our_fin_the_peer_can_still_send(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    side_append(&loop, s, 0, 5000, 5000);
    side_send_all(&loop, s);
    io_end_sending(&s->sock);
    client_expect(&loop, fd, 0, 5000);
    assert_int_equal(client_end(&loop, fd), 0);
    client_send(&loop, fd, 0, 5000);
    loop_until_size(&loop, &s->received, 5000);
    close(fd);
    loop_until(&loop, &s->ends, 1);
    assert_int_equal(s->end, 0);
}

static void release_map(struct weir_buf *b)
{
    munmap(b->base, b->cap);
}

/* What the connection makes of it is its business: here it is told how far the bytes went. */
static void a_file_that_shrinks_is_a_short_write_and_a_fault(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int file = memfd_create("shrinks", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, (off_t)(4 * page)), 0);
    struct weir_buf b = {.refs = 1, .cap = 4 * page, .release = release_map};
    b.base = mmap(NULL, b.cap, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (size_t i = 0; i < b.cap; i++)
        b.base[i] = loop_byte(i);
    assert_int_equal(weir_gather_append(&s->out, (struct weir_slice){&b, b.base, b.cap}), WEIR_OK);
    assert_int_equal(ftruncate(file, (off_t)page), 0);

    size_t sent = 0;
    do {
        int sends = s->sends;
        io_send(&s->sock, &s->out);
        loop_until(&loop, &s->sends, sends + 1);
        sent += s->sent > 0 ? (size_t)s->sent : 0;
    } while (s->sent > 0);
    assert_int_equal(s->sent, -EFAULT);
    assert_true(sent <= page);
    client_expect(&loop, fd, 0, sent);
    close(file);
    close(fd);
}

/* ---- ends ---- */

static void a_close_ends_what_is_under_way(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    int sends = -1;
    while (s->sends != sends) { /* until the socket is full and a send hangs */
        side_append(&loop, s, 0, 16000, 16000);
        if (s->sock.sending == NULL)
            io_send(&s->sock, &s->out);
        sends = s->sends;
        loop_idle(&loop);
    }
    client_send(&loop, fd, 0, 100);
    side_close(s, false);
    sends = s->sends;
    loop_until(&loop, &s->closes, 1);
    loop_idle(&loop);
    assert_int_equal(s->closes, 1);
    assert_int_equal(s->sends, sends);
    close(fd);
}

static void a_reset_throws_away_what_is_unsent(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    side_append(&loop, s, 0, 16000, 16000);
    side_send_all(&loop, s);
    side_close(s, true);
    loop_until(&loop, &s->closes, 1);
    assert_int_equal(client_end(&loop, fd), ECONNRESET);
    close(fd);
}

static void closing_one_leaves_the_next_alone(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct side *s;
        int fd = client_accepted(&loop, &s);
        side_append(&loop, s, 0, 100, 100);
        side_send_all(&loop, s);
        io_end_sending(&s->sock);
        if (i % 2 == 0)
            io_turn(loop.io);
        if (i % 5 == 0)
            io_end_sending(&s->sock);
        side_close(s, i % 3 == 0);

        struct side *next;
        int fd_next = client_accepted(&loop, &next);
        client_send(&loop, fd_next, 0, 100);
        loop_until_size(&loop, &next->received, 100);
        side_append(&loop, next, 0, 100, 100);
        side_send_all(&loop, next);
        client_expect(&loop, fd_next, 0, 100);
        assert_int_equal(next->ends, 0);
        close(fd);
        close(fd_next);
    }
}

static void a_unix_socket_is_like_any_other(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    assert_int_equal(s->peer.ss_family, AF_UNIX);
    io_limit_unsent(&s->sock, 100000);
    client_send(&loop, fd, 0, MIB);
    loop_until_size(&loop, &s->received, MIB);
    side_append(&loop, s, 0, 50000, 10000);
    side_send_all(&loop, s);
    client_expect(&loop, fd, 0, 50000);
    side_close(s, true);
    loop_until(&loop, &s->closes, 1);
    client_end(&loop, fd);
    close(fd);
}

/* ---- waiting ---- */

static void *wake_often(void *arg)
{
    for (int i = 0; i < 1000; i++)
        io_wake(arg);
    return NULL;
}

static void another_thread_can_wake_the_loop(void **state)
{
    (void)state;
    loop.wait_ms = -1;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wake_often, loop.io), 0);
    loop_until(&loop, &loop.wakes, 1);
    pthread_join(thread, NULL);
    int before = loop.wakes;
    io_wake(loop.io);
    loop_until(&loop, &loop.wakes, before + 1);
    loop.wait_ms = 0;
}

static void a_wait_ends_when_its_time_is_over(void **state)
{
    (void)state;
    static const int times[] = {0, 1, 5};
    for (size_t i = 0; i < 3; i++) {
        loop.wait_ms = times[i];
        int before = loop.waits;
        io_turn(loop.io);
        assert_int_equal(loop.waits, before + 1);
    }
}

/* ---- the table ---- */

#define ALL_FEATURES UINT32_MAX

static struct loop_kind kinds[] = {
    {.name = "epoll", .backend = &io_epoll_backend},
    {.name = "uring", .backend = &io_uring_backend},
    {.name = "uring of an old kernel", .backend = &io_uring_backend, .without = ALL_FEATURES},
    {.name = "uring before Linux 6.1",
     .backend = &io_uring_backend,
     .without = URING_HAS_DEFER_TASKRUN | URING_HAS_SEND_ZC},
    {.name = "uring before Linux 6.7",
     .backend = &io_uring_backend,
     .without = URING_HAS_SETSOCKOPT | URING_HAS_RECV_CAP},
    {.name = "uring with zero copy", .backend = &io_uring_backend, .zero_copy = IO_ZERO_COPY_ON},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, name, loop_set_up, loop_tear_down, NULL                                             \
    }
static const struct CMUnitTest cases[] = {
    CASE(each_connection_comes_with_its_peers_address),
    CASE(a_refused_connection_ends),
    CASE(while_accepting_is_paused_connections_wait),
    CASE(when_accepting_ends_those_who_wait_are_refused),
    CASE(bytes_come_in_order_and_are_ours_alone),
    CASE(what_comes_while_stopped_is_kept),
    CASE(an_end_that_comes_while_stopped_waits_behind_the_bytes),
    CASE(a_reset_by_the_peer_is_an_error),
    CASE(more_can_come_at_once_than_there_are_buffers),
    {"with_the_pool_low_bytes_wait_in_the_kernel", with_the_pool_low_bytes_wait_in_the_kernel,
     set_up_small, loop_tear_down, NULL},
    CASE(a_long_list_is_sent_whole),
    CASE(what_the_peer_does_not_take_waits),
    CASE(after_our_fin_the_peer_can_still_send),
    CASE(a_file_that_shrinks_is_a_short_write_and_a_fault),
    CASE(a_close_ends_what_is_under_way),
    CASE(a_reset_throws_away_what_is_unsent),
    CASE(closing_one_leaves_the_next_alone),
    {"a_unix_socket_is_like_any_other", a_unix_socket_is_like_any_other, set_up_unix,
     loop_tear_down, NULL},
    CASE(another_thread_can_wake_the_loop),
    CASE(a_wait_ends_when_its_time_is_over),
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* With an argument, only the cases of that name (a pattern of cmocka's). */
int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = 0;
    bool has_uring = loop_has_uring();
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].backend == &io_uring_backend && !has_uring)
            continue;
        struct CMUnitTest tests[CASES];
        memcpy(tests, cases, sizeof(tests));
        for (size_t i = 0; i < CASES; i++)
            tests[i].initial_state = &kinds[k];
        print_message("---- %s\n", kinds[k].name);
        failed += cmocka_run_group_tests_name(kinds[k].name, tests, NULL, NULL);
    }
    return failed;
}
