/*
 * How many completions a wait is to end with.
 *
 * A loop that wakes for each request pays for each with a sleep and a system call.  While requests
 * come quickly it waits for a few of them, but no longer than URING_PATIENCE_NS; as a network card
 * does that gathers packets before it interrupts.
 *
 *     completions of a wait = sends that end as they are handed over + goal
 *
 * The goal is learnt: it shrinks to what came when the time was over, and grows by one when it was
 * reached often.  It stays at one where connections are few: they would wait for each other.  Where
 * requests are rare there is no patience at all: the first completion, of whatever, ends the wait.
 *
 * What it costs, at a constant rate over 50 connections: at 18,000 requests a second nothing that
 * could be seen, at 30,000 the median latency rises from 60 to some 110 us, at 60,000, nearly all
 * of a core, from 62 to 132, while p99 stays (377, 394).  One connection is answered as ever.
 */
#ifndef IO_URING_PATIENCE_H
#define IO_URING_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a request can lose by it: about what it takes to answer a few others. */
#define URING_PATIENCE_NS 50000
/* Mean time between receptions above which a wait of that length sees one at most.  Measured: 400
 * TLS connections of four streams, which send every 50 us, cost 0.89 of epoll with it, 0.94 with
 * 40000. */
#define URING_PATIENCE_GAP_NS 60000
/* Eight requests to a call: of what a call and a sleep cost, an eighth is left to each. */
#define URING_PATIENCE_GOAL_MAX 8
/* open connections for each that is waited for */
#define URING_PATIENCE_SOCKETS ((size_t)8)

struct uring_patience {
    uint64_t ended_ns; /* when the last wait ended */
    uint64_t gap_ns;   /* mean time from one reception to the next, lately */
    unsigned goal;     /* receptions to wait for */
    unsigned streak;   /* waits that have reached it, one after the other */
    bool is_patient;   /* the wait under way may last for URING_PATIENCE_NS without an end */
};

/* At first nothing is known to come quickly. */
void uring_patience_init(struct uring_patience *p);

/*
 * A wait is about to begin.  `sends` completions will be there at once, and do not count as
 * receptions; `sockets` are open.
 * Gives the completions to wait for; p->is_patient tells whether to give up after a while.
 */
unsigned uring_patience_begin(struct uring_patience *p, unsigned sends, size_t sockets);

/* It has ended, with `ready` completions.  One that had nothing to wait for needs no begin. */
void uring_patience_end(struct uring_patience *p, uint64_t now_ns, unsigned sends, unsigned ready);

#endif
