/*
 * What a client says it likes (RFC 9110 12.5).
 */
#ifndef FILES_NEGOTIATE_H
#define FILES_NEGOTIATE_H

#include "weir/request.h"

/* Weights are in thousandths: 0 is not acceptable, 1000 likes best. */
#define WEIGHT_MAX 1000

/* Content codings (RFC 9110 8.4.1), the one without any first. */
enum coding { CODING_IDENTITY, CODING_BR, CODING_ZSTD, CODING_GZIP, CODINGS };

/*
 * The weight of each coding by the fields `accept-encoding`.  Without one, only identity is
 * acceptable; with one, identity is less welcome than what it names, unless it is named itself.
 */
void negotiate_codings(const struct weir_request *r, unsigned weights[CODINGS]);

/* The weight of a media type such as "text/html" by the fields `accept`; without one, all of it. */
unsigned negotiate_type(const struct weir_request *r, struct weir_str type);

#endif
