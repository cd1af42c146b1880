/* Sends without a copy: what is counted, what is held, and when they stop. */
#include "cm.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal/limits.h"
#include "io_loop.h"
#include "uring.h"

#define LEN ((size_t)256 * 1024)

static const struct loop_kind on = {
    .name = "on", .backend = &io_uring_backend, .zero_copy = IO_ZERO_COPY_ON};
static const struct loop_kind automatic = {
    .name = "auto", .backend = &io_uring_backend, .zero_copy = IO_ZERO_COPY_AUTO};
static const struct loop_kind off = {
    .name = "off", .backend = &io_uring_backend, .zero_copy = IO_ZERO_COPY_OFF};
static const struct loop_kind unable = {.name = "a kernel without",
                                        .backend = &io_uring_backend,
                                        .without = URING_HAS_SEND_ZC,
                                        .zero_copy = IO_ZERO_COPY_ON};

static const struct loop_kind silent = {.name = "on, without a report",
                                        .backend = &io_uring_backend,
                                        .without = URING_HAS_ZC_REPORT,
                                        .zero_copy = IO_ZERO_COPY_ON};
static const struct loop_kind silent_automatic = {.name = "auto, without a report",
                                                  .backend = &io_uring_backend,
                                                  .without = URING_HAS_ZC_REPORT,
                                                  .zero_copy = IO_ZERO_COPY_AUTO};

static bool has(unsigned feature)
{
    return (((struct uring *)loop.io)->features & feature) != 0;
}

/* Send LEN bytes while the client reads them. */
static void transfer(int fd, struct side *s)
{
    side_append(&loop, s, 0, LEN, 16000);
    side_transfer(&loop, s, fd);
}

static void pages_stay_until_the_kernel_has_done_with_them(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    if (!has(URING_HAS_SEND_ZC))
        skip();
    transfer(fd, s);
    loop_idle(&loop);
    assert_true(loop.stats.zero_copy_sends > 0);
    assert_true(loop.stats.zero_copy_notices >= loop.stats.zero_copy_sends);
    if (has(URING_HAS_ZC_REPORT)) /* over loopback they are all copied */
        assert_int_equal(loop.stats.zero_copy_copied, loop.stats.zero_copy_sends);
    else
        assert_int_equal(loop.stats.zero_copy_copied, 0);
    assert_int_equal(loop.stats.bytes_sent, LEN);
    assert_int_equal(s->sock.pending, 1); /* receiving: no notice is missing */
    close(fd);
}

static void a_connection_is_not_closed_before_the_last_notice(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct side *s;
        int fd = client_accepted(&loop, &s);
        side_append(&loop, s, 0, LEN, 16000);
        io_send(&s->sock, &s->out);
        if (i % 2 == 0)
            loop_until(&loop, &s->sends, 1);
        else if (i % 3 == 0)
            io_turn(loop.io);
        side_close(s, i % 5 == 0);
        int end = client_end(&loop, fd); /* which takes all that was sent */
        assert_true(end == (i % 5 == 0 ? ECONNRESET : 0));
        loop_until(&loop, &s->closes, 1);
        assert_int_equal(s->sock.pending, 0);
        close(fd);
    }
    /* loop_tear_down() finds what is still held */
}

static void a_peer_that_takes_nothing_is_cut_in_the_end(void **state)
{
    (void)state;
    ((struct uring *)loop.io)->leave_ms = 50;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    int sends = -1;
    while (s->sends != sends) { /* until the socket is full */
        sends = s->sends;
        if (s->sock.sending == NULL) {
            side_append(&loop, s, 0, LEN, 16000);
            io_send(&s->sock, &s->out);
        }
        loop_idle(&loop);
    }
    side_close(s, false);
    loop_until(&loop, &s->closes, 1);
    assert_int_equal(client_end(&loop, fd), ECONNRESET);
    close(fd);
}

static void small_sends_are_copied(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    side_append(&loop, s, 0, LIMIT_ZERO_COPY_MIN - 1, 16000);
    side_send_all(&loop, s);
    assert_int_equal(loop.stats.zero_copy_sends, 0);
    client_expect(&loop, fd, 0, LIMIT_ZERO_COPY_MIN - 1);
    close(fd);
}

static void nothing_is_sent_so_where_it_is_of_no_use(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    transfer(fd, s);
    assert_int_equal(loop.stats.zero_copy_sends, 0);
    close(fd);
}

/* An address of this machine that is none of loopback: it is not known to be near. */
static bool own_address(struct sockaddr_in *out)
{
    struct ifaddrs *all;
    bool is_found = false;
    if (getifaddrs(&all) == -1)
        return false;
    for (const struct ifaddrs *a = all; a != NULL; a = a->ifa_next) {
        if (a->ifa_addr == NULL || a->ifa_addr->sa_family != AF_INET ||
            (a->ifa_flags & IFF_LOOPBACK) || (a->ifa_flags & IFF_UP) == 0)
            continue;
        memcpy(out, a->ifa_addr, sizeof(*out));
        is_found = true;
    }
    freeifaddrs(all);
    return is_found;
}

/* A loop that listens there. */
static void open_elsewhere(const struct loop_kind *kind)
{
    struct sockaddr_in own = {0};
    loop_open(&loop, kind, LOOP_MEMORY);
    if (!own_address(&own)) {
        loop_close(&loop);
        print_message("no address but loopback\n");
        skip();
    }
    own.sin_port = 0;
    loop.address.len = sizeof(own);
    loop.address.addr.in = own;
    assert_int_equal(listen_open(&loop.address, &loop.listener.fd, 1), WEIR_OK);
    assert_int_equal(io_listen(loop.io, &loop.listener), WEIR_OK);
}

static void where_nothing_tells_of_copies_it_does_not_begin(void **state)
{
    open_elsewhere(*state);
    struct side *s;
    int fd = client_accepted(&loop, &s);
    transfer(fd, s);
    assert_int_equal(loop.stats.zero_copy_sends, 0);
    close(fd);
    loop_close(&loop);
}

static void where_the_kernel_copies_after_all_it_stops(void **state)
{
    open_elsewhere(*state);
    struct side *s;
    int fd = client_accepted(&loop, &s);
    transfer(fd, s);
    loop_idle(&loop);
    uint64_t sends = loop.stats.zero_copy_sends;
    assert_true(sends > 0);
    assert_int_equal(loop.stats.zero_copy_copied, sends);
    transfer(fd, s);
    assert_int_equal(loop.stats.zero_copy_sends, sends);
    close(fd);
    loop_close(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(pages_stay_until_the_kernel_has_done_with_them, &on),
        LOOP_TEST(pages_stay_until_the_kernel_has_done_with_them, &silent),
        LOOP_TEST(a_connection_is_not_closed_before_the_last_notice, &on),
        LOOP_TEST(a_peer_that_takes_nothing_is_cut_in_the_end, &on),
        LOOP_TEST(small_sends_are_copied, &on),
        LOOP_TEST(nothing_is_sent_so_where_it_is_of_no_use, &automatic),
        LOOP_TEST(nothing_is_sent_so_where_it_is_of_no_use, &off),
        LOOP_TEST(nothing_is_sent_so_where_it_is_of_no_use, &unable),
        cmocka_unit_test_prestate(where_nothing_tells_of_copies_it_does_not_begin,
                                  (void *)(uintptr_t)&silent_automatic),
        cmocka_unit_test_prestate(where_the_kernel_copies_after_all_it_stops,
                                  (void *)(uintptr_t)&automatic),
    };
    return loop_has_uring() ? cmocka_run_group_tests(tests, NULL, NULL) : LOOP_SKIPPED;
}
