/*
 * The bytes of a file as one response sends them.
 *
 * Those of a snapshot are at hand.  Of a map, the reader holds the window that it is at; before it
 * gives bytes out they are known to be in memory, and while they are not it says AGAIN and resumes
 * the response later.  Where the reader goes on to a new chunk, the size of the file is looked at
 * once more, and the chunk behind is fetched ahead.
 *
 * Life: a fetch never finds a reader that is gone: reader_deinit() takes it from its list.
 */
#ifndef FILES_READER_H
#define FILES_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"
#include "window.h"

struct reader {
    struct file *file;            /* Own: a reference */
    struct weir_request *request; /* Borrowed: resumed when bytes have come */
    uint64_t end;                 /* nothing is fetched ahead from here on */
    struct window *window;        /* Own: a reference; NULL at first, and for a snapshot */
    uint64_t chunk;               /* of the file: the last one that bytes were given of, plus 1 */
    struct waiter waiter;
    bool has_failed; /* the disk did not give what was waited for */
};

/* To read f up to `end`. */
void reader_init(struct reader *r, struct file *f, struct weir_request *request, uint64_t end);

void reader_deinit(struct reader *r);

/* As weir_source.read and .is_intact. */
enum weir_err reader_read(struct reader *r, uint64_t offset, size_t max, struct weir_slice *out);
bool reader_is_intact(struct reader *r);

/*
 * Answer a request with f and its whole body.  False: there is no memory, and the request is not
 * answered.
 */
bool reader_respond(struct weir_request *request, struct file *f);

#endif
