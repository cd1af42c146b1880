/*
 * A body that is written at once and sent from pool blocks.
 */
#ifndef FILES_BODY_H
#define FILES_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/buf.h"
#include "weir/str.h"

struct mem;

/* blocks of one body; 4 MiB in all */
#define BODY_BLOCKS_MAX 256

struct body {
    struct mem *mem; /* Borrowed */
    size_t len;      /* bytes written */
    bool is_cut;     /* something did not fit, or there was no memory: not to be sent */
    struct weir_buf *blocks[BODY_BLOCKS_MAX]; /* Own: full but for the last one */
};

void body_init(struct body *b, struct mem *mem);
void body_deinit(struct body *b);

void body_put(struct body *b, struct weir_str text);

/*
 * The bytes from offset on, up to `max` of them; offset < len.
 * Own: the slice has a reference of its own.
 */
struct weir_slice body_slice(const struct body *b, uint64_t offset, size_t max);

#endif
