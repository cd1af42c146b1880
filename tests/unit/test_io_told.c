/* What the peer has not acknowledged, as each back end tells it. */
#include "cm.h"

#include <string.h>
#include <unistd.h>

#include "internal/limits.h"
#include "internal/stats.h"
#include "choose.h"
#include "io.h"
#include "listener.h"
#include "mem.h"
#include "uring.h"

#define SEND_LEN ((size_t)8 * 1024 * 1024) /* more than all buffers on the way hold */

static struct io *io;
static struct mem *mem;
static struct stats stats;
static struct listener listener;
static struct listen_address address;
static int client; /* which reads when it is told to */

static struct io_sock sock; /* the server's end */
static bool is_open;
static size_t sent;
static size_t told_count;
static size_t told;

static void on_accept(void *ctx, const struct listener *l, int handle, const struct sockaddr *peer)
{
    (void)ctx;
    (void)l;
    (void)peer;
    assert_false(is_open);
    assert_true(handle >= 0);
    assert_int_equal(io_adopt(io, &sock, handle), WEIR_OK);
    is_open = true;
}

static void on_recv(struct io_sock *s, int res, struct weir_slice data)
{
    (void)s;
    (void)res;
    weir_slice_drop(&data);
}

static void on_sent(struct io_sock *s, int res)
{
    (void)s;
    assert_true(res > 0);
    sent += (size_t)res;
}

static void on_told(struct io_sock *s, size_t unacknowledged)
{
    assert_ptr_equal(s, &sock);
    told_count++;
    told = unacknowledged;
}

static void on_closed(struct io_sock *s)
{
    assert_ptr_equal(s, &sock);
    is_open = false;
}

static void on_nothing(void *ctx)
{
    (void)ctx;
}

static int wait_ms(void *ctx)
{
    (void)ctx;
    return 10;
}

static const struct io_events events = {
    .on_accept = on_accept,
    .on_recv = on_recv,
    .on_sent = on_sent,
    .on_told = on_told,
    .on_closed = on_closed,
    .on_wake = on_nothing,
    .wait_ms = wait_ms,
    .on_waited = on_nothing,
};

/* A back end, and what it has to do without. */
struct kind {
    const struct io_backend *backend;
    unsigned without;
};

static int set_up(void **state)
{
    const struct kind *kind = *state;
    char why[160];
    is_open = false;
    sent = told_count = 0;
    assert_int_equal(mem_new((size_t)64 * 1024 * 1024, &mem), WEIR_OK);
    const struct io_env env = {.events = &events, .mem = mem, .stats = &stats};
    enum weir_err err = kind->without != 0 ? uring_open_without(&env, kind->without, &io)
                                           : io_new(kind->backend, &env, &io);
    assert_int_equal(err, WEIR_OK);
    assert_int_equal(listen_address_parse("127.0.0.1:0", &address, why, sizeof(why)), WEIR_OK);
    assert_int_equal(listen_open(&address, &listener.fd, 1), WEIR_OK);
    assert_int_equal(io_listen(io, &listener), WEIR_OK);
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, &address.addr.any, address.len), 0);
    while (!is_open)
        io_turn(io);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(client);
    io_close(&sock);
    while (is_open)
        io_turn(io);
    io_end(io);
    close(listener.fd);
    io_free(io);
    mem_free(mem);
    return 0;
}

/* Before Linux 6.7 io_uring has no way to ask. */
static bool is_told(void)
{
    return io->backend != &io_uring_backend ||
           (((struct uring *)io)->features & URING_HAS_SETSOCKOPT) != 0;
}

static size_t ask(void)
{
    size_t before = told_count;
    io_ask(&sock);
    assert_int_equal(told_count, before); /* never from within the call */
    while (told_count == before)
        io_turn(io);
    return told;
}

static void on_release(struct weir_buf *b)
{
    assert_null(b);
}

/* Until the kernel takes no more: with nobody to read, it never completes a send again. */
static void send_some(struct weir_gather *g)
{
    static uint8_t bytes[SEND_LEN];
    static struct weir_buf buf = {
        .refs = 1, .base = bytes, .cap = sizeof(bytes), .release = on_release};
    assert_int_equal(weir_gather_append(g, weir_slice_of(&buf, bytes, sizeof(bytes))), WEIR_OK);
    io_send(&sock, g);
    while (sent == 0)
        io_turn(io);
    weir_gather_consume(g, sent);
}

static void what_nobody_reads_is_not_acknowledged(void **state)
{
    (void)state;
    assert_int_equal(ask(), 0);

    struct weir_gather g;
    weir_gather_init(&g, mem);
    send_some(&g);
    size_t unread = ask();
    if (is_told())
        assert_in_range(unread, 1, sent);
    else
        assert_int_equal(unread, 0);

    char bytes[65536];
    for (size_t left = sent; left > 0;) {
        ssize_t n = read(client, bytes, left < sizeof(bytes) ? left : sizeof(bytes));
        assert_true(n > 0);
        left -= (size_t)n;
    }
    while (ask() > 0) { /* the last acknowledgement is on its way */
    }
    weir_gather_deinit(&g);
}

static void a_question_may_outlive_its_socket(void **state)
{
    const struct kind *kind = *state;
    io_ask(&sock);
    tear_down(state);
    *state = (void *)(uintptr_t)kind;
    assert_int_equal(told_count, 0);
    set_up(state);
}

#define TEST(name, kind)                                                                           \
    cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, (void *)(uintptr_t)(kind))

int main(void)
{
    static const struct kind by_epoll = {.backend = &io_epoll_backend};
    static const struct kind by_uring = {.backend = &io_uring_backend};
    static const struct kind by_old_uring = {.backend = &io_uring_backend, .without = UINT32_MAX};
    const struct CMUnitTest epoll[] = {
        TEST(what_nobody_reads_is_not_acknowledged, &by_epoll),
        TEST(a_question_may_outlive_its_socket, &by_epoll),
    };
    const struct CMUnitTest uring[] = {
        TEST(what_nobody_reads_is_not_acknowledged, &by_uring),
        TEST(a_question_may_outlive_its_socket, &by_uring),
        TEST(what_nobody_reads_is_not_acknowledged, &by_old_uring),
        TEST(a_question_may_outlive_its_socket, &by_old_uring),
    };
    const struct io_backend *best;
    char note[IO_NOTE_LEN];
    if (io_choose(IO_CHOICE_AUTO, &best, note) != WEIR_OK)
        return 1;
    int failed = cmocka_run_group_tests(epoll, NULL, NULL);
    if (best == &io_uring_backend)
        failed += cmocka_run_group_tests(uring, NULL, NULL);
    else
        printf("left out: %s\n", note);
    return failed;
}
