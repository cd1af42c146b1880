/*
 * One request and its response on an HTTP/2 stream (RFC 9113 5).
 *
 * Life: made when HEADERS begin.  Freed when all three are true: nghttp2 has closed the stream, the
 *       handler has answered, and the bytes that were framed for it have left the connection's
 *       gather list.  Until then it counts as in flight, so that a peer that resets streams at once
 *       gets no more work out of us than one that waits.
 * Own:  every field name and value is a reference on nghttp2's own string; none is copied.
 */
#ifndef H2_STREAM_H
#define H2_STREAM_H

#include <nghttp2/nghttp2.h>

#include "list.h"
#include "weir/request.h"
#include "weir/response.h"

struct h2_conn;

/* Fields kept in the stream itself; what goes beyond moves to one larger block, once. */
#define H2_FIELDS_INLINE 16
/* :method, :scheme, :authority, :path and the names of fields double the references */
#define H2_HELD_INLINE (2 * H2_FIELDS_INLINE + 4)

struct h2_stream {
    struct h2_conn *h;      /* NULL: the connection is gone, only the handler still knows us */
    struct h2_stream *next; /* in the connection's list of live or of leaving streams */
    struct h2_stream *prev;
    int32_t id;
    bool is_request;   /* the field section that arrives is the request's, not trailers */
    bool has_trailers; /* a second field section has begun */
    bool is_received;  /* END_STREAM came: the request is complete */
    bool is_oversize;  /* it went over a limit that is answered by a status */
    bool is_handed;    /* the handler has been called */
    bool is_answered;  /* the handler has answered */
    bool is_waiting;   /* the source has said AGAIN and is to call weir_response_resume() */
    bool is_closed;    /* nghttp2 has closed the stream */
    bool is_complete;  /* END_STREAM was sent */
    bool is_lost;      /* bytes of its body were lost: it has been reset */

    struct weir_request request;
    size_t field_cap;          /* of fields */
    size_t field_seen;         /* fields that arrived, kept or not */
    size_t field_bytes;        /* their size by RFC 9113 6.5.2 */
    struct weir_field *fields; /* inline_fields or a larger block */
    nghttp2_rcbuf **held;      /* inline_held or a larger block */
    size_t held_count;

    struct weir_response response;
    uint64_t body_sent;          /* bytes of the body that were framed */
    uint64_t window_granted;     /* by WINDOW_UPDATE, to send them */
    struct weir_slice ready;     /* what nghttp2 was promised for the next DATA frame */
    const struct weir_buf *body; /* Borrowed, to compare: where bytes are mapped from; or NULL */
    struct list ending;          /* in the connection's list of those that wait to send their end */
    uint64_t body_end;           /* session output offset behind the last byte of the body so far */
    uint64_t framed_end;         /* and behind the last byte framed for it */

    struct weir_field inline_fields[H2_FIELDS_INLINE];
    nghttp2_rcbuf *inline_held[H2_HELD_INLINE];
};

/* Err: WEIR_NOMEM, and *out is NULL. */
WEIR_MUST_USE
enum weir_err h2_stream_new(struct h2_conn *h, int32_t id, struct h2_stream **out);

/* Release what the stream holds of its response; idempotent. */
void h2_stream_release_response(struct h2_stream *s);

void h2_stream_free(struct h2_stream *s);

/*
 * A field line of the request.  Pseudo-header fields go to their place in the request.
 * Own: the stream takes references of its own.
 * Err: WEIR_LIMIT: beyond what is worth decoding: the connection ends.  WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err h2_stream_add_field(struct h2_stream *s, nghttp2_rcbuf *name, nghttp2_rcbuf *value);

/* The field section is complete: call the handler, or answer by a status of our own. */
void h2_stream_dispatch(struct h2_stream *s);

/*
 * DATA: keep the next slice, at most `max` bytes, in s->ready.
 * Err: CLOSED: there is none, all of the body was prepared.  Else: as response_body_read().
 */
WEIR_MUST_USE
enum weir_err h2_stream_prepare(struct h2_stream *s, size_t max);

/*
 * All body bytes are known to be prepared, and the next DATA frame may end the stream with them.
 * Not so for bytes of a file map, which can be lost until they have left: the end follows on its
 * own, unless they use a window up: nghttp2 would hold it back, and the client has no reason to
 * open another.
 */
bool h2_stream_is_last(const struct h2_stream *s);

/*
 * The end of a body that follows its bytes.  OK: it may be said.  AGAIN: they come from a file map
 * and have not all left.  STREAM: they are not what they were.
 */
WEIR_MUST_USE
enum weir_err h2_stream_end(struct h2_stream *s);

#endif
