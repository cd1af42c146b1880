/*
 * The state of one HTTP/2 connection.  Callbacks (callbacks.c) and output (output.c) work on it;
 * session.c is the protocol table.
 *
 * Invariant: once `error` is set the session is never fed again; what is left is to flush GOAWAY.
 */
#ifndef H2_SESSION_H
#define H2_SESSION_H

#include <nghttp2/nghttp2.h>

#include "budget.h"
#include "departed.h"
#include "fields.h"
#include "ids.h"
#include "input.h"
#include "internal/protocol.h"
#include "memory.h"
#include "section.h"
#include "send_window.h"
#include "stream.h"
#include "streams.h"

/*
 * OPEN ──▶ NOTIFIED ──▶ LEAVING ──▶ ENDING
 *   └──────────┴────────────┴─────────▲
 * NOTIFIED: GOAWAY with 2^31-1 and a PING are out, new streams are still taken.
 * LEAVING:  GOAWAY with the last stream is out, open streams are finished.
 * ENDING:   a GOAWAY with an error, ours or nghttp2's; nothing is read any more.
 */
enum h2_state { H2_OPEN, H2_NOTIFIED, H2_LEAVING, H2_ENDING };

struct h2_conn {
    uint32_t magic; /* H2_CONN_MAGIC: this object travels as void pointer through nghttp2 */
    enum h2_state state;
    nghttp2_session *ng;
    struct h2_memory memory;
    const struct protocol_env *env;
    struct protocol_host *host;

    bool settings_received; /* the client's preface is complete */
    bool settings_acked;    /* the client has acknowledged ours */
    bool peer_ended;        /* the client sends nothing more */
    bool is_pumping;        /* inside feed or pull: no need to wake the connection */
    bool is_blocked;        /* the last pull stopped for its budget */
    uint32_t error;         /* NGHTTP2_*: why the connection must end; 0 for not */
    enum weir_err fatal;    /* not OK: there is nothing more to be said */

    struct budget budget;
    struct input input;
    struct send_window window;
    struct section section;
    struct fields_encoder fields;
    struct ids ids;

    struct h2_streams live;    /* open in nghttp2 or owned by a handler */
    struct h2_streams leaving; /* closed, mapped bytes still in the gather list, or no room in
                                * departed; oldest first */
    struct departed departed;  /* closed, other bytes still in the gather list */
    struct list ending;        /* whose body has been framed, and whose end waits for it to leave */
    uint32_t stream_count;     /* of all three */
    uint32_t unanswered;       /* handed to a handler that has not answered */
    uint32_t waiting;          /* answered by a source that has said AGAIN */

    struct weir_gather *out; /* Borrowed: while pull runs */
    size_t out_budget;       /* bytes that out may hold */
    uint64_t framed;         /* bytes ever appended to out */

    struct progress progress; /* of responses under way */

    uint64_t opened_ms;   /* when the session was opened */
    uint64_t settings_ms; /* when our SETTINGS went out; 0 before */
    uint64_t idle_ms;     /* when the last stream was closed, or the session was opened */
    uint64_t notified_ms; /* when the first GOAWAY was queued */
};

#define H2_CONN_MAGIC 0x68326376U

/* The typed object of a callback's user data. */
struct h2_conn *h2_conn_from(void *opaque);

/* The connection must end with this error code: noted, done at the end of feed or pull. */
void h2_conn_fail(struct h2_conn *h, uint32_t error_code);

/* Such an end is noted: nothing more is taken in. */
static inline bool h2_conn_has_failed(const struct h2_conn *h)
{
    return h->error != 0 || h->fatal != WEIR_OK;
}

/* Give bytes to nghttp2, which calls back (callbacks.c).  Errors are noted. */
void h2_conn_pass(struct h2_conn *h, const uint8_t *bytes, size_t len);

/* The same for an error of ours.  WEIR_OK is ignored. */
void h2_conn_fail_with(struct h2_conn *h, enum weir_err err);

/* Memory ran out somewhere in nghttp2: see memory.h.  Answers whether it did. */
bool h2_conn_is_spent(struct h2_conn *h);

/* Output may have become ready outside of feed and pull. */
void h2_conn_wake(struct h2_conn *h);

/* callbacks.c: shared by all sessions of the process, made once.  Thread: any. */
struct h2_shared {
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
};
WEIR_MUST_USE
enum weir_err h2_shared_get(const struct h2_shared **out);

/* output.c: what nghttp2 calls to write. */
ssize_t h2_output_send(struct h2_conn *h, const uint8_t *bytes, size_t len);
int h2_output_send_data(struct h2_conn *h, struct h2_stream *s, const uint8_t *head, size_t len,
                        bool is_last);
ssize_t h2_output_read(struct h2_stream *s, size_t max, uint32_t *flags);

#endif
