/*
 * What builds for measurement (WEIR_BENCH) have besides: the usual way of output, to compare with.
 *
 * `--output copy` makes HTTP/2 and TLS do what most servers do: a body is read into a buffer,
 * nghttp2 puts it behind its frame head, the frame is copied to the output, and SSL_write() makes
 * records of that.  In all other builds BENCH_COPIES is false, and nothing of it is left.
 */
#ifndef INTERNAL_BENCH_H
#define INTERNAL_BENCH_H

#include <stdbool.h>

/* Set once, before there are workers. */
extern bool bench_copies;

/* Take `--output copy` or `--output gather` out of the command line. */
void bench_take_option(int *argc, char **argv);

#ifdef WEIR_BENCH
#define BENCH_COPIES (bench_copies)
#define BENCH_TAKE_OPTION(argc, argv) bench_take_option(argc, argv)
#else
#define BENCH_COPIES false
#define BENCH_TAKE_OPTION(argc, argv) ((void)0)
#endif

#endif
