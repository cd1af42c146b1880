/*
 * What a fuzz target defines: a function that libFuzzer, or replay.c, calls with inputs.  It
 * returns 0, and traps when a property does not hold.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#endif
