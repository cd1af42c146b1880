/*
 * The life of the program: open the listeners, start the workers, wait for signals, drain, report.
 */
#ifndef OPS_RUN_H
#define OPS_RUN_H

#include "config.h"

/* Find out what would keep the program from running, say it, and give the exit status: 0, 1, 2. */
int run_check(const struct config *config);

/* Gives the exit status: 0 after a clean stop, 1 when it could not run, 2 for a wrong
 * configuration. */
int run(struct config *config);

#endif
