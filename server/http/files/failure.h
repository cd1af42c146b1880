/*
 * Answers that are not a file: the statuses that say why, each with a small body as a page or as
 * a problem report (RFC 9457).
 */
#ifndef FILES_FAILURE_H
#define FILES_FAILURE_H

#include "weir/buf.h"
#include "weir/request.h"
#include "weir/response.h"

/* Methods that files know, as in the field `allow`. */
#define FAILURE_ALLOW "GET, HEAD, OPTIONS"

struct mem;

#define FAILURE_KINDS 17
#define FAILURE_FIELDS 7
#define FAILURE_EXTRA 2
#define FAILURE_BODY_MAX 320

/* A body and the fields that go with it. */
struct failure_page {
    struct weir_buf buf; /* over body; its one reference is never given up */
    size_t field_count;
    struct weir_field fields[FAILURE_FIELDS];
    char content_length[12];
    char body[FAILURE_BODY_MAX];
};

enum failure_form { FAILURE_HTML, FAILURE_JSON, FAILURE_FORMS };

/* The ready answers of one worker. */
struct failures {
    struct mem *mem; /* Borrowed */
    struct failure_page pages[FAILURE_KINDS][FAILURE_FORMS];
};

/* Borrowed: mem, and the value of the field `server` (empty: no such field), while f is used. */
void failures_init(struct failures *f, struct mem *mem, struct weir_str server);

/* True if a problem report is welcome and a page is less so. */
bool failure_wants_json(const struct weir_request *r);

/*
 * Answer with one of 308, 400, 403, 404, 405, 408, 412, 413, 414, 416, 417, 421, 431, 500, 501,
 * 503, 505.
 */
void failures_answer(struct failures *f, struct weir_request *r, unsigned status);

/*
 * The same with fields more, up to FAILURE_EXTRA of them, whose values are copied; without them if
 * there is no memory.
 */
void failures_answer_with(struct failures *f, struct weir_request *r, unsigned status,
                          const struct weir_field *extra, size_t extra_count);

#endif
