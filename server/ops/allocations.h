/*
 * Counts calls of malloc and its kin, per thread, to show that the request path makes none.
 *
 * The program's own malloc functions stand in front of the C library's and count before they pass
 * on.  A sanitizer has to have that place: there, nothing is counted.
 */
#ifndef OPS_ALLOCATIONS_H
#define OPS_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

bool allocations_are_counted(void);

/* Calls that allocate, by the calling thread, since it began. */
uint64_t allocations_of_thread(void);

#endif
