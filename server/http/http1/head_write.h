/*
 * Heads of responses (RFC 9112 4, 6, 9).
 */
#ifndef HTTP1_HEAD_WRITE_H
#define HTTP1_HEAD_WRITE_H

#include <stdbool.h>

#include "weir/gather.h"
#include "weir/response.h"

/* What the session has to say about the connection. */
enum head_connection {
    CONNECTION_UNSAID,     /* HTTP/1.1, and it goes on */
    CONNECTION_KEEP_ALIVE, /* HTTP/1.0, and it goes on */
    CONNECTION_CLOSE,      /* this is the last response */
};

/* What is not the response's own. */
struct head_context {
    bool is_head;    /* HEAD: the length that is said is not sent */
    bool is_chunked; /* the length is not known: Transfer-Encoding says so */
    enum head_connection connection;
    const char *date; /* CLOCK_DATE_LEN bytes */
};

/* "404 Not Found\n", also for a status that has no name.  Borrowed: constant. */
struct weir_str status_text(unsigned status);

/* True if a response of that status has content (RFC 9110 6.4.1), HEAD aside. */
bool status_has_content(unsigned status);

/*
 * True if a handler's response can be put on the wire as it is: a final status, fields without
 * bytes that would break the framing, none that are the protocol's to send, and a content-length
 * that tells the truth.
 */
bool response_is_sound(const struct weir_response *resp, bool is_head);

/* Append the head.  Err: NOMEM. */
WEIR_MUST_USE
enum weir_err head_write(struct weir_gather *out, const struct weir_response *resp,
                         const struct head_context *context);

#endif
