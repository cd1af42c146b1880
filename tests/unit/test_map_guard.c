/* Maps of files that shrink: reads go on, and the map is marked. */
#include "cm.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "map_guard.h"

#define PAGES 8

static size_t page_len;

struct mapped {
    int fd;
    struct weir_buf buf;
    struct map_guard guard;
};

/* In each test: the framework handles the signal itself while a test runs. */
static void install(void)
{
    assert_int_equal(map_guard_install(), WEIR_OK);
}

/* A file of PAGES pages of 'x', mapped and guarded. */
static void mapped_init(struct mapped *m)
{
    char name[] = "/tmp/weir-map-XXXXXX";
    m->fd = mkstemp(name);
    assert_true(m->fd != -1);
    unlink(name);
    char page[65536];
    memset(page, 'x', sizeof(page));
    assert_true(page_len <= sizeof(page));
    for (int i = 0; i < PAGES; i++)
        assert_int_equal(write(m->fd, page, page_len), (ssize_t)page_len);
    m->buf = (struct weir_buf){.refs = 1, .origin = WEIR_ORIGIN_MAPPED, .cap = PAGES * page_len};
    m->buf.base = mmap(NULL, m->buf.cap, PROT_READ, MAP_SHARED, m->fd, 0);
    assert_true(m->buf.base != MAP_FAILED);
    map_guard_add(&m->guard, &m->buf);
}

static void mapped_deinit(struct mapped *m)
{
    map_guard_remove(&m->guard);
    munmap(m->buf.base, m->buf.cap);
    close(m->fd);
}

static void reading_lost_pages_gives_zeros_and_a_mark(void **state)
{
    (void)state;
    install();
    struct mapped m;
    char copy[PAGES * 65536];
    mapped_init(&m);

    memcpy(copy, m.buf.base, m.buf.cap);
    assert_false(weir_buf_is_poisoned(&m.buf));

    assert_int_equal(ftruncate(m.fd, (off_t)(3 * page_len + 10)), 0);
    memcpy(copy, m.buf.base, m.buf.cap);

    assert_true(weir_buf_is_poisoned(&m.buf));
    for (size_t i = 0; i < m.buf.cap; i++)
        assert_int_equal(copy[i], i < 3 * page_len + 10 ? 'x' : 0);
    mapped_deinit(&m);
}

static void other_maps_are_not_marked(void **state)
{
    (void)state;
    install();
    struct mapped m[3];
    for (int i = 0; i < 3; i++)
        mapped_init(&m[i]);

    assert_int_equal(ftruncate(m[1].fd, 0), 0);
    assert_int_equal(*(volatile uint8_t *)m[1].buf.base, 0);
    assert_int_equal(*(volatile uint8_t *)m[0].buf.base, 'x');
    assert_int_equal(*(volatile uint8_t *)m[2].buf.base, 'x');

    assert_false(weir_buf_is_poisoned(&m[0].buf));
    assert_true(weir_buf_is_poisoned(&m[1].buf));
    assert_false(weir_buf_is_poisoned(&m[2].buf));
    mapped_deinit(&m[1]);
    assert_int_equal(ftruncate(m[0].fd, 0), 0);
    assert_int_equal(ftruncate(m[2].fd, 0), 0);
    assert_int_equal(*(volatile uint8_t *)m[2].buf.base, 0);
    mapped_deinit(&m[2]);
    assert_int_equal(*(volatile uint8_t *)m[0].buf.base, 0);
    mapped_deinit(&m[0]);
}

/* Threads truncate and read maps of their own, all at once. */
static void *thread_run(void *arg)
{
    size_t *failures = arg;
    for (int i = 0; i < 200; i++) {
        struct mapped m;
        mapped_init(&m);
        size_t keep = (size_t)i % PAGES * page_len;
        if (ftruncate(m.fd, (off_t)keep) != 0)
            *failures += 1;
        for (size_t at = 0; at < m.buf.cap; at += page_len) {
            uint8_t want = at < keep ? 'x' : 0;
            if (*(volatile uint8_t *)(m.buf.base + at) != want)
                *failures += 1;
        }
        if (!weir_buf_is_poisoned(&m.buf))
            *failures += 1;
        mapped_deinit(&m);
    }
    return NULL;
}

static void threads_have_guards_of_their_own(void **state)
{
    (void)state;
    install();
    pthread_t threads[4];
    size_t failures[4] = {0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_run, &failures[i]), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(failures[i], 0);
    }
}

static void child_read_unguarded(void)
{
    struct mapped m;
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    mapped_init(&m);
    map_guard_remove(&m.guard);
    if (ftruncate(m.fd, 0) != 0)
        _exit(1);
    _exit(*(volatile uint8_t *)m.buf.base);
}

static void child_kill_itself(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    raise(SIGBUS);
    raise(SIGBUS); /* the first one, sent and no fault, only brought the old handling back */
    _exit(1);
}

static void assert_dies_of_sigbus(void (*child)(void))
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid != -1);
    if (pid == 0) {
        signal(SIGBUS, SIG_DFL); /* without a sanitizer's handler behind ours */
        if (map_guard_install() != WEIR_OK)
            _exit(1);
        child();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

static void faults_elsewhere_end_the_process_as_ever(void **state)
{
    (void)state;
    assert_dies_of_sigbus(child_read_unguarded);
    assert_dies_of_sigbus(child_kill_itself);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_lost_pages_gives_zeros_and_a_mark),
        cmocka_unit_test(other_maps_are_not_marked),
        cmocka_unit_test(threads_have_guards_of_their_own),
        cmocka_unit_test(faults_elsewhere_end_the_process_as_ever),
    };
    page_len = (size_t)sysconf(_SC_PAGESIZE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
