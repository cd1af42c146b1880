/* Sends from memory that is pinned in advance: which ones, how much of it, and without it. */
#include "cm.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal/limits.h"
#include "io_loop.h"
#include "uring.h"

#define MIB ((size_t)1024 * 1024)
#define LEN (MIB / 4)
#define RUN_LEN ((size_t)128 * 1024) /* of bytes in one piece: as long as the pool has them */

static const struct loop_kind lists = {
    .name = "lists", .backend = &io_uring_backend, .zero_copy = IO_ZERO_COPY_ON};
static const struct loop_kind runs = {.name = "before Linux 6.15",
                                      .backend = &io_uring_backend,
                                      .without = URING_HAS_FIXED_LISTS,
                                      .zero_copy = IO_ZERO_COPY_ON};
static const struct loop_kind none = {.name = "without registered buffers",
                                      .backend = &io_uring_backend,
                                      .without = URING_HAS_FIXED | URING_HAS_FIXED_LISTS,
                                      .zero_copy = IO_ZERO_COPY_ON};

static struct uring *uring(void)
{
    return (struct uring *)loop.io;
}

static void skip_without(unsigned features)
{
    if ((uring()->features & features) != features)
        skip();
}

/* ---- what is sent ---- */

static void transfer_blocks(int fd, struct side *s)
{
    side_append(&loop, s, 0, LEN, 16000);
    side_transfer(&loop, s, fd);
}

static int releases;

static void run_release(struct weir_buf *b)
{
    (void)b;
    releases++;
}

/* The same with bytes in one piece. */
static void transfer_run(int fd, struct side *s, uint8_t *bytes)
{
    struct weir_buf buf = {.refs = 1, .base = bytes, .cap = RUN_LEN, .release = run_release};
    for (size_t i = 0; i < RUN_LEN; i++)
        bytes[i] = loop_byte(i);
    releases = 0;
    assert_int_equal(weir_gather_append(&s->out, (struct weir_slice){&buf, bytes, RUN_LEN}),
                     WEIR_OK);
    side_transfer(&loop, s, fd);
    loop_until(&loop, &releases, 1); /* all notices have come */
}

static void a_list_of_blocks_goes_from_pinned_memory(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC | URING_HAS_FIXED_LISTS);
    transfer_blocks(fd, s);
    transfer_blocks(fd, s);
    assert_true(loop.stats.zero_copy_fixed > 0);
    assert_int_equal(loop.stats.zero_copy_fixed, loop.stats.zero_copy_sends);
    close(fd);
}

static void nothing_is_pinned_that_the_pool_has_not_touched(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC | URING_HAS_FIXED_LISTS);
    assert_int_equal(loop.stats.zero_copy_pinned, 0);
    transfer_blocks(fd, s);
    const struct arena *arena = &loop.mem->arena;
    assert_true(loop.stats.zero_copy_pinned > 0);
    assert_true(loop.stats.zero_copy_pinned < arena->spans_used * ARENA_SPAN_LEN + 2 * MIB);
    assert_true(loop.stats.zero_copy_pinned < arena->spans * ARENA_SPAN_LEN / 2);
    assert_int_equal(loop.stats.calls.io_uring_register, 1);
    close(fd);
}

/* The same while 20 MiB more of the pool are in use. */
static void transfer_from_far(int fd, struct side *s)
{
    struct weir_buf *taken[1200];
    for (size_t i = 0; i < 1200; i++) {
        taken[i] = block_take(loop.mem, BLOCK_LARGE);
        assert_non_null(taken[i]);
    }
    transfer_blocks(fd, s);
    for (size_t i = 0; i < 1200; i++)
        weir_buf_unref(&taken[i]);
}

static void what_is_pinned_follows_what_the_pool_hands_out(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC | URING_HAS_FIXED_LISTS);
    transfer_blocks(fd, s);
    uint64_t before = loop.stats.zero_copy_pinned;
    transfer_from_far(fd, s);
    assert_true(loop.stats.zero_copy_pinned > before + 10 * MIB);
    assert_int_equal(loop.stats.zero_copy_fixed, loop.stats.zero_copy_sends);
    close(fd);
}

static void a_little_more_waits_until_it_is_missed_often(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC | URING_HAS_FIXED_LISTS);
    transfer_from_far(fd, s);
    struct uring_fixed *f = &uring()->fixed;
    f->len = loop.mem->arena.spans_used * ARENA_SPAN_LEN / (2 * MIB) * (2 * MIB);
    uint8_t *runs_taken[64];
    size_t count = 0;
    do /* until one is beyond, by a little */
        runs_taken[count] = mem_take(loop.mem, RUN_LEN);
    while (runs_taken[count++] < loop.mem->arena.base + f->len && count < 64);
    uint64_t calls = loop.stats.calls.io_uring_register;
    uint64_t fixed = loop.stats.zero_copy_fixed;
    int rounds = 0;
    for (; loop.stats.zero_copy_fixed == fixed && rounds < 1000; rounds++)
        transfer_run(fd, s, runs_taken[count - 1]);
    while (count > 0)
        mem_give(runs_taken[--count]);
    assert_true(rounds > 1 && rounds < 1000);
    assert_int_equal(loop.stats.calls.io_uring_register, calls + 1);
    close(fd);
}

