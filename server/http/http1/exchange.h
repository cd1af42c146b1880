/*
 * A request and its response.
 *
 *     WAITING ──▶ ANSWERED ──▶ SENDING ──▶ freed
 *        handler has    head handed out    source released
 *
 * A handler may keep a request for as long as it owes a response.  If the session gives up before
 * that, because the connection is gone or because it answered itself, the exchange leaves the
 * queue and lives on as an orphan until the handler has responded.
 */
#ifndef HTTP1_EXCHANGE_H
#define HTTP1_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/request.h"
#include "weir/response.h"

struct http1;
struct weir_buf;

enum exchange_state {
    EXCHANGE_WAITING,  /* there is no response yet */
    EXCHANGE_ANSWERED, /* there is one; no byte of it is handed out */
    EXCHANGE_SENDING,  /* the head is handed out */
};

/* What tells the client where the content ends (RFC 9112 6.3). */
enum exchange_framing {
    FRAMING_LENGTH,  /* content-length, or that there is no content */
    FRAMING_CHUNKED, /* the last chunk */
    FRAMING_CLOSE,   /* the end of the connection */
};

struct http1_exchange {
    struct weir_request request; /* what the handler sees */
    struct http1 *session;       /* Borrowed; NULL: an orphan */
    struct http1_exchange *next; /* Own: the next one in the queue */
    enum exchange_state state;
    bool handler_owes;             /* the handler was called and has not responded yet */
    bool is_blocked;               /* the source said AGAIN */
    bool is_head;                  /* HEAD: a response without content */
    bool is_http10;                /* HTTP/1.0: persistence has to be said */
    bool expects_continue;         /* the client may be waiting for 100 (Continue) */
    bool is_mapped;                /* its content comes from a file map */
    bool is_leaving;               /* its end waits until what was handed out has left */
    enum exchange_framing framing; /* true from SENDING on */
    struct weir_response response;
    struct weir_str text;      /* content of an answer of our own; Borrowed: constant */
    uint64_t sent;             /* bytes of the source's content handed out */
    uint64_t body_end;         /* offset in the session's output behind them */
    struct weir_buf *head_buf; /* Own: what the request's views point into: this, */
    uint8_t *head_copy;        /* Own: or this */
    size_t field_cap;          /* room in fields */
    struct weir_field fields[];
};

/* Own: http1_exchange_end().  NULL when there is no memory. */
struct http1_exchange *http1_exchange_new(struct http1 *h, size_t field_cap);

/* Append to the queue. */
void http1_exchange_queue(struct http1 *h, struct http1_exchange *x);

/* The first one is the last one: input ends, and what is queued behind it is not answered. */
void http1_exchange_make_last(struct http1 *h);

/* Take the first one out of the queue. */
struct http1_exchange *http1_exchange_take(struct http1 *h);

/* Answer with a status and why, instead of what was or would be the response.  Not when SENDING. */
void http1_exchange_refuse(struct http1_exchange *x, unsigned status);

/* The session is done with it: release the response; free it, or leave it to the handler. */
void http1_exchange_end(struct http1_exchange *x);

#endif
