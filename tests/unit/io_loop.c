/* See io_loop.h. */
#include "cm.h"

#include "io_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "choose.h"
#include "internal/assert.h"
#include "uring.h"

#define PATIENCE_MS 10000
#define CHUNK 16384

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- events ---- */

static void on_accept(void *ctx, const struct listener *listener, int handle,
                      const struct sockaddr *peer)
{
    struct loop *l = ctx;
    assert_ptr_equal(listener, &l->listener);
    if (handle < 0) {
        l->accept_errors++;
        return;
    }
    if (l->refusals > 0) {
        l->refusals--;
        io_refuse(l->io, handle);
        return;
    }
    struct side *s = aligned_alloc(IO_SOCK_ALIGN, sizeof(*s));
    assert_non_null(s);
    memset(s, 0, sizeof(*s));
    if (peer->sa_family == AF_INET)
        memcpy(&s->peer, peer, sizeof(struct sockaddr_in));
    else
        s->peer.ss_family = peer->sa_family;
    weir_gather_init(&s->out, l->mem);
    weir_gather_init(&s->kept, l->mem);
    assert_true(l->side_count < sizeof(l->sides) / sizeof(l->sides[0]));
    l->sides[l->side_count++] = s;
    assert_int_equal(io_adopt(l->io, &s->sock, handle), WEIR_OK);
    io_recv_start(&s->sock);
}

static void on_recv(struct io_sock *sock, int res, struct weir_slice data)
{
    struct side *s = container_of(sock, struct side, sock);
    assert_int_equal(s->closes, 0);
    assert_int_equal(s->ends, 0);
    if (res <= 0) {
        s->ends++;
        s->end = res;
        return;
    }
    assert_int_equal(res, data.len);
    s->is_wrong = s->is_wrong || data.buf->refs != 1;
    for (size_t i = 0; i < data.len; i++)
        s->is_wrong = s->is_wrong || data.ptr[i] != loop_byte(s->received + i);
    s->received += data.len;
    if (s->keeps)
        assert_int_equal(weir_gather_append(&s->kept, data), WEIR_OK);
    else
        weir_slice_drop(&data);
}

static void on_sent(struct io_sock *sock, int res)
{
    struct side *s = container_of(sock, struct side, sock);
    assert_int_equal(s->closes, 0);
    s->sends++;
    s->sent = res;
    if (res > 0)
        weir_gather_consume(&s->out, (size_t)res);
}

static void on_closed(struct io_sock *sock)
{
    struct side *s = container_of(sock, struct side, sock);
    s->closes++;
    weir_gather_deinit(&s->out);
    weir_gather_deinit(&s->kept);
}

static void on_wake(void *ctx)
{
    struct loop *l = ctx;
    l->wakes++;
}

static int wait_ms(void *ctx)
{
    const struct loop *l = ctx;
    return l->wait_ms;
}

static void on_waited(void *ctx)
{
    struct loop *l = ctx;
    l->waits++;
}

static const struct io_events events = {
    .on_accept = on_accept,
    .on_recv = on_recv,
    .on_sent = on_sent,
    .on_closed = on_closed,
    .on_wake = on_wake,
    .wait_ms = wait_ms,
    .on_waited = on_waited,
};

/* ---- the loop ---- */

bool loop_has_uring(void)
{
    const struct io_backend *backend;
    char note[IO_NOTE_LEN];
    if (io_choose(IO_CHOICE_URING, &backend, note) == WEIR_OK)
        return true;
    print_message("%s\n", note);
    return false;
}

void loop_open(struct loop *l, const struct loop_kind *kind, size_t memory)
{
    memset(l, 0, sizeof(*l));
    l->listener.fd = -1;
    l->wait_ms = 1;
    assert_int_equal(mem_new(memory, &l->mem), WEIR_OK);
    const struct io_env env = {
        .events = &events,
        .ctx = l,
        .mem = l->mem,
        .stats = &l->stats,
        .zero_copy = kind->zero_copy,
    };
    enum weir_err err = kind->without != 0 ? uring_open_without(&env, kind->without, &l->io)
                                           : io_new(kind->backend, &env, &l->io);
    assert_int_equal(err, WEIR_OK);
}

static int open_unix_without_name(struct listen_address *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    a->addr.un.sun_family = AF_UNIX;
    assert_int_equal(bind(fd, &a->addr.any, sizeof(sa_family_t)), 0); /* the kernel finds a name */
    a->len = sizeof(a->addr.un);
    assert_int_equal(getsockname(fd, &a->addr.any, &a->len), 0);
    assert_int_equal(listen(fd, 512), 0);
    return fd;
}

void loop_listen(struct loop *l, bool is_unix)
{
    if (is_unix) {
        l->listener.fd = open_unix_without_name(&l->address);
    } else {
        char why[160];
        assert_int_equal(listen_address_parse("127.0.0.1:0", &l->address, why, sizeof(why)),
                         WEIR_OK);
        assert_int_equal(listen_open(&l->address, &l->listener.fd, 1), WEIR_OK);
    }
    assert_int_equal(io_listen(l->io, &l->listener), WEIR_OK);
}

