/*
 * The streams of a connection from their opening to where their last byte has left.
 *
 *     live ──▶ leaving or departed ──▶ freed
 *       └────────────────────────────────▲
 * A stream that is closed keeps counting while its bytes are in the gather list (departed.h).
 */
#ifndef H2_STREAMS_H
#define H2_STREAMS_H

struct h2_conn;
struct h2_stream;

/* A doubly linked list. */
struct h2_streams {
    struct h2_stream *first;
    struct h2_stream *last;
};

/* Put the stream behind the others; take it from among them. */
void h2_streams_append(struct h2_streams *list, struct h2_stream *s);
void h2_streams_remove(struct h2_streams *list, struct h2_stream *s);

/* A stream that nghttp2 has opened is live. */
void h2_conn_add_stream(struct h2_conn *h, struct h2_stream *s);

/* END_STREAM was framed.  NULL, for a stream that is gone, is fine. */
void h2_conn_complete_stream(struct h2_conn *h, struct h2_stream *s);

/* Free the stream if nothing keeps it; else see that it is freed when that has ended. */
void h2_conn_settle_stream(struct h2_conn *h, struct h2_stream *s);

/* Free streams whose bytes have left. */
void h2_conn_reap_streams(struct h2_conn *h);

#endif
