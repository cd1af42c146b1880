/*
 * One line per event on standard error, `key=value` fields after a short sentence.
 * ERROR: an operator must act.  WARN: degraded.  INFO: lifecycle and peer faults.  DEBUG: detail.
 * Never header values, keys or secrets.
 * Nobody waits for whoever reads: lines that do not fit into a pipe are lost, and counted.
 * Thread: any; a line is one write.
 */
#ifndef INTERNAL_LOG_H
#define INTERNAL_LOG_H

enum log_level { LV_ERROR, LV_WARN, LV_INFO, LV_DEBUG };

/* Lines above this level are dropped.  Call before threads start. */
void log_set_level(enum log_level level);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);

/* The same, followed by the text of errno value `err`. */
__attribute__((format(printf, 3, 4))) void log_errno(enum log_level level, int err,
                                                     const char *format, ...);

#endif
