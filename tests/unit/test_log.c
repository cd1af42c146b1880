/* What log lines look like on standard error, write by write. */
#include "cm.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "internal/assert.h"
#include "internal/log.h"

#define LINE_MAX_LEN 1024 /* with the newline */

static void a_line_is_one_write(void **state)
{
    (void)state;
    char line[PACKET_CAP + 1];

    log_line(LV_INFO, "listening on %s port=%d", "here", 80);
    packet_read(line);
    assert_string_equal(line, "weir: info: listening on here port=80\n");

    log_errno(LV_ERROR, ENOENT, "cannot open file=%s", "x");
    packet_read(line);
    assert_string_equal(line, "weir: error: cannot open file=x: No such file or directory\n");
}

static void lines_above_the_level_are_dropped(void **state)
{
    (void)state;
    static const char *const names[] = {"error", "warn", "info", "debug"};
    for (enum log_level level = LV_ERROR; level <= LV_DEBUG; level++) {
        log_set_level(level);
        for (enum log_level of = LV_ERROR; of <= LV_DEBUG; of++) {
            log_line(of, "said");
            log_errno(of, EIO, "said");
        }
        for (enum log_level of = LV_ERROR; of <= level; of++) {
            char expected[64];
            char line[PACKET_CAP + 1];
            snprintf(expected, sizeof(expected), "weir: %s: said\n", names[of]);
            packet_read(line);
            assert_string_equal(line, expected);
            packet_read(line);
            assert_int_equal(strncmp(line, expected, strlen(expected) - 1), 0);
        }
    }
    log_set_level(LV_INFO);
}

static void a_line_too_long_is_cut_and_still_ends(void **state)
{
    (void)state;
    static const char prefix[] = "weir: info: ";
    for (int len = 900; len < 1200; len++) {
        char text[1200];
        memset(text, 'x', (size_t)len);
        text[len] = '\0';
        char line[PACKET_CAP + 1];

        log_line(LV_INFO, "%s", text);
        size_t got = packet_read(line);

        size_t whole = sizeof(prefix) - 1 + (size_t)len + 1;
        assert_true(got == whole || (whole >= LINE_MAX_LEN && got >= LINE_MAX_LEN - 1));
        assert_true(got <= LINE_MAX_LEN);
        assert_int_equal(strlen(line), got);
        assert_int_equal(strncmp(line, prefix, sizeof(prefix) - 1), 0);
        assert_int_equal(strspn(line + sizeof(prefix) - 1, "x"), got - sizeof(prefix));
        assert_int_equal(line[got - 1], '\n');

        log_errno(LV_INFO, EIO, "%s", text);
        got = packet_read(line);
        assert_true(got <= LINE_MAX_LEN && line[got - 1] == '\n');
        assert_int_equal(strlen(line), got);
    }
}

static void what_is_logged_cannot_begin_a_line_of_its_own(void **state)
{
    (void)state;
    char line[PACKET_CAP + 1];

    log_line(LV_INFO, "path=%s", "a\nweir: error: b\r\x1b[2J\x7f\t\xc3\xa4");
    packet_read(line);

    assert_string_equal(line, "weir: info: path=a?weir: error: b??[2J??\xc3\xa4\n");
}

#define THREADS 4
#define LINES_PER_THREAD 60 /* all of them fit into the pipe */

static void *log_lines(void *arg)
{
    const char *letter = arg;
    for (int i = 0; i < LINES_PER_THREAD; i++)
        log_line(LV_WARN, "thread=%s line=%d %s%s%s%s", letter, i, letter, letter, letter, letter);
    return NULL;
}

static void lines_of_several_threads_never_mix(void **state)
{
    (void)state;
    assert_true(fcntl(STDERR_FILENO, F_SETPIPE_SZ, THREADS * LINES_PER_THREAD * PACKET_CAP) > 0);
    static char letters[THREADS][2] = {"a", "b", "c", "d"};
    int next[THREADS] = {0};
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_lines, letters[i]), 0);

    for (int i = 0; i < THREADS * LINES_PER_THREAD; i++) {
        char line[PACKET_CAP + 1];
        packet_read(line);
        size_t thread = (size_t)(line[strlen("weir: warn: thread=")] - 'a');
        assert_true(thread < THREADS);
        const char *l = letters[thread];
        char expected[128];
        snprintf(expected, sizeof(expected), "weir: warn: thread=%s line=%d %s%s%s%s\n", l,
                 next[thread]++, l, l, l, l);
        assert_string_equal(line, expected);
    }

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void lines_that_nobody_reads_are_lost_and_counted(void **state)
{
    (void)state;
    char line[PACKET_CAP + 1];
    int room = fcntl(STDERR_FILENO, F_GETPIPE_SZ) / PACKET_CAP; /* each packet takes a page */

    for (int i = 0; i < room + 5; i++)
        log_line(LV_INFO, "line=%d", i);
    for (int i = 0; i < room; i++) {
        char expected[64];
        packet_read(line);
        snprintf(expected, sizeof(expected), "weir: info: line=%d\n", i);
        assert_string_equal(line, expected);
    }
    log_line(LV_INFO, "afterwards");
    packet_read(line);
    assert_string_equal(line, "weir: warn: lines lost=5\n");
    packet_read(line);
    assert_string_equal(line, "weir: info: afterwards\n");
}

static void a_failed_assertion_says_where_and_ends_the_process(void **state)
{
    (void)state;
    char line[PACKET_CAP + 1];
    char expected[256];
    int at = __LINE__ + 4;
    pid_t child = fork();
    if (child == 0) {
        WEIR_ASSERT(signal(SIGILL, SIG_DFL) != SIG_ERR && signal(SIGTRAP, SIG_DFL) != SIG_ERR);
        WEIR_ASSERT(at == 0);
        _exit(0);
    }

    assert_true(child > 0);
    packet_read(line);

    snprintf(expected, sizeof(expected), "weir: error: assertion failed: at == 0 (%s:%d)\n",
             __FILE__, at);
    assert_string_equal(line, expected);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURED_TEST(a_line_is_one_write),
        CAPTURED_TEST(lines_above_the_level_are_dropped),
        CAPTURED_TEST(a_line_too_long_is_cut_and_still_ends),
        CAPTURED_TEST(what_is_logged_cannot_begin_a_line_of_its_own),
        CAPTURED_TEST(lines_of_several_threads_never_mix),
        CAPTURED_TEST(lines_that_nobody_reads_are_lost_and_counted),
        CAPTURED_TEST(a_failed_assertion_says_where_and_ends_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
