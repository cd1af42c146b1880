/* What is made of kernels that lack something: liburing's answers are changed on their way. */
#include "cm.h"

#include <errno.h>
#include <liburing.h>
#include <string.h>

#include "choose.h"
#include "uring.h"

#define NO_OP (-1)

/* What the kernel at hand is made to lack. */
static struct {
    unsigned setup_flags; /* a ring with any of these is refused with setup_error */
    int setup_error;
    unsigned missing_features; /* IORING_FEAT_* */
    bool hides_ops;            /* it tells of none */
    int missing_op;
    int files_error;
    int buffers_error;
} lacks;

/* NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier): linker's names */
int __real_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                                      struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                                      struct io_uring_params *p);
struct io_uring_probe *__real_io_uring_get_probe_ring(struct io_uring *ring);
struct io_uring_probe *__wrap_io_uring_get_probe_ring(struct io_uring *ring);
int __real_io_uring_register_files_sparse(struct io_uring *ring, unsigned nr);
int __wrap_io_uring_register_files_sparse(struct io_uring *ring, unsigned nr);
int __real_io_uring_register_buffers_sparse(struct io_uring *ring, unsigned nr);
int __wrap_io_uring_register_buffers_sparse(struct io_uring *ring, unsigned nr);

int __wrap_io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                                      struct io_uring_params *p)
{
    if (p->flags & lacks.setup_flags)
        return lacks.setup_error;
    int rv = __real_io_uring_queue_init_params(entries, ring, p);
    p->features &= ~lacks.missing_features;
    return rv;
}

struct io_uring_probe *__wrap_io_uring_get_probe_ring(struct io_uring *ring)
{
    if (lacks.hides_ops)
        return NULL;
    struct io_uring_probe *probe = __real_io_uring_get_probe_ring(ring);
    if (probe != NULL && lacks.missing_op != NO_OP)
        probe->ops[lacks.missing_op].flags = 0;
    return probe;
}

int __wrap_io_uring_register_files_sparse(struct io_uring *ring, unsigned nr)
{
    return lacks.files_error != 0 ? lacks.files_error
                                  : __real_io_uring_register_files_sparse(ring, nr);
}

int __wrap_io_uring_register_buffers_sparse(struct io_uring *ring, unsigned nr)
{
    return lacks.buffers_error != 0 ? lacks.buffers_error
                                    : __real_io_uring_register_buffers_sparse(ring, nr);
}

/* NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier) */

static int set_up(void **state)
{
    (void)state;
    memset(&lacks, 0, sizeof(lacks));
    lacks.missing_op = NO_OP;
    return 0;
}

/* `auto` takes epoll, `uring` ends, and both give the reason. */
static void expect_refusal(const char *reason)
{
    const struct io_backend *backend = NULL;
    char note[IO_NOTE_LEN];
    assert_int_equal(io_choose(IO_CHOICE_AUTO, &backend, note), WEIR_OK);
    assert_ptr_equal(backend, &io_epoll_backend);
    assert_non_null(strstr(note, reason));
    assert_int_not_equal(io_choose(IO_CHOICE_URING, &backend, note), WEIR_OK);
    assert_non_null(strstr(note, reason));
    assert_null(strchr(note, '\n'));
}

/* A ring is made; gives its features. */
static unsigned features(void)
{
    struct io_uring ring;
    unsigned found = 0;
    unsigned files = 0;
    char why[URING_WHY_LEN];
    assert_int_equal(uring_ring_open(&ring, 0, &found, &files, why), WEIR_OK);
    io_uring_queue_exit(&ring);
    return found;
}

static void a_ring_that_is_refused_is_not_used(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *reason;
    } rows[] = {
        {-EPERM, "io_uring_setup: Operation not permitted"},
        {-ENOSYS, "io_uring_setup: Function not implemented"},
        {-ENOMEM, "io_uring_setup: Cannot allocate memory"},
        {-EINVAL, "older than Linux 6.0"},
    };
    lacks.setup_flags = IORING_SETUP_SINGLE_ISSUER;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lacks.setup_error = rows[i].error;
        expect_refusal(rows[i].reason);
    }
}

static void each_feature_of_the_ring_that_is_needed_is_looked_for(void **state)
{
    (void)state;
    static const unsigned needed[] = {IORING_FEAT_NODROP, IORING_FEAT_SUBMIT_STABLE,
                                      IORING_FEAT_FAST_POLL, IORING_FEAT_EXT_ARG,
                                      IORING_FEAT_CQE_SKIP};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        lacks.missing_features = needed[i];
        expect_refusal("older than Linux 6.0");
    }
}

static void each_operation_that_is_needed_is_looked_for(void **state)
{
    (void)state;
    static const struct {
        int op;
        const char *reason;
    } rows[] = {
        {IORING_OP_ACCEPT, "io_uring has no accept"},
        {IORING_OP_ASYNC_CANCEL, "io_uring has no cancel"},
        {IORING_OP_CLOSE, "io_uring has no close"},
        {IORING_OP_CONNECT, "io_uring has no connect"},
        {IORING_OP_READ, "io_uring has no read"},
        {IORING_OP_RECV, "io_uring has no recv"},
        {IORING_OP_SEND, "io_uring has no send"},
        {IORING_OP_SENDMSG, "io_uring has no sendmsg"},
        {IORING_OP_SHUTDOWN, "io_uring has no shutdown"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lacks.missing_op = rows[i].op;
        expect_refusal(rows[i].reason);
    }
    lacks.hides_ops = true;
    expect_refusal("io_uring does not tell its operations");
}

static void without_a_file_table_it_is_not_used(void **state)
{
    (void)state;
    lacks.files_error = -ENOMEM;
    expect_refusal("Cannot allocate memory");
}

static void what_is_not_needed_is_done_without(void **state)
{
    (void)state;
    const unsigned zc =
        URING_HAS_SEND_ZC | URING_HAS_ZC_REPORT | URING_HAS_FIXED | URING_HAS_FIXED_LISTS;
    unsigned all = features();

    lacks.setup_flags = IORING_SETUP_DEFER_TASKRUN;
    lacks.setup_error = -EINVAL;
    assert_int_equal(features(), all & ~(unsigned)URING_HAS_DEFER_TASKRUN);

    set_up(state);
    lacks.missing_op = IORING_OP_MADVISE;
    assert_int_equal(features(), all & ~(unsigned)URING_HAS_MADVISE);

    lacks.missing_op = IORING_OP_SEND_ZC;
    assert_int_equal(features(), all & ~zc);
    lacks.missing_op = IORING_OP_SENDMSG_ZC;
    assert_int_equal(features(), all & ~zc);

    set_up(state);
    lacks.buffers_error = -EINVAL;
    assert_int_equal(features(), all & ~(unsigned)(URING_HAS_FIXED | URING_HAS_FIXED_LISTS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_ring_that_is_refused_is_not_used, set_up),
        cmocka_unit_test_setup(each_feature_of_the_ring_that_is_needed_is_looked_for, set_up),
        cmocka_unit_test_setup(each_operation_that_is_needed_is_looked_for, set_up),
        cmocka_unit_test_setup(without_a_file_table_it_is_not_used, set_up),
        cmocka_unit_test_setup(what_is_not_needed_is_done_without, set_up),
    };
    const struct io_backend *backend;
    char note[IO_NOTE_LEN];
    set_up(NULL);
    if (io_choose(IO_CHOICE_URING, &backend, note) != WEIR_OK) {
        print_message("%s\n", note);
        return 77; /* what ctest takes for left out */
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
