/*
 * One request and its response on an HTTP/2 stream (RFC 9113 5).
 *
 * Life: made when HEADERS begin.  Freed when nghttp2 has closed the stream and the handler has
 *       answered; with bytes of a file map, which can be lost, not before they have left the
 *       connection's gather list.  It counts as in flight until all its bytes have left, so that a
 *       peer that resets streams at once gets no more work out of us than one that waits.
 * Own:  every field is a reference on an entry of the HPACK decoder; no name or value is copied.
 */
#ifndef H2_STREAM_H
#define H2_STREAM_H

#include <nghttp2/nghttp2.h>

#include "hpack_table.h"
#include "list.h"
#include "message.h"
#include "priority.h"
#include "progress.h"
#include "weir/request.h"
#include "weir/response.h"

struct h2_conn;

/* Fields kept in the stream itself; what goes beyond moves to one larger block, once. */
#define H2_FIELDS_INLINE 16
/* beside these :method, :scheme, :authority and :path are held */
#define H2_HELD_INLINE (H2_FIELDS_INLINE + 4)

struct h2_stream {
    struct h2_conn *h;      /* NULL: the connection is gone, only the handler still knows us */
    struct h2_stream *next; /* in the connection's list of live or of leaving streams */
    struct h2_stream *prev;
    int32_t id;
    bool is_request;   /* the field section that arrives is the request's, not trailers */
    bool has_trailers; /* a second field section has begun */
    bool is_received;  /* END_STREAM came: the request is complete */
    bool is_oversize;  /* it went over a limit that is answered by a status */
    bool is_ranked;    /* the client has given it a priority by a frame */
    bool is_handed;    /* the handler has been called */
    bool is_answered;  /* the handler has answered */
    bool is_waiting;   /* the source has said AGAIN and is to call weir_response_resume() */
    bool is_closed;    /* nghttp2 has closed the stream */
    bool is_complete;  /* END_STREAM was sent */
    bool is_joined;    /* its body is in `ready`, and leaves with the HEADERS */
    bool is_lost;      /* its body was lost, or held back by the client: it has been reset */

    struct weir_request request;
    struct message message; /* what its fields and body have to keep to */
    struct priority priority;
    size_t field_cap;                /* of fields */
    struct weir_field *fields;       /* inline_fields or a larger block */
    const struct hpack_entry **held; /* inline_held or a larger block */
    size_t held_count;

    struct weir_response response;
    uint64_t body_sent;          /* bytes of the body that were framed */
    uint64_t window_granted;     /* by WINDOW_UPDATE, to send them */
    struct weir_slice ready;     /* what the next DATA frame holds */
    const struct weir_buf *body; /* Borrowed, to compare: where bytes are mapped from; or NULL */
    struct list ending;          /* in a list of the connection: of those that wait to send their
                                    end, or of those that find no window left */
    uint64_t body_end;           /* session output offset behind the last byte of the body so far */
    uint64_t framed_end;         /* and behind the last byte framed for it */
    struct progress_mark progress; /* while a body is under way */

    struct weir_field inline_fields[H2_FIELDS_INLINE];
    const struct hpack_entry *inline_held[H2_HELD_INLINE];
};

/* Err: WEIR_NOMEM, and *out is NULL. */
WEIR_MUST_USE
enum weir_err h2_stream_new(struct h2_conn *h, int32_t id, struct h2_stream **out);

/* Release what the stream holds of its response; idempotent. */
void h2_stream_release_response(struct h2_stream *s);

void h2_stream_free(struct h2_stream *s);

/*
 * A field line.  Pseudo-header fields go to their place in the request; trailers, and others that
 * go beyond a limit, are given to nobody.
 * Own: takes over the reference.  Err: WEIR_NOMEM.
 */
WEIR_MUST_USE
enum weir_err h2_stream_add_field(struct h2_stream *s, const struct hpack_entry *e);

/* The field section is complete: call the handler, or answer by a status of our own. */
void h2_stream_dispatch(struct h2_stream *s);

/* A second field section begins. */
void h2_stream_begin_trailers(struct h2_stream *s);

/* Bytes of the request's body have come; they were the last.  NULL is fine. */
void h2_stream_take_body(struct h2_stream *s, size_t len);
void h2_stream_end_body(struct h2_stream *s);

/*
 * The peer has made the window of streams smaller: a body that has joined its HEADERS, and waits
 * with them, may not fit in any more.  It is reset, since nghttp2 takes it to be on its way.
 */
void h2_stream_check_joined(struct h2_stream *s, uint32_t initial);

/* Reset the stream: once, whatever happens on top. */
void h2_stream_reset(struct h2_stream *s, uint32_t error_code);

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
