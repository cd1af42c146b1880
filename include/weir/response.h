/*
 * A response as a handler gives it: fields that are ready-made, and a source that hands out the
 * body slice by slice when the connection can send it.
 */
#ifndef WEIR_RESPONSE_H
#define WEIR_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/buf.h"
#include "weir/err.h"
#include "weir/request.h"

/*
 * Where fields and body come from: a kind of object that outlives the response.
 * Thread: the worker that owns the request.
 */
struct weir_source {
    /*
     * Give the body bytes at `offset`, at least one and at most `max` of them (max >= 1).
     * NULL if there never is a body.
     * Own: *out carries a reference that the caller drops.
     * Err: AGAIN: not there yet; the source calls weir_response_resume() later.
     *      CLOSED: the body ends here; only where its length is not known beforehand.
     *      STREAM: they cannot be had (the file shrank, the disk failed): the stream is reset.
     */
    enum weir_err (*read)(void *ctx, uint64_t offset, size_t max, struct weir_slice *out);

    /*
     * Asked when all bytes of the body have left and only its end is still to be said: are they
     * what they were when they were given?  If not, the stream is reset, so that a wrong body never
     * looks complete.  NULL: they are, since nobody can change them.
     */
    bool (*is_intact)(void *ctx);

    /* The exchange is over, sent or not; called once.  From here on fields may go away. */
    void (*release)(void *ctx);
};

/* A body that is as long as the source finds it to be: it says CLOSED where it ends. */
#define WEIR_LENGTH_UNKNOWN UINT64_MAX

struct weir_response {
    uint16_t status; /* 200..599 (RFC 9110 15) */
    int8_t urgency; /* how much sooner than others of the connection it is due, from 3, the first of
                       all, to -4; where the client says what it wants, that counts (RFC 9218) */
    const struct weir_field *fields; /* Borrowed: true until source->release */
    size_t field_count;              /* `date` is added by the protocol */
    size_t own_count;                /* fields at the end that no other response has alike */
    uint64_t fields_id; /* names the list of all before these for ever in this worker: a protocol
                           may remember what it made of it; 0: not worth that */
    const struct weir_source *source; /* NULL: fields are constant and there is no body */
    void *ctx;                        /* handed to the source's functions */
    uint64_t body_offset;             /* first byte of the source that is sent */
    uint64_t body_len;                /* bytes that follow, or WEIR_LENGTH_UNKNOWN; 0 for no body;
                                         for HEAD whatever it is, none is sent */
};

/*
 * Answer a request, once.  May be called in the handler or any time later.
 * Own: source and ctx pass to the exchange, which calls release exactly once, also on failure
 *      and when the peer goes away.
 * Err: WEIR_CLOSED: the stream is gone already.  WEIR_NOMEM: it is being reset.
 */
WEIR_PUBLIC enum weir_err weir_respond(struct weir_request *r, const struct weir_response *resp);

/* The source that said AGAIN has bytes now. */
WEIR_PUBLIC void weir_response_resume(struct weir_request *r);

#endif
