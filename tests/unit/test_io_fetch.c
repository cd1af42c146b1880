/* Work off the loop: what completes, when, and what its end leaves. */
#include "cm.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "choose.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "internal/stats.h"
#include "io.h"
#include "mem.h"
#include "uring.h"

#define FETCHES (4 * LIMIT_HELPERS)
#define WAITING (LIMIT_HELPERS - LIMIT_HELPERS_QUICK)

/* A gate that a fetch waits at. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_open;
};

struct gated {
    struct fetch fetch;
    struct gate *gate;
    pthread_t ran_in;
    int result; /* what done was given */
    int rank;   /* how many were done before it; -1: not done */
};

static struct io *io;
static struct mem *mem;
static struct stats stats;
static int done_count;
static bool is_in_turn;

static void on_wake(void *ctx)
{
    (void)ctx;
}

static int wait_ms(void *ctx)
{
    (void)ctx;
    return -1;
}

static const struct io_events events = {
    .on_wake = on_wake, .wait_ms = wait_ms, .on_waited = on_wake};

static void turn(void)
{
    is_in_turn = true;
    io_turn(io);
    is_in_turn = false;
}

static enum weir_err open_without_madvise(const struct io_env *env, struct io **out)
{
    return uring_open_without(env, URING_HAS_MADVISE, out);
}

/* Where helper threads make pages resident, as sandboxes that filter operations want it. */
static const struct io_backend io_uring_without_madvise = {.open = open_without_madvise};

static int set_up(void **state)
{
    const struct io_backend *backend = *state;
    done_count = 0;
    assert_int_equal(mem_new((size_t)16 * 1024 * 1024, &mem), WEIR_OK);
    const struct io_env env = {.events = &events, .mem = mem, .stats = &stats};
    assert_int_equal(io_new(backend, &env, &io), WEIR_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    io_free(io);
    mem_free(mem);
    return 0;
}

static void gate_init(struct gate *g)
{
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->opened, NULL);
    g->is_open = false;
}

static void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->is_open = true;
    pthread_cond_broadcast(&g->opened);
    pthread_mutex_unlock(&g->lock);
}

static int gated_run(struct fetch *f)
{
    struct gated *g = container_of(f, struct gated, fetch);
    pthread_mutex_lock(&g->gate->lock);
    while (!g->gate->is_open)
        pthread_cond_wait(&g->gate->opened, &g->gate->lock);
    pthread_mutex_unlock(&g->gate->lock);
    g->ran_in = pthread_self();
    return -EIO;
}

static void gated_done(struct fetch *f, int result)
{
    struct gated *g = container_of(f, struct gated, fetch);
    assert_true(is_in_turn);
    assert_int_equal(g->rank, -1);
    g->result = result;
    g->rank = done_count++;
}

static void gated_start(struct gated *g, struct gate *gate)
{
    *g = (struct gated){.fetch = {.run = gated_run, .done = gated_done}, .gate = gate, .rank = -1};
    io_fetch(io, &g->fetch);
}

static void one_that_waits_holds_up_no_other(void **state)
{
    (void)state;
    struct gate shut;
    struct gate open;
    struct gated slow;
    struct gated fast[FETCHES];
    gate_init(&shut);
    gate_init(&open);
    gate_open(&open);
    gated_start(&slow, &shut);
    for (int i = 0; i < FETCHES; i++)
        gated_start(&fast[i], &open);
    assert_int_equal(io->fetches, FETCHES + 1);
    while (done_count < FETCHES)
        turn();
    assert_int_equal(slow.rank, -1);

    gate_open(&shut);
    while (done_count <= FETCHES)
        turn();
    assert_int_equal(slow.rank, FETCHES);
    assert_int_equal(slow.result, -EIO);
    assert_false(pthread_equal(slow.ran_in, pthread_self()));
    assert_int_equal(io->fetches, 0);
}

static void one_thread_takes_them_in_order(void **state)
{
    (void)state;
    struct gate shut;
    struct gate last;
    struct gated slow[WAITING];
    struct gated next[FETCHES];
    gate_init(&shut);
    gate_init(&last);
    for (int i = 0; i < WAITING; i++)
        gated_start(&slow[i], i == 0 ? &shut : &last);
    for (int i = 0; i < FETCHES; i++)
        gated_start(&next[i], &shut);
    gate_open(&shut); /* one thread is free now */
    while (done_count < FETCHES + 1)
        turn();
    for (int i = 0; i < FETCHES; i++)
        assert_int_equal(next[i].rank, i + 1);
    gate_open(&last);
    while (io->fetches > 0)
        turn();
}

