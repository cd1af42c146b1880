/*
 * The back end on io_uring, as its files share it.
 *
 *     turn:  work off what waits ──▶ refill buffers ──▶ submit and wait ──▶ dispatch completions
 *
 * Requests are written during a turn and go to the kernel together at the next wait, in the order
 * in which they were written.  When requests come quickly, a wait is for several of them
 * (uring_patience.h).  What a request refers to until the kernel has read it (lists of
 * addresses, message heads) lies in the scratch memory of the turn.
 *
 * A connection is a direct descriptor: an entry of the ring's own file table and none of the
 * process's.
 *
 * Invariant: a socket counts the completions that the kernel owes it, and on_closed() comes when
 *            there are none.  So no completion ever finds a socket that is gone.
 * Thread:    the one that made the ring, but for uring_wake().
 *
 * Files: uring.c has the turn and the table; uring_wait.c the one call of a turn; uring_ring.c
 * set-up and probe; uring_accept.c, uring_recv.c, uring_send.c, uring_zc.c (with uring_fixed.c),
 * uring_fetch.c and uring_close.c the requests.
 */
#ifndef IO_URING_H
#define IO_URING_H

#include <assert.h>
#include <liburing.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "internal/assert.h"
#include "io.h"
#include "sock_queue.h"
#include "list.h"
#include "uring_patience.h"

#define URING_SQ_ENTRIES 1024
/* completions that wait for us; the kernel keeps what does not fit (IORING_FEAT_NODROP) */
#define URING_CQ_ENTRIES 8192
#define URING_LISTENERS_MAX 16
/* accept requests of a listener that are under way at once */
#define URING_ACCEPTS 16
/* buffers that can be in the ring for receiving; a power of two */
#define URING_BUFFERS 1024
/* bytes for what requests of one turn refer to: four lists of LIMIT_IOVECS entries and more */
#define URING_SCRATCH_LEN ((size_t)128 * 1024)
#define URING_WHY_LEN 160
/* registered buffers: the one that holds the pool's memory, and how many there are */
#define URING_POOL_BUFFER 0
#define URING_POOL_BUFFERS 1
/* A send up to this length ends as it is handed over, for a socket has room for that. */
#define URING_PROMPT_SEND_MAX ((size_t)16 * 1024)

/* What a completion is of; in the low bits of its user_data, whose rest is an address. */
enum uring_op {
    URING_NONE,    /* nobody asks */
    URING_RECV,    /* io_sock */
    URING_SEND,    /* io_sock */
    URING_SEND_ZC, /* uring_zc */
    URING_SOCK,    /* io_sock: closing and its like, of which only the end matters */
    URING_FIN,     /* io_sock: shutdown() */
    URING_ASK,     /* io_sock: what is not acknowledged */
    URING_ACCEPT,  /* uring_accept */
    URING_WAKE,    /* the loop itself */
    URING_FETCH,   /* uring_fetch */
    URING_OPS
};
#define URING_OP_MASK 15U
static_assert(URING_OPS <= URING_OP_MASK + 1 && URING_OP_MASK < IO_SOCK_ALIGN,
              "they fit into the low bits");

/* io_sock.flags */
enum uring_sock_flag {
    URING_WANT_RECV = 1 << 0, /* between io_recv_start() and io_recv_stop() */
    URING_RECEIVES = 1 << 1,  /* a receive request is with the kernel */
    URING_CANCELS = 1 << 2,   /* that is being cancelled */
    URING_AT_END = 1 << 3,    /* result is the last thing to be received */
    URING_IS_CLOSED = 1 << 4, /* io_close() was called */
    URING_IS_RESET = 1 << 5,  /* or io_reset() */
    URING_FINISHES = 1 << 6,  /* a shutdown is with the kernel */
    URING_SENDS_ZC = 1 << 7,  /* large sends go by zero copy */
    URING_LEAVES = 1 << 8,    /* closed, but for pages that the kernel still sends from */
    URING_HAS_FIN = 1 << 9,   /* io_end_sending() was called */
};

/* Features of the kernel that are not required; bits, so that tests can leave some unused. */
enum uring_feature {
    URING_HAS_DEFER_TASKRUN = 1 << 0, /* 6.1: completions are made when we wait, not in between */
    URING_HAS_RECV_CAP = 1 << 1,      /* 6.17: a bound of bytes per socket and turn */
    URING_HAS_SETSOCKOPT = 1 << 2,    /* 6.7: options of direct descriptors */
    URING_HAS_SEND_ZC = 1 << 3,       /* 6.1: zero-copy sends */
    URING_HAS_ZC_REPORT = 1 << 4,     /* 6.2: which tell whether they were any */
    URING_HAS_FIXED = 1 << 5,         /* 6.0: such sends from registered buffers */
    URING_HAS_FIXED_LISTS = 1 << 6,   /* 6.15: and lists of addresses in one of these */
    URING_HAS_MADVISE = 1 << 7,       /* 5.6, but it may be filtered */
    URING_HAS_RING_FD = 1 << 8,       /* 5.18: a call need not look the ring's descriptor up */
};

