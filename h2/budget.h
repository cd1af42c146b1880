/*
 * What a peer may make a connection do before it is told to calm down.
 *
 * nghttp2 1.52 counts little of this itself.  One object per connection counts all of it, at the
 * frame head where possible (input.h), so that a flood costs its sender more than us.  The numbers
 * are in internal/limits.h.  Every function answers whether the peer is still within its limits.
 */
#ifndef H2_BUDGET_H
#define H2_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* So many, refilled by so many a second. */
struct bucket {
    uint64_t refilled_ms; /* time up to which the refill is counted */
    uint32_t left;
    uint32_t size;
    uint32_t per_s;
};

struct budget {
    struct bucket control;     /* PING, SETTINGS, PRIORITY, unknown types, padding, ... */
    struct bucket peer_resets; /* RST_STREAM received */
    struct bucket own_resets;  /* RST_STREAM that the peer made us send */
    struct bucket refused;     /* streams refused */
    uint32_t empty_frames;     /* in a row, without payload and without an end */
    uint32_t continuations;    /* of the field section under way */
    uint64_t window_updates;   /* WINDOW_UPDATE received */
    uint64_t window_updates_allowed;
};

/* One frame header of the peer, as on the wire (RFC 9113 4.1). */
struct budget_frame {
    uint32_t len;
    uint8_t type;
    uint8_t flags;
};

void budget_init(struct budget *b, uint64_t now_ms);

/* A frame header has arrived. */
bool budget_on_frame(struct budget *b, const struct budget_frame *f, uint64_t now_ms);

/* A DATA frame was sent; a response was answered in full. */
void budget_on_data_sent(struct budget *b);
void budget_on_complete(struct budget *b);

/* A field section has come that can lead to no request. */
bool budget_on_idle_section(struct budget *b, uint64_t now_ms);

/* We reset a stream because of what the peer did; we refused one. */
bool budget_on_own_reset(struct budget *b, uint64_t now_ms);
bool budget_on_refused(struct budget *b, uint64_t now_ms);

#endif