static void a_run_of_bytes_needs_no_newer_kernel(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC | URING_HAS_FIXED);
    transfer_blocks(fd, s);
    assert_int_equal(loop.stats.zero_copy_fixed, 0);
    uint64_t lists_sent = loop.stats.zero_copy_sends;
    uint8_t *bytes = mem_take(loop.mem, RUN_LEN);
    transfer_run(fd, s, bytes);
    mem_give(bytes);
    assert_true(loop.stats.zero_copy_fixed > 0);
    assert_int_equal(loop.stats.zero_copy_fixed, loop.stats.zero_copy_sends - lists_sent);
    close(fd);
}

static void bytes_from_elsewhere_go_as_they_are(void **state)
{
    (void)state;
    static uint8_t bytes[RUN_LEN];
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC);
    transfer_run(fd, s, bytes);
    assert_true(loop.stats.zero_copy_sends > 0);
    assert_int_equal(loop.stats.zero_copy_fixed, 0);
    assert_int_equal(loop.stats.zero_copy_pinned, 0);
    close(fd);
}

static void without_buffers_all_goes_as_it_is(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC);
    transfer_blocks(fd, s);
    assert_true(loop.stats.zero_copy_sends > 0);
    assert_int_equal(loop.stats.zero_copy_fixed, 0);
    assert_int_equal(loop.stats.calls.io_uring_register, 0);
    close(fd);
}

static void when_the_kernel_will_not_send_from_there_all_goes_as_it_is(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC | URING_HAS_FIXED_LISTS);
    uring()->fixed.len = uring()->fixed.max; /* which is not true */
    transfer_blocks(fd, s);
    transfer_blocks(fd, s);
    assert_int_equal(loop.stats.zero_copy_unpinned, 1);
    assert_int_equal(loop.stats.zero_copy_fixed, 0);
    assert_true(loop.stats.zero_copy_sends > 0);
    close(fd);
}

/* ---- limits of what may be pinned ---- */

static struct rlimit limit_before;
static struct __user_cap_data_struct caps_before[_LINUX_CAPABILITY_U32S_3];

static void caps_call(long call, struct __user_cap_data_struct *caps)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    assert_int_equal(syscall(call, &header, caps), 0);
}

static void limit_set(rlim_t soft)
{
    const struct rlimit limit = {.rlim_cur = soft, .rlim_max = limit_before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

/* As a user like any other, who may pin no more than most systems allow. */
static int set_up_limited(void **state)
{
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &limit_before), 0);
    limit_set(limit_before.rlim_max < 8 * MIB ? limit_before.rlim_max : 8 * MIB);
    caps_call(SYS_capget, caps_before);
    struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];
    memcpy(caps, caps_before, sizeof(caps));
    caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective &= ~(uint32_t)CAP_TO_MASK(CAP_IPC_LOCK);
    caps_call(SYS_capset, caps);
    return loop_set_up(state);
}

static int tear_down_limited(void **state)
{
    int rv = loop_tear_down(state);
    limit_set(limit_before.rlim_cur);
    caps_call(SYS_capset, caps_before);
    return rv;
}

static void half_of_a_limit_is_left_to_others(void **state)
{
    (void)state;
    skip_without(URING_HAS_FIXED);
    if (limit_before.rlim_max < 8 * MIB)
        skip();
    assert_int_equal(uring()->fixed.max, 4 * MIB);
}

static void when_no_more_may_be_pinned_it_is_tried_once(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    skip_without(URING_HAS_SEND_ZC | URING_HAS_FIXED_LISTS);
    uring()->fixed.max = LOOP_MEMORY; /* as if the limit had been higher when it was looked at */
    transfer_from_far(fd, s);         /* which takes more than it is */
    transfer_from_far(fd, s);
    assert_int_equal(loop.stats.zero_copy_unpinned, 1);
    assert_int_equal(loop.stats.calls.io_uring_register, 1);
    assert_int_equal(loop.stats.zero_copy_fixed, 0);
    assert_true(loop.stats.zero_copy_sends > 0);
    close(fd);
}

static void when_nothing_may_be_pinned_all_is_sent_still(void **state)
{
    (void)state;
    struct side *s;
    int fd = client_accepted(&loop, &s);
    limit_set(0);
    transfer_blocks(fd, s); /* where the kernel counts what a send pins; 6.1 does not for lists */
    assert_int_equal(loop.stats.zero_copy_fixed, 0);
    assert_int_equal(loop.stats.bytes_sent, LEN);
    close(fd);
}

#define TEST_LIMITED(name)                                                                         \
    cmocka_unit_test_prestate_setup_teardown(name, set_up_limited, tear_down_limited,              \
                                             (void *)(uintptr_t)(&lists))

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(a_list_of_blocks_goes_from_pinned_memory, &lists),
        LOOP_TEST(nothing_is_pinned_that_the_pool_has_not_touched, &lists),
        LOOP_TEST(what_is_pinned_follows_what_the_pool_hands_out, &lists),
        LOOP_TEST(a_little_more_waits_until_it_is_missed_often, &lists),
        LOOP_TEST(a_run_of_bytes_needs_no_newer_kernel, &runs),
        LOOP_TEST(bytes_from_elsewhere_go_as_they_are, &lists),
        LOOP_TEST(without_buffers_all_goes_as_it_is, &none),
        LOOP_TEST(when_the_kernel_will_not_send_from_there_all_goes_as_it_is, &lists),
        TEST_LIMITED(half_of_a_limit_is_left_to_others),
        TEST_LIMITED(when_no_more_may_be_pinned_it_is_tried_once),
        TEST_LIMITED(when_nothing_may_be_pinned_all_is_sent_still),
    };
    return loop_has_uring() ? cmocka_run_group_tests(tests, NULL, NULL) : LOOP_SKIPPED;
}