/* How far away a peer is. */
enum uring_reach {
    URING_FAR,
    URING_LOOPBACK,
    URING_UNIX, /* these sockets have no zero copy */
};

/* An accept request; it owns the address that the kernel writes. */
struct uring_accept {
    _Alignas(IO_SOCK_ALIGN) struct uring *uring;
    const struct listener *listener;
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } peer;
    socklen_t peer_len;
    bool is_armed; /* with the kernel */
    int handle;    /* came while accepting was paused, and waits; -1: none */
};

struct uring_listener {
    struct uring_accept accepts[URING_ACCEPTS];
};

struct uring_buffers {
    struct io_uring_buf_ring *ring;         /* shared with the kernel */
    unsigned stock;                         /* buffers that are to be in it */
    unsigned count;                         /* buffers that are in it */
    unsigned added;                         /* of those, not yet shown to the kernel */
    unsigned free_count;                    /* ids in free_ids */
    uint16_t free_ids[URING_BUFFERS];       /* ids of no buffer */
    struct weir_buf *blocks[URING_BUFFERS]; /* by id.  Own */
};

/* Bytes that came for a socket that does not want any. */
struct io_held {
    struct io_held *next;
    struct weir_slice slice; /* Own */
};

/* A zero-copy send: what holds its slices until the kernel is done with them. */
struct uring_zc {
    struct io_sock *sock;
    bool is_fixed;              /* from a registered buffer */
    size_t max;                 /* room in slices */
    size_t count;               /* slices held */
    struct weir_slice slices[]; /* Own */
};

/* How much of the pool's memory, from its start on, is a registered buffer. */
struct uring_fixed {
    size_t len;
    size_t max;      /* as much as it may become */
    unsigned misses; /* sends from beyond it since it grew */
};

/* Pages that the kernel makes resident. */
struct uring_fetch {
    struct uring *uring;
    struct fetch *fetch; /* Borrowed */
};

struct uring {
    _Alignas(IO_SOCK_ALIGN) struct io io;
    struct io_uring ring;
    bool has_ring;     /* until io_end() */
    unsigned features; /* bits of enum uring_feature */
    unsigned files;    /* entries of the file table */
    int wake_fd;
    uint64_t wake_count;   /* where a read of wake_fd goes */
    uint32_t pending;      /* completions that the kernel owes the loop itself */
    unsigned prompt_sends; /* written since the last wait, and will not wait for the peer */
    size_t sock_count;     /* sockets of which on_closed() is to come */
    struct uring_patience patience;
    uint32_t populating;   /* fetches that are with the kernel */
    struct helper *helper; /* Own: carries out the others */
    bool is_paused;        /* accepting */
    bool accepts_no_more;  /* io_accept_end() was called */
    bool is_ended;         /* nothing is started any more */
    size_t accepted_count; /* handles that wait in accept requests */
    size_t listener_count;
    struct uring_listener listeners[URING_LISTENERS_MAX];
    struct uring_buffers buffers;
    struct uring_fixed fixed;
    struct sock_queue queue;   /* to be worked off in the next turn */
    struct sock_queue starved; /* want to receive, but the ring has no buffers */
    struct list leaving;       /* those with URING_LEAVES, by leave_ms */
    uint64_t leave_ms;         /* how long they may take from one notice to the next */
    uint8_t *reach;            /* by handle: enum uring_reach of its peer */
    size_t scratch_used;
    _Alignas(16) uint8_t scratch[URING_SCRATCH_LEN];
};

static inline struct uring *uring_from(struct io *io)
{
    return container_of(io, struct uring, io);
}

/* ---- uring.c ---- */

/*
 * Open a loop that leaves the features `without` unused, as on a kernel that lacks them.
 * Err: WEIR_IO, WEIR_NOMEM; logged.
 */
WEIR_MUST_USE
enum weir_err uring_open_without(const struct io_env *env, unsigned without, struct io **out);

/* A request to be prepared; without one of the two calls below nobody is told of its end. */
struct io_uring_sqe *uring_request(struct uring *u);

/* Where a prepared request's completions go: to `op` of `ptr`. */
void uring_tag(struct io_uring_sqe *sqe, enum uring_op op, void *ptr);

/* The same, and the socket waits for it before it counts as closed. */
void uring_sock_tag(struct io_sock *s, struct io_uring_sqe *sqe, enum uring_op op, void *ptr);

/* Cancel what has this op and pointer; nothing tells whether there was any. */
void uring_cancel(struct uring *u, enum uring_op op, void *ptr);

