/*
 * A connection between a socket and a session that are both made up: nothing that a session has to
 * say may be forgotten, however the socket takes what was said before.
 */
#include "conn.h"

#include <string.h>

#include "cm.h"
#include "internal/assert.h"
#include "mem.h"
#include "worker.h"

/* ---- a socket that takes as much as the test says ---- */

static const struct weir_gather *offered; /* what conn gave to io_send(); NULL: nothing is sent */

static enum weir_err fake_adopt(struct io *io, struct io_sock *s, int handle)
{
    (void)handle;
    s->io = io;
    return WEIR_OK;
}

static void fake_send(struct io_sock *s, struct weir_gather *g)
{
    (void)s;
    assert_null(offered);
    offered = g;
}

static void fake_limit_unsent(struct io_sock *s, size_t bytes)
{
    (void)s;
    (void)bytes;
}

static void fake_sock(struct io_sock *s)
{
    (void)s;
}

static const struct io_backend fake_io = {
    .adopt = fake_adopt,
    .recv_start = fake_sock,
    .recv_stop = fake_sock,
    .send = fake_send,
    .limit_unsent = fake_limit_unsent,
    .reset = fake_sock,
};

/* ---- a session that has as many bytes to say as the test says ---- */

struct talk {
    size_t due;
};

static enum weir_err talk_feed(void *session, const struct weir_slice *in)
{
    struct talk *t = session;
    t->due += in->len;
    return WEIR_OK;
}

static enum weir_err talk_pull(void *session, struct weir_gather *out, size_t budget)
{
    struct talk *t = session;
    uint8_t bytes[64] = {0};
    WEIR_ASSERT(t->due <= sizeof(bytes) && t->due <= budget);
    enum weir_err err = WEIR_OK;
    if (t->due > 0)
        err = weir_gather_append_copy(out, bytes, t->due);
    t->due = 0;
    return err;
}

static uint64_t talk_deadline(const void *session)
{
    (void)session;
    return PROTOCOL_NO_DEADLINE;
}

static void talk_close(void *session)
{
    (void)session;
}

static const struct protocol talk_protocol = {
    .name = "talk",
    .feed = talk_feed,
    .pull = talk_pull,
    .deadline = talk_deadline,
    .close = talk_close,
};

/* ---- the bench ---- */

struct bench {
    struct io io;
    struct worker worker;
    struct talk talk;
    struct conn *conn;
};

static int set_up(void **state)
{
    static struct bench b;
    b = (struct bench){.io.backend = &fake_io, .worker.io = &b.io};
    offered = NULL;
    assert_int_equal(mem_new((size_t)8 * 1024 * 1024, &b.worker.mem), WEIR_OK);
    list_init(&b.worker.conns);
    list_init(&b.worker.dirty);
    list_init(&b.worker.handshakes);
    b.worker.clock.now_ms = 1000;
    wheel_init(&b.worker.wheel, b.worker.clock.now_ms);
    const struct listener listener = {.speaks = LISTENER_ANY};
    assert_int_equal(conn_new(&b.worker, &listener, 0), WEIR_OK);
    b.conn = container_of(list_first(&b.worker.conns), struct conn, all);
    b.conn->protocol = &talk_protocol;
    b.conn->session = &b.talk;
    *state = &b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    conn_abort(b->conn);
    conn_on_closed(&b->conn->sock);
    assert_int_equal(mem_blocks_live(b->worker.mem), 0);
    mem_free(b->worker.mem);
    return 0;
}

/* The end of a turn of the worker's loop. */
static void end_turn(struct bench *b)
{
    if (!list_is_linked(&b->conn->dirty))
        return;
    list_remove(&b->conn->dirty);
    conn_flush(b->conn);
}

/* The kernel takes so much of what it was offered. */
static void take(struct bench *b, size_t len)
{
    assert_non_null(offered);
    assert_true(len <= offered->len);
    offered = NULL;
    conn_on_sent(&b->conn->sock, (int)len);
}

/* The session has so much to say, as it finds by itself. */
static void speak(struct bench *b, size_t len)
{
    b->talk.due += len;
    b->conn->host.wake(&b->conn->host);
}

/* The peer says so much, to which the session has as much to answer. */
static void hear(struct bench *b, size_t len)
{
    struct weir_buf *block = block_take(b->worker.mem, BLOCK_SMALL);
    assert_non_null(block);
    conn_on_recv(&b->conn->sock, (int)len, (struct weir_slice){block, block->base, len});
}

/* Let the kernel take all; gives how much that was. */
static size_t take_all(struct bench *b)
{
    size_t sum = 0;
    for (end_turn(b); offered != NULL; end_turn(b)) {
        sum += offered->len;
        take(b, offered->len);
    }
    return sum;
}

/* 20 bytes are offered, of which 12 are taken in this turn. */
static void take_a_part(struct bench *b)
{
    speak(b, 20);
    end_turn(b);
    take(b, 12);
}

static void what_is_said_while_a_rest_waits_follows_it(void **state)
{
    struct bench *b = *state;
    take_a_part(b);

    speak(b, 5);

    assert_int_equal(take_all(b), 8 + 5);
}

static void an_answer_while_a_rest_waits_follows_it(void **state)
{
    struct bench *b = *state;
    take_a_part(b);

    hear(b, 5);

    assert_int_equal(take_all(b), 8 + 5);
}

static void what_is_said_while_a_rest_is_sent_follows_it(void **state)
{
    struct bench *b = *state;
    take_a_part(b);
    end_turn(b);

    speak(b, 5);
    hear(b, 3);

    assert_int_equal(take_all(b), 8 + 5 + 3);
}

static void a_connection_that_has_said_all_is_left_alone(void **state)
{
    struct bench *b = *state;
    take_a_part(b);

    assert_int_equal(take_all(b), 8);

    assert_false(list_is_linked(&b->conn->dirty));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_said_while_a_rest_waits_follows_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_answer_while_a_rest_waits_follows_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_said_while_a_rest_is_sent_follows_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_connection_that_has_said_all_is_left_alone, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
