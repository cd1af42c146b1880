/*
 * The priority field of a request (RFC 9218 4, 5).
 */
#ifndef H2_PRIORITY_H
#define H2_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/str.h"

#define PRIORITY_URGENCY_DEFAULT 3 /* of 0, the most urgent, to 7 */

struct priority {
    uint8_t urgency;
    bool is_incremental;
    bool is_given; /* by the request, rightly or not */
};

/*
 * Take what a field's value says into p.  Members that are not known are stepped over; a value
 * that is no dictionary (RFC 8941 3.2), or gives a member a wrong value, is as good as none.
 */
void priority_parse(struct priority *p, struct weir_str value);

#endif
