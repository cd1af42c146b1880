/*
 * What builds for measurement (WEIR_BENCH) have besides: the usual way of output, to compare with.
 *
 * `--output copy` makes HTTP/2 and TLS do what most servers do: a body is read from its file into a
 * buffer, nghttp2 puts it behind its frame head, the frame is copied to the output, and SSL_write()
 * makes records of that.  `--output copy-cached` has small files in memory, as `gather` has, and
 * copies them from there.  In all other builds BENCH_COPIES is false, and nothing of it is left.
 */
#ifndef INTERNAL_BENCH_H
#define INTERNAL_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/buf.h"

/* Set once, before there are workers. */
extern bool bench_copies;
extern bool bench_reads; /* and bytes of files are read anew for each response */

/* Take `--output gather`, `copy` or `copy-cached` out of the command line. */
void bench_take_option(int *argc, char **argv);

/* Read what a slice shows from the file that it is of.  False: it is of none, or cannot be read. */
extern bool (*bench_read)(const struct weir_slice *from, uint8_t *to);

#ifdef WEIR_BENCH
#define BENCH_COPIES (bench_copies)
#define BENCH_READS (bench_reads)
#define BENCH_TAKE_OPTION(argc, argv) bench_take_option(argc, argv)
#else
#define BENCH_COPIES false
#define BENCH_READS false
#define BENCH_TAKE_OPTION(argc, argv) ((void)0)
#endif

#endif
