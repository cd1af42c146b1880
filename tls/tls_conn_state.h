/*
 * The inside of a connection, for tls/ and its tests.
 */
#ifndef TLS_CONN_STATE_H
#define TLS_CONN_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alert.h"
#include "internal/limits.h"
#include "tls_conn.h"
#include "keys.h"
#include "record.h"
#include "weir/gather.h"

struct handshake;

#define KEY_UPDATE_LEN 5 /* bytes of a KeyUpdate: the only handshake message that is welcome */

enum tls_read { TLS_READ_HANDSHAKE, TLS_READ_OPEN, TLS_READ_ENDED, TLS_READ_FAILED };
enum tls_write { TLS_WRITE_OPEN, TLS_WRITE_CLOSING, TLS_WRITE_CLOSED };

struct tls_conn {
    const struct tls_ctx *ctx;      /* Borrowed */
    const struct tls_env *env;      /* Borrowed */
    const char *alpn;               /* Borrowed: the one protocol to take; NULL: any of ours */
    struct handshake *handshake;    /* Own: from the first byte until the handshake is done */
    const struct keys_suite *suite; /* Borrowed: of ctx; NULL until the handshake is done */
    struct record_keys rx;          /* what the peer seals with */
    struct record_keys tx;          /* what we seal with */
    struct weir_gather out;         /* bytes of the handshake that are to be sent */
    const char *fault;              /* why it failed.  Borrowed: a literal */

    struct weir_buf *partial; /* Own: record whose rest has not come; NULL if head is not whole */
    uint32_t partial_len;     /* bytes of it that have come, head included */
    uint16_t body_len;        /* of it */
    uint8_t head[RECORD_HEAD_LEN]; /* its head */
    uint8_t head_len;              /* bytes of head that have come; 0: no record is begun */

    enum tls_read read;
    enum tls_write write;
    enum weir_err end;  /* what feed answers once read is ENDED or FAILED */
    uint8_t alert;      /* enum alert that is due; ALERT_NONE */
    bool is_update_due; /* the peer asked for a KeyUpdate */
    bool is_h2;         /* ALPN */
    bool is_resumed;
    uint8_t message[KEY_UPDATE_LEN]; /* handshake message whose rest has not come */
    uint8_t message_len;

    uint8_t key_updates;   /* in a row without application data */
    uint8_t empty_records; /* the same */
    uint8_t warnings;      /* the same */

    uint16_t text_max;  /* bytes of content that a record may have, either way */
    uint32_t burst;     /* bytes sealed since the start or the last pause */
    uint64_t sealed_ms; /* when something was sealed last */
};

/* Content of a record has come: act on it.  inbound.c.  Err: as tls_conn_feed(). */
enum weir_err inbound_content(struct tls_conn *c, struct weir_buf *buf,
                              struct record_content content, struct weir_gather *plain);

/* Bytes behind the handshake have come.  inbound.c.  Err: as tls_conn_feed(). */
enum weir_err inbound_feed(struct tls_conn *c, struct weir_buf *buf, uint8_t *bytes, size_t len,
                           struct weir_gather *plain);

/*
 * In builds for measurement: records by OpenSSL instead of by seal_plain().  copy.c.
 * Err: as tls_conn_seal().
 */
enum weir_err copy_seal_plain(struct tls_conn *c, struct weir_gather *plain,
                              struct weir_gather *wire, size_t budget);

/* Fail by an alert of ours; gives WEIR_PROTO.  fault: a literal. */
enum weir_err conn_fail(struct tls_conn *c, enum alert alert, const char *fault);

/* The peer's direction has ended for reason `end`, which it gives. */
enum weir_err conn_end(struct tls_conn *c, enum tls_read state, enum weir_err end);

#endif