void loop_close(struct loop *l)
{
    io_accept_end(l->io);
    for (size_t i = 0; i < l->side_count; i++) {
        if (!l->sides[i]->is_given_up)
            side_close(l->sides[i], false);
    }
    for (size_t i = 0; i < l->side_count; i++)
        loop_until(l, &l->sides[i]->closes, 1);
    loop_idle(l);
    for (size_t i = 0; i < l->side_count; i++) {
        assert_int_equal(l->sides[i]->closes, 1);
        assert_false(l->sides[i]->is_wrong);
        free(l->sides[i]);
    }
    io_end(l->io);
    assert_int_equal(mem_live(l->mem), 0);
    io_free(l->io);
    mem_free(l->mem);
    if (l->listener.fd != -1)
        close(l->listener.fd);
}

struct loop loop;

int loop_set_up(void **state)
{
    loop_open(&loop, *state, LOOP_MEMORY);
    loop_listen(&loop, false);
    return 0;
}

int loop_tear_down(void **state)
{
    (void)state;
    loop_close(&loop);
    return 0;
}

void loop_until(struct loop *l, const int *value, int least)
{
    for (uint64_t end = now_ms() + PATIENCE_MS; *value < least;) {
        assert_true(now_ms() < end);
        io_turn(l->io);
    }
}

void loop_until_size(struct loop *l, const size_t *value, size_t least)
{
    for (uint64_t end = now_ms() + PATIENCE_MS; *value < least;) {
        assert_true(now_ms() < end);
        io_turn(l->io);
    }
}

void loop_idle(struct loop *l)
{
    for (int i = 0; i < 20; i++)
        io_turn(l->io);
}

/* ---- clients ---- */

int client_connect(struct loop *l)
{
    int fd = socket(l->address.addr.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd != -1);
    assert_int_equal(connect(fd, &l->address.addr.any, l->address.len), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

int client_accepted(struct loop *l, struct side **out)
{
    size_t before = l->side_count;
    int fd = client_connect(l);
    loop_until_size(l, &l->side_count, before + 1);
    *out = l->sides[before];
    return fd;
}

void client_send(struct loop *l, int fd, size_t at, size_t len)
{
    uint8_t chunk[CHUNK];
    for (uint64_t end = now_ms() + PATIENCE_MS; len > 0;) {
        size_t n = len < sizeof(chunk) ? len : sizeof(chunk);
        for (size_t i = 0; i < n; i++)
            chunk[i] = loop_byte(at + i);
        ssize_t sent = send(fd, chunk, n, MSG_NOSIGNAL);
        if (sent == -1) {
            assert_int_equal(errno, EAGAIN);
            assert_true(now_ms() < end);
            io_turn(l->io);
            continue;
        }
        at += (size_t)sent;
        len -= (size_t)sent;
    }
}

void client_expect(struct loop *l, int fd, size_t at, size_t len)
{
    uint8_t chunk[CHUNK];
    for (uint64_t end = now_ms() + PATIENCE_MS; len > 0;) {
        ssize_t n = recv(fd, chunk, len < sizeof(chunk) ? len : sizeof(chunk), 0);
        if (n == -1) {
            assert_int_equal(errno, EAGAIN);
            assert_true(now_ms() < end);
            io_turn(l->io);
            continue;
        }
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++)
            assert_int_equal(chunk[i], loop_byte(at + (size_t)i));
        at += (size_t)n;
        len -= (size_t)n;
    }
}

int client_end(struct loop *l, int fd)
{
    uint8_t chunk[CHUNK];
    for (uint64_t end = now_ms() + PATIENCE_MS;;) {
        ssize_t n = recv(fd, chunk, sizeof(chunk), 0);
        if (n == 0)
            return 0;
        if (n == -1 && errno != EAGAIN)
            return errno;
        assert_true(now_ms() < end);
        if (n == -1)
            io_turn(l->io);
    }
}

/* ---- the server's side ---- */

void side_append(struct loop *l, struct side *s, size_t at, size_t len, size_t slice)
{
    while (len > 0) {
        struct weir_buf *b = block_take(l->mem, BLOCK_LARGE);
        assert_non_null(b);
        size_t n = len < slice ? len : slice;
        assert_true(n <= b->cap);
        for (size_t i = 0; i < n; i++)
            b->base[i] = loop_byte(at + i);
        assert_int_equal(weir_gather_append(&s->out, (struct weir_slice){b, b->base, n}), WEIR_OK);
        at += n;
        len -= n;
    }
}

void side_close(struct side *s, bool by_reset)
{
    assert_false(s->is_given_up);
    s->is_given_up = true;
    if (by_reset)
        io_reset(&s->sock);
    else
        io_close(&s->sock);
}

void side_send_all(struct loop *l, struct side *s)
{
    while (s->out.len > 0) {
        int before = s->sends;
        io_send(&s->sock, &s->out);
        loop_until(l, &s->sends, before + 1);
        assert_true(s->sent > 0);
    }
}

void side_transfer(struct loop *l, struct side *s, int fd)
{
    for (size_t got = 0; s->out.len > 0; got += (size_t)s->sent) {
        int before = s->sends;
        io_send(&s->sock, &s->out);
        loop_until(l, &s->sends, before + 1);
        client_expect(l, fd, got, (size_t)s->sent);
    }
}
