/*
 * Names in documents: whatever bytes a file name has, it cannot leave its place.
 */
#ifndef FILES_ESCAPE_H
#define FILES_ESCAPE_H

#include "sheet.h"

/* Into the text or a quoted attribute of a page.  What is no UTF-8 becomes U+FFFD. */
void escape_html(struct sheet *s, struct weir_str text);

/* Into a string of a JSON text, without the quotes around it.  The same. */
void escape_json(struct sheet *s, struct weir_str text);

/* Bytes of the UTF-8 sequence (RFC 3629) that a text begins with; 0: it is none. */
size_t utf8_len(struct weir_str text);

#endif
