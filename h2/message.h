/*
 * The rules that the fields of one request keep among themselves (RFC 9113 8.1-8.3, 8.5).
 *
 * A message that breaks one is malformed, and its stream is reset with PROTOCOL_ERROR.
 */
#ifndef H2_MESSAGE_H
#define H2_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "field_kind.h"
#include "weir/request.h"

struct message {
    uint32_t seen;        /* bits of field kinds, and some of message.c's own */
    uint64_t length;      /* content-length, if that was seen */
    uint64_t received;    /* bytes of the body */
    struct weir_str host; /* if that is kept.  Borrowed: as the request's fields */
};

/* One thing that a message may have or be, as a bit. */
#define MESSAGE_BIT(kind) (1U << (kind))
#define MESSAGE_BEGUN (1U << 29)    /* set in every message */
#define MESSAGE_TRAILERS (1U << 30) /* trailers have begun */
#define MESSAGE_CONNECT (1U << 31)  /* has no length, whatever its fields say */

/* For each kind of field: what must not have been seen before it, and what is seen by it. */
struct message_rule {
    uint32_t forbids;
    uint32_t marks;
};
extern const struct message_rule message_rules[FIELD_KINDS];

static inline void message_init(struct message *m)
{
    *m = (struct message){.seen = MESSAGE_BEGUN};
}

/* A field has come.  False: the message is malformed. */
static inline bool message_take(struct message *m, enum field_kind kind)
{
    const struct message_rule *rule = &message_rules[kind];
    bool is_right = (m->seen & rule->forbids) == 0;
    m->seen |= rule->marks;
    return is_right;
}

/* The value of its content-length. */
void message_set_length(struct message *m, struct weir_str value);

/* The fields of the request are complete.  False: malformed. */
bool message_end_fields(struct message *m, const struct weir_request *r);

/* Trailers begin: fields that say whose the request is, or how long, have no place there. */
void message_begin_trailers(struct message *m);

/* So many bytes of the body have come.  False: more than were announced. */
bool message_take_body(struct message *m, size_t len);

/* The message is complete.  False: less than was announced. */
bool message_end(const struct message *m);

#endif
