/*
 * What a connection keeps while nothing happens on it, by the count of the pools, and the memory
 * that connections share.
 */
#include "cm.h"

#include "h2_peer.h"

/*
 * Bytes of one connection more, beside those that are connected.  What is nghttp2's own: a session
 * of 3 KiB, its table of streams of 4 KiB, three rings of 1 KiB for HPACK, an encoder of 1 KiB.
 */
#define FRESH_MAX ((size_t)13824)       /* SETTINGS have been exchanged */
#define ANSWERED_MAX ((size_t)14848)    /* and a request was answered */
#define AFTER_BURST_MAX ((size_t)15360) /* and many at once */

#define BURST 64

static struct peer first;
static struct peer second;

static void start(struct peer *p, struct mem *mem)
{
    assert_int_equal(peer_init_in(p, mem), WEIR_OK);
    peer_hello(p);
    peer_settings_ack(p);
    peer_turn(p);
    assert_int_equal(p->fed, WEIR_OK);
    assert_int_equal(p->pulled, WEIR_OK);
}

static void assert_answered(struct peer *p, uint32_t id, size_t len)
{
    assert_true(peer_seen(p, id)->has_ended);
    assert_int_equal(peer_seen(p, id)->body_len, len);
}

static void an_idle_connection_keeps_little(void **state)
{
    (void)state;
    struct mem *mem = peer_memory();
    start(&first, mem);
    size_t without = mem_live_bytes(mem);

    start(&second, mem);
    size_t fresh = mem_live_bytes(mem) - without;
    peer_get(&second, 1, "/size?300");
    peer_turn(&second);
    size_t answered = mem_live_bytes(mem) - without;
    for (uint32_t i = 1; i <= BURST; i++)
        peer_get(&second, 2 * i + 1, "/size?300");
    peer_turn(&second);
    size_t after_burst = mem_live_bytes(mem) - without;

    printf("fresh %zu, answered %zu, after a burst %zu\n", fresh, answered, after_burst);
    assert_answered(&second, 1, 300);
    assert_answered(&second, 2 * BURST + 1, 300);
    assert_true(fresh <= FRESH_MAX);
    assert_true(answered <= ANSWERED_MAX);
    assert_true(after_burst <= AFTER_BURST_MAX);
    (void)peer_end(&second); /* the first one still holds memory */
    assert_int_equal(mem_live_bytes(mem), without);
    assert_true(peer_deinit(&first));
}

/* Ask for bodies of lengths that tell the connections, and streams, from each other. */
static void ask(struct peer *p, uint32_t first_id, size_t base_len)
{
    for (uint32_t i = 0; i < 8; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/size?%zu", base_len + i);
        peer_get(p, first_id + 2 * i, path);
    }
    p->budget = 1000;
    p->is_slow = true;
    peer_send(p);
}

static void frames_that_wait_are_not_those_of_others(void **state)
{
    (void)state;
    struct mem *mem = peer_memory();
    start(&first, mem);
    start(&second, mem);
    ask(&first, 1, 5000);
    ask(&second, 101, 3000);

    bool was_blocked = false;
    do {
        peer_pull(&first);
        peer_pull(&second);
        was_blocked |= first.pulled == WEIR_AGAIN && second.pulled == WEIR_AGAIN;
        peer_take(&first, first.out.len);
        peer_take(&second, second.out.len);
    } while (first.pulled == WEIR_AGAIN || second.pulled == WEIR_AGAIN);

    assert_true(was_blocked);
    for (uint32_t i = 0; i < 8; i++) {
        assert_answered(&first, 1 + 2 * i, 5000 + i);
        assert_answered(&second, 101 + 2 * i, 3000 + i);
    }
    (void)peer_end(&second); /* the first one still holds memory */
    assert_true(peer_deinit(&first));
}

static void a_frame_that_waits_dies_with_its_connection(void **state)
{
    (void)state;
    peer_start(&first);
    ask(&first, 1, 5000);
    peer_pull(&first);
    assert_int_equal(first.pulled, WEIR_AGAIN);

    assert_true(peer_deinit(&first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_connection_keeps_little),
        cmocka_unit_test(frames_that_wait_are_not_those_of_others),
        cmocka_unit_test(a_frame_that_waits_dies_with_its_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
