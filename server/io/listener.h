/*
 * Listening sockets: their addresses as an operator writes them, and the options that accepted
 * connections inherit (so that none costs a call per connection).
 */
#ifndef IO_LISTENER_H
#define IO_LISTENER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "weir/err.h"

/* "127.0.0.1:8080", "[::1]:8443", "localhost:80", "*:80", "unix:/run/weir.sock" */
struct listen_address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } addr;
    socklen_t len;
};

/* What the peers of a listener may speak. */
enum listener_speaks { LISTENER_ANY, LISTENER_H2, LISTENER_HTTP1 };

struct listener {
    int fd;
    bool is_tls;
    enum listener_speaks speaks;
};

#define LISTEN_TEXT_MAX 160

/* Parse an address.  Err: WEIR_CONFIG, and `why` (why_len bytes) says what is wrong with it. */
WEIR_MUST_USE
enum weir_err listen_address_parse(const char *text, struct listen_address *out, char *why,
                                   size_t why_len);

/* Write an address as text: "127.0.0.1:8080", "[::1]:80", "unix:/run/weir.sock". */
void listen_address_format(const struct listen_address *a, char out[LISTEN_TEXT_MAX]);

/*
 * Open `count` sockets on one address, which share its connections: TCP by SO_REUSEPORT, unix
 * sockets as duplicates of one.  Port 0 is replaced in *a by the one that was given.
 * Own: fds[0..count) are the caller's to close.
 * Err: WEIR_IO, logged: in use, not permitted, no such address.
 */
WEIR_MUST_USE
enum weir_err listen_open(struct listen_address *a, int *fds, size_t count);

/* Remove the path of a unix socket; nothing for others. */
void listen_address_unlink(const struct listen_address *a);

#endif