/* Hand over all requests and wait for completions: one call, or none if there is nothing to do. */
void uring_wait(struct uring *u, int wait_ms);

/* A call was made: what it handed over refers to our memory no more. */
void uring_note_call(struct uring *u, int rv);

/* Hand the requests over now. */
void uring_submit(struct uring *u);

/*
 * Memory that lasts until the next request has been handed over; len <= URING_SCRATCH_LEN.  That
 * request is not handed over before it is prepared.
 */
void *uring_scratch(struct uring *u, size_t len);

/* ---- uring_ring.c ---- */

/*
 * Make a ring with a file table, but without the features `without`.
 * Err: WEIR_IO, and `why` says in a few words what is missing.
 */
WEIR_MUST_USE
enum weir_err uring_ring_open(struct io_uring *ring, unsigned without, unsigned *features,
                              unsigned *files, char why[URING_WHY_LEN]);

/*
 * Make a ring and give it up again.
 * Err: as above.  Without one, `why` names the features that were found.
 */
WEIR_MUST_USE
enum weir_err uring_try(char why[URING_WHY_LEN]);

/* ---- uring_accept.c ---- */

WEIR_MUST_USE
enum weir_err uring_listen(struct io *io, const struct listener *l);
void uring_accept_pause(struct io *io);
void uring_accept_resume(struct io *io);
void uring_accept_end(struct io *io);
void uring_refuse(struct io *io, int handle);
void uring_on_accept(struct uring *u, struct uring_accept *a, int res);

/* Deliver what came while accepting was paused. */
void uring_accept_work(struct uring *u);

/* ---- uring_recv.c ---- */

WEIR_MUST_USE
enum weir_err uring_buffers_open(struct uring *u);
void uring_buffers_close(struct uring *u); /* after the ring */
void uring_buffers_refill(struct uring *u);
void uring_recv_start(struct io_sock *s);
void uring_recv_stop(struct io_sock *s);
void uring_recv_feed_starved(struct uring *u);
void uring_recv_work(struct io_sock *s);
void uring_recv_forget(struct io_sock *s); /* what is held */
void uring_on_recv(struct io_sock *s, int res, uint32_t flags);

/* ---- uring_send.c ---- */

void uring_send(struct io_sock *s, struct weir_gather *g);
void uring_limit_unsent(struct io_sock *s, size_t bytes);
void uring_ask(struct io_sock *s);
void uring_end_sending(struct io_sock *s);
void uring_on_send(struct io_sock *s, int res);
void uring_on_told(struct io_sock *s, int res);

/* The same for any way of sending: count and deliver. */
void uring_sent(struct io_sock *s, int res);

/* Send what was to be sent once more, unless the socket is closed: then it counts as not sent. */
void uring_resend(struct io_sock *s);

/* ---- uring_zc.c ---- */

/* Whether a send of that size is to be one of zero copy. */
bool uring_zc_is_due(const struct io_sock *s, size_t len);

/* What a send of `count` entries needs, or NULL: send as usual then. */
struct uring_zc *uring_zc_new(struct io_sock *s, size_t count);

/* Make a request of it. */
void uring_zc_prepare(struct io_uring_sqe *sqe, struct uring_zc *z, const struct msghdr *msg);
void uring_on_send_zc(struct uring_zc *z, int res, uint32_t flags);

/* ---- uring_fixed.c ---- */

void uring_fixed_open(struct uring *u);

/*
 * Whether all these bytes can be sent from URING_POOL_BUFFER, which may be made longer for them.
 * False: they go as they are.
 */
bool uring_fixed_covers(struct uring *u, const struct iovec *iov, size_t count);

/* The kernel would not send from there: nothing is, from now on.  err: why, -errno. */
void uring_fixed_give_up(struct uring *u, int err);

/* ---- uring_fetch.c ---- */

void uring_fetch(struct io *io, struct fetch *f);
void uring_on_fetch(struct uring_fetch *p, int res);

/* ---- uring_close.c ---- */

WEIR_MUST_USE
enum weir_err uring_adopt(struct io *io, struct io_sock *s, int handle);
void uring_close(struct io_sock *s);
void uring_reset(struct io_sock *s);

/* The end of a request that has no other result, and of a shutdown. */
void uring_on_sock(struct io_sock *s);
void uring_on_fin(struct io_sock *s);

/* A completion of a zero-copy send has come: the kernel may have done with some pages. */
void uring_leave_on(struct io_sock *s);

/* Cut those that have not got on for too long; gives the ms until the next is due, -1: none. */
int uring_leave_check(struct uring *u);

/* on_closed(), if the kernel owes nothing more: the last line of every completion of a socket. */
void uring_sock_settle(struct io_sock *s);

#endif
