/*
 * Dates as clients send them (RFC 9110 5.6.7).
 */
#ifndef FILES_DATE_H
#define FILES_DATE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/str.h"

/*
 * Read an HTTP-date in any of its three formats as seconds since 1970.  The years of the one with
 * two digits lie within 50 years after now_s, or before.
 * False: it is none, and *out is untouched.
 */
bool date_parse(struct weir_str text, int64_t now_s, int64_t *out);

#endif
