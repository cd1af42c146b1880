/*
 * weir-load: a client with one thread that asks by a schedule and checks every byte of every
 * answer.
 *
 *     main.c   options, files, the report
 *     run.c    who asks when: closed loop, batches, or a constant rate
 *     link.c   a connection: TCP, TLS 1.3, bytes in and out
 *     h2.c     HTTP/2 over it;  h1.c  HTTP/1.1 over it
 *
 * Whatever is not the expected answer ends the program: load_fail() does not return.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

/* A file to ask for, and what its bytes must be. */
struct target {
    char *path;
    const uint8_t *content;
    size_t len;
};

/* A request on its way. */
struct slot {
    const struct target *target; /* NULL: the slot is free */
    uint32_t id;                 /* stream of HTTP/2, number of the request in HTTP/1.1 */
    uint64_t due_ns;             /* when it should have been sent */
    size_t got;                  /* bytes of the body so far */
    bool has_status;
};

enum link_state { LINK_IDLE, LINK_HANDSHAKE, LINK_OPEN, LINK_CLOSING, LINK_CLOSED };

/* What has been read of the message or frame that is not yet complete. */
struct inbox {
    uint8_t head[9]; /* of a frame */
    uint8_t head_len;
    uint8_t kept[8192]; /* the beginning of a payload, or the head of a response */
    size_t kept_len;
    size_t left;        /* bytes of the payload or body that are still to come */
    struct slot *slot;  /* whose they are */
    bool is_in_body;    /* HTTP/1.1: the head is through */
    uint32_t answered;  /* HTTP/1.1: responses begun */
    uint32_t consumed;  /* HTTP/2: bytes of DATA since the last WINDOW_UPDATE */
    bool has_authority; /* HTTP/2: the peer's table has what all requests share */
};

struct link {
    struct load *load;
    int fd;
    enum link_state state;
    bool wants_write;
    SSL *ssl;
    SSL_SESSION *session; /* to resume, from the connection before */
    struct slot *slots;
    unsigned in_flight;
    unsigned room; /* most that may be in flight: ours or the peer's limit */
    unsigned hint; /* slot that is looked at first */
    uint32_t next_id;
    unsigned asked;   /* requests of this connection */
    uint64_t next_at; /* at a constant rate: number of its next request in the schedule */
    uint8_t *out;
    size_t out_len;
    size_t out_sent;
    size_t out_cap;
    struct inbox in;
};

struct protocol {
    void (*start)(struct link *k);
    void (*ask)(struct link *k, struct slot *s);
    void (*take)(struct link *k, const uint8_t *bytes, size_t len);
    void (*finish)(struct link *k);
    const char *alpn; /* with the length in front */
};
extern const struct protocol protocol_h2;
extern const struct protocol protocol_h1;

struct load {
    /* what is asked for */
    const struct protocol *protocol;
    const char *authority;
    const char *fields[8]; /* "name: value" */
    unsigned field_count;
    unsigned status;
    bool is_tls;
    bool is_resuming;
    bool is_batched;
    bool is_waiting; /* for a line on standard input, when all are connected */
    bool is_held;    /* the connections stay open until standard input ends */
    uint16_t port;
    struct target *targets;
    size_t target_count;
    const uint8_t *content; /* of all targets, where one block holds it */
    unsigned connections;
    unsigned streams;
    unsigned per_connection; /* 0: no limit */
    uint64_t total;          /* requests */
    double rate;             /* 0: closed loop */
    uint64_t skip;           /* requests at the beginning that are not recorded */
    SSL_CTX *tls;

    /* as it goes */
    int epoll;
    struct link *links;
    unsigned open;
    bool is_started;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t start_cpu_ns; /* our own run time when the requests began */
    uint64_t issued;
    uint64_t done;
    uint64_t bytes;
    uint64_t connects;
    uint64_t resumed;
    uint64_t recorded;
    uint64_t *latency_ns; /* from the intended time to the last byte */
    uint64_t *late_ns;    /* from the intended time to when it was sent */
};

__attribute__((noreturn, format(printf, 1, 2))) void load_fail(const char *format, ...);
uint64_t load_now_ns(void);
uint64_t load_cpu_ns(void); /* run time of this program */

void run(struct load *l);
/* A link has come up, or has room again: ask for what is due. */
void run_ask(struct link *k);
/* All of an answer is there. */
void run_answered(struct link *k, struct slot *s);
/* A link is gone: open another in its place if there is work for it. */
void run_closed(struct link *k);
/* When request number `number` of a constant rate is due. */
uint64_t run_due_ns(const struct load *l, uint64_t number);

void link_open(struct link *k);
void link_close(struct link *k);
void link_on_event(struct link *k);
void link_flush(struct link *k);
uint8_t *link_reserve(struct link *k,
                      size_t len); /* room for bytes to be sent; all of it is used */
struct slot *link_slot(struct link *k, uint32_t id);
void slot_take_body(struct slot *s, const uint8_t *bytes, size_t len);
void slot_check_status(struct slot *s, const struct load *l, unsigned status);
