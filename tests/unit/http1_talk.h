/* A peer that a test talks to turn by turn.  Include behind cm.h. */
#ifndef HTTP1_TALK_H
#define HTTP1_TALK_H

#include "http1_peer.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

/* Own: peer_free(). */
static inline struct peer *peer_new(void)
{
    struct peer *p = malloc(sizeof(*p));
    assert_non_null(p);
    assert_int_equal(peer_init(p), WEIR_OK);
    return p;
}

static inline void peer_free(struct peer *p)
{
    bool is_clean = peer_deinit(p);
    free(p);
    assert_true(is_clean); /* no memory taken, no source unreleased */
}

static inline void send_text(struct peer *p, const char *text)
{
    peer_feed(p, text, strlen(text));
}

/* One turn: feed, then pull. */
static inline void turn(struct peer *p, const char *text)
{
    send_text(p, text);
    peer_pull(p);
}

#endif
