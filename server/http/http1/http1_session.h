/*
 * The objects of an HTTP/1.1 session: the session itself, and one exchange per request whose
 * response is not handed out in full yet, in order of arrival.
 *
 *     input:  HEAD ──▶ BODY ──▶ HEAD ──▶ ... ──▶ DONE     nothing is interpreted any more
 *
 * The session ends, and pull() says CLOSED, when input is DONE and no exchange is left.  So
 * whoever wants it to end sets input to DONE; the last response then says `Connection: close`.
 *
 * Thread: the worker that owns the connection.
 */
#ifndef HTTP1_HTTP1_SESSION_H
#define HTTP1_HTTP1_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

#include "chunked.h"
#include "exchange.h"
#include "head_scan.h"
#include "internal/protocol.h"

enum http1_input {
    INPUT_HEAD, /* between requests, or inside a head */
    INPUT_BODY, /* inside a request body */
    INPUT_DONE, /* the rest is thrown away */
};

/* The request body that is being read. */
struct http1_body {
    struct http1_exchange *exchange; /* Borrowed: whose it is; NULL when that has ended */
    bool is_chunked;
    uint64_t left;              /* not chunked: bytes still to come */
    uint64_t received;          /* bytes of content so far */
    uint64_t allowance;         /* bytes, framing included, that are still worth reading */
    uint64_t begun_ms;          /* when the head was complete */
    uint64_t drain_deadline_ms; /* for what comes after the response; or PROTOCOL_NO_DEADLINE */
    struct chunked chunked;
};

#define HTTP1_MAGIC 0x48545031U

struct http1 {
    uint32_t magic;
    enum http1_input input;
    bool in_call;         /* inside a function of the protocol table: no need to wake the host */
    bool eof;             /* the peer sends nothing more */
    bool persistent;      /* the current request allows for another one */
    bool cut;             /* a response cannot be completed: close in the middle of it */
    bool parser_complete; /* the parser has seen the end of the message */

    const struct protocol_env *env; /* Borrowed */
    struct protocol_host *host;     /* Borrowed */

    llhttp_t parser;
    struct http1_exchange *parsing; /* Borrowed: whose head the parser reads, or NULL */
    struct head_scan scan;          /* of the head that is coming in */
    uint8_t *store;                 /* Own: a head that came in pieces; NULL when there is none */
    size_t store_len;
    size_t store_cap;
    struct weir_gather held; /* input that waits for room in the queue */
    struct http1_body body;

    struct http1_exchange *first; /* Own: oldest exchange of the queue */
    struct http1_exchange *last;
    size_t open; /* exchanges in the queue */

    uint64_t framed;    /* bytes of output handed out by pull(), ever */
    size_t pulled_from; /* while pull() runs: bytes that were in the list before */

    uint64_t idle_since_ms; /* when the last response was handed out, or the session opened */
    uint64_t head_since_ms; /* when the first byte of the stored head came */
};

/* ---- http1_session.c ---- */

/* Interpret what is held, as far as the queue has room.  Err: as feed(). */
WEIR_MUST_USE
enum weir_err http1_resume_input(struct http1 *h);

/* Interpret nothing more, and forget what is there already. */
void http1_end_input(struct http1 *h);

/* Count and log that the peer gets an answer of that status; gives what feed() says then. */
enum weir_err http1_blame(struct http1 *h, unsigned status);

/* ---- parse.c ---- */

/*
 * Read the head of scan->pos bytes into x, and set up what follows it.
 * Gives 0, or the status of the answer that is due.
 */
unsigned http1_parse_head(struct http1 *h, struct http1_exchange *x, uint8_t *bytes);

/* Show the parser `len` bytes of a body.  True if it agrees that the body ends there, or not. */
bool http1_parse_body(struct http1 *h, const uint8_t *bytes, size_t len, bool is_end);

/* ---- body.c ---- */

/* Take in bytes of a body; *used of them.  Err: as feed(). */
WEIR_MUST_USE
enum weir_err http1_take_body(struct http1 *h, const uint8_t *bytes, size_t len, size_t *used);

/* The body cannot be read to its end: answer with `status` if that is still possible. */
WEIR_MUST_USE
enum weir_err http1_fail_body(struct http1 *h, unsigned status);

/* A response starts while the body is under way: go on with the connection, or end it. */
void http1_settle_body(struct http1 *h, const struct http1_exchange *x);

/* When the body has to have moved on. */
uint64_t http1_body_deadline(const struct http1 *h);

/* ---- pull.c ---- */

/* See protocol.h. */
enum weir_err http1_pull(struct http1 *h, struct weir_gather *out, size_t budget);

#endif
