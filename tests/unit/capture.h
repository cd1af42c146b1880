/*
 * Standard error, read write by write: it is replaced by a pipe in packet mode.  For use as the
 * set-up and tear-down of a cmocka test.
 */
#ifndef TESTS_CAPTURE_H
#define TESTS_CAPTURE_H

#include "cm.h"

#include <fcntl.h>
#include <unistd.h>

#define PACKET_CAP 4096

static int capture_saved;  /* standard error as it was */
static int capture_output; /* the end of the pipe to read from */

static inline int capture_begin(void **state)
{
    (void)state;
    int ends[2];
    capture_saved = dup(STDERR_FILENO);
    if (capture_saved == -1 || pipe2(ends, O_DIRECT | O_CLOEXEC) == -1)
        return -1;
    capture_output = ends[0];
    if (dup2(ends[1], STDERR_FILENO) == -1)
        return -1;
    return close(ends[1]);
}

static inline int capture_end(void **state)
{
    (void)state;
    if (dup2(capture_saved, STDERR_FILENO) == -1)
        return -1;
    close(capture_saved);
    return close(capture_output);
}

/* The next write, terminated.  Blocks until there is one. */
static inline size_t packet_read(char out[PACKET_CAP + 1])
{
    ssize_t n = read(capture_output, out, PACKET_CAP);
    assert_true(n > 0);
    out[n] = '\0';
    return (size_t)n;
}

#define CAPTURED_TEST(f) cmocka_unit_test_setup_teardown(f, capture_begin, capture_end)

#endif