static void quick_ones_do_not_wait_behind_others(void **state)
{
    (void)state;
    struct gate shut;
    struct gate open;
    struct gated slow[FETCHES];
    struct gated quick[FETCHES];
    gate_init(&shut);
    gate_init(&open);
    gate_open(&open);
    for (int i = 0; i < FETCHES; i++)
        gated_start(&slow[i], &shut);
    for (int i = 0; i < FETCHES; i++) {
        quick[i] = (struct gated){
            .fetch = {.run = gated_run, .done = gated_done, .is_quick = true},
            .gate = &open,
            .rank = -1,
        };
        io_fetch(io, &quick[i].fetch);
    }
    while (done_count < FETCHES)
        turn();
    for (int i = 0; i < FETCHES; i++)
        assert_int_equal(slow[i].rank, -1);
    gate_open(&shut);
    while (io->fetches > 0)
        turn();
}

/* A fetch may be started anew from its own completion. */
static void gated_again(struct fetch *f, int result)
{
    struct gated *g = container_of(f, struct gated, fetch);
    assert_int_equal(result, -EIO);
    if (++done_count < 3)
        io_fetch(io, &g->fetch);
}

static void a_completion_may_start_the_next(void **state)
{
    (void)state;
    struct gate open;
    struct gated g = {.fetch = {.run = gated_run, .done = gated_again}, .gate = &open};
    gate_init(&open);
    gate_open(&open);
    io_fetch(io, &g.fetch);
    while (io->fetches > 0)
        turn();
    assert_int_equal(done_count, 3);
}

/* A map of a file of eight pages that nobody has read. */
static void pages_init(struct gated *g, int *fd, size_t page_len)
{
    char name[] = "weir-fetch-XXXXXX";
    *fd = mkstemp(name);
    assert_true(*fd != -1);
    unlink(name);
    assert_int_equal(ftruncate(*fd, (off_t)(8 * page_len)), 0);
    *g = (struct gated){.fetch = {.len = 8 * page_len, .fd = *fd, .done = gated_done}, .rank = -1};
    g->fetch.addr = mmap(NULL, g->fetch.len, PROT_READ, MAP_SHARED, *fd, 0);
    assert_true(g->fetch.addr != MAP_FAILED);
}

static void pages_become_resident(void **state)
{
    (void)state;
    size_t page_len = (size_t)sysconf(_SC_PAGESIZE);
    struct gated g;
    int fd;
    pages_init(&g, &fd, page_len);
    unsigned char in_core[8];
    assert_int_equal(mincore(g.fetch.addr, g.fetch.len, in_core), 0);
    assert_int_equal(in_core[0] & 1, 0);
    io_fetch(io, &g.fetch);
    while (io->fetches > 0)
        turn();
    assert_true(g.result >= 0);
    assert_int_equal(mincore(g.fetch.addr, g.fetch.len, in_core), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(in_core[i] & 1, 1);
    munmap(g.fetch.addr, g.fetch.len);
    close(fd);
}

static void pages_beyond_the_end_are_an_error(void **state)
{
    (void)state;
    size_t page_len = (size_t)sysconf(_SC_PAGESIZE);
    struct gated g;
    int fd;
    pages_init(&g, &fd, page_len);
    assert_int_equal(ftruncate(fd, (off_t)page_len), 0);
    io_fetch(io, &g.fetch);
    while (io->fetches > 0)
        turn();
    assert_int_equal(g.result, -EFAULT);
    munmap(g.fetch.addr, g.fetch.len);
    close(fd);
}

static void one_that_never_ends_is_given_up(void **state)
{
    (void)state;
    static struct stuck {
        struct gate shut;
        struct gated first;
        struct gated behind;
    } runs[8]; /* to the end of the process, one for each run */
    static size_t run_count;
    struct stuck *run = &runs[run_count++];
    assert_in_range(run_count, 1, sizeof(runs) / sizeof(runs[0]));
    gate_init(&run->shut);
    gated_start(&run->first, &run->shut);
    gated_start(&run->behind, &run->shut);
    io_free(io);
    io = NULL;
    assert_int_equal(done_count, 0);
}

#define TEST(name, backend)                                                                        \
    cmocka_unit_test_prestate_setup_teardown(name, set_up, tear_down, backend)
#define TESTS(backend)                                                                             \
    TEST(one_that_waits_holds_up_no_other, backend),                                               \
        TEST(one_thread_takes_them_in_order, backend),                                             \
        TEST(quick_ones_do_not_wait_behind_others, backend),                                       \
        TEST(a_completion_may_start_the_next, backend), TEST(pages_become_resident, backend),      \
        TEST(pages_beyond_the_end_are_an_error, backend),                                          \
        TEST(one_that_never_ends_is_given_up, backend)

int main(void)
{
    const struct CMUnitTest epoll[] = {TESTS((void *)(uintptr_t)&io_epoll_backend)};
    const struct CMUnitTest uring[] = {
        TESTS((void *)(uintptr_t)&io_uring_backend),
        TESTS((void *)(uintptr_t)&io_uring_without_madvise),
    };
    const struct io_backend *possible;
    char note[IO_NOTE_LEN];
    int failed = cmocka_run_group_tests(epoll, NULL, NULL);
    if (io_choose(IO_CHOICE_URING, &possible, note) == WEIR_OK)
        failed += cmocka_run_group_tests(uring, NULL, NULL);
    else
        print_message("left out: %s\n", note);
    return failed;
}
