/* How a session says goodbye: the GOAWAYs of a drain, and the one of an error (RFC 9113 6.8). */
#ifndef H2_GOAWAY_H
#define H2_GOAWAY_H

#include <stdint.h>

struct h2_conn;

/* GOAWAY with the error that was noted; what nghttp2 has queued goes out with it. */
void h2_conn_terminate(struct h2_conn *h);

/* A GOAWAY with an error is out, ours or one that nghttp2 found due. */
void h2_conn_on_goaway_sent(struct h2_conn *h, uint32_t error_code);

/*
 * A GOAWAY without an error is out.  If it was the first, the PING follows.
 * Why now: nghttp2 would let the PING overtake, and its acknowledgement would prove nothing.
 */
void h2_conn_on_notice_sent(struct h2_conn *h);

/* The PING between the two GOAWAYs. */
extern const uint8_t h2_goaway_ping[8];

/* The second GOAWAY, if the first is out. */
void h2_conn_leave(struct h2_conn *h);

#endif
