/*
 * Responses that the client does not let go on, by keeping a window closed or opening it by drops
 * (RFC 9113 10.5).  No clock of the transport sees them: there is nothing to send.
 *
 * A response with bytes left has to be allowed LIMIT_PROGRESS_BYTES of them in LIMIT_PROGRESS_MS,
 * by its own window and by the connection's.  What counts is what the client allows, not what was
 * sent, so a stream that others are preferred to has nothing to fear.  Frames that open no window
 * extend nothing.  A response whose source pauses is not the client's fault: its time starts anew.
 */
#ifndef H2_PROGRESS_H
#define H2_PROGRESS_H

#include <stdint.h>

struct h2_conn;
struct h2_stream;

/* Of a connection.  Zeroed means: no response was ever under way. */
struct progress {
    uint64_t check_ms; /* when to look at the streams; 0: not before one begins */
    uint64_t sent;     /* bytes of bodies framed, of all streams, ever */
};

/* Of a stream: where its time began. */
struct progress_mark {
    uint64_t since_ms;
    uint64_t sent;     /* bytes of its body framed by then */
    uint64_t sent_all; /* and of all bodies of the connection */
};

/* A response with a body begins, or goes on after a pause of its source. */
void progress_begin(struct h2_conn *h, struct h2_stream *s);

/* When progress_check() is due, or PROTOCOL_NO_DEADLINE. */
uint64_t progress_deadline(const struct h2_conn *h);

/*
 * Reset the streams that are held back (CANCEL).  If nothing else is under way the connection ends
 * (ENHANCE_YOUR_CALM): its client takes up room for nothing.
 */
void progress_check(struct h2_conn *h);

#endif
