/*
 * The peer's window for the bodies that a connection sends (RFC 9113 5.2).
 *
 * A small body leaves together with its HEADERS: nghttp2 is told that there is none, which saves
 * the scheduling of a DATA frame, a sixth of all that a small request costs.  So its idea of the
 * window is too large, by the bytes it does not know of; what the peer grants fills that gap first.
 *
 *     window = nghttp2's - hidden          left = window - promised
 *
 * Invariant: no more than `left` is framed or promised at any time.
 */
#ifndef H2_SEND_WINDOW_H
#define H2_SEND_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

struct h2_conn;
struct h2_stream;

struct send_window {
    uint32_t initial;    /* of each stream: the peer's SETTINGS_INITIAL_WINDOW_SIZE */
    uint32_t hidden;     /* bytes that were sent and nghttp2 does not know of */
    uint32_t promised;   /* bytes of bodies whose HEADERS are still to be sent */
    struct list starved; /* streams that have more to send and find nothing left */
};

void send_window_init(struct send_window *w);

/* Bytes that may be framed now; 0 and less for none. */
int64_t send_window_left(const struct h2_conn *h);

/* The next `len` bytes of the stream fit in now, into its own window and the connection's. */
bool send_window_fits(const struct h2_stream *s, uint64_t len);

/* So many bytes will leave with the HEADERS; they have; they never will. */
void send_window_promise(struct h2_conn *h, uint32_t len);
void send_window_keep_promise(struct h2_conn *h, uint32_t len);
void send_window_break_promise(struct h2_conn *h, uint32_t len);

/* The stream waits until something is left. */
void send_window_starve(struct h2_stream *s);

/*
 * The peer grants the connection so many bytes.  Gives how many of them nghttp2 is to be told of;
 * 0 for none.
 */
uint32_t send_window_grant(struct h2_conn *h, uint32_t len);

/* Something is left, and streams wait for it. */
bool send_window_is_waited_for(const struct h2_conn *h);

/* Let them go on. */
void send_window_resume(struct h2_conn *h);

#endif
