/* See listener.h. */
#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal/limits.h"
#include "internal/log.h"

static enum weir_err parse_unix(const char *path, struct listen_address *out, char *why,
                                size_t why_len)
{
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof(out->addr.un.sun_path)) {
        snprintf(why, why_len, "a unix socket's path has 1 to %zu bytes",
                 sizeof(out->addr.un.sun_path) - 1);
        return WEIR_CONFIG;
    }
    out->addr.un.sun_family = AF_UNIX;
    memcpy(out->addr.un.sun_path, path, len + 1);
    out->len = sizeof(out->addr.un);
    return WEIR_OK;
}

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    long port = 0;
    for (size_t i = 0; i < digits; i++)
        port = port * 10 + (text[i] - '0');
    return port <= 65535;
}

enum weir_err listen_address_parse(const char *text, struct listen_address *out, char *why,
                                   size_t why_len)
{
    *out = (struct listen_address){0};
    if (strncmp(text, "unix:", 5) == 0)
        return parse_unix(text + 5, out, why, why_len);

    const char *colon = strrchr(text, ':');
    if (colon == NULL || !is_port(colon + 1)) {
        snprintf(why, why_len, "expected ADDR:PORT, with a port from 0 to 65535, or unix:PATH");
        return WEIR_CONFIG;
    }
    char host[256];
    size_t len = (size_t)(colon - text);
    const char *from = text;
    if (len >= 2 && text[0] == '[' && text[len - 1] == ']') {
        from++;
        len -= 2;
    }
    if (len >= sizeof(host)) {
        snprintf(why, why_len, "the address is longer than %zu bytes", sizeof(host) - 1);
        return WEIR_CONFIG;
    }
    memcpy(host, from, len);
    host[len] = '\0';
    bool any = len == 0 || strcmp(host, "*") == 0;

    const struct addrinfo hints = {
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
        .ai_family = any ? AF_INET : AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    struct addrinfo *found = NULL;
    int rv = getaddrinfo(any ? NULL : host, colon + 1, &hints, &found);
    if (rv != 0) {
        snprintf(why, why_len, "the address cannot be resolved: %s", gai_strerror(rv));
        return WEIR_CONFIG;
    }
    memcpy(&out->addr, found->ai_addr, found->ai_addrlen);
    out->len = found->ai_addrlen;
    freeaddrinfo(found);
    return WEIR_OK;
}

void listen_address_format(const struct listen_address *a, char out[LISTEN_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN] = "?";
    switch (a->addr.any.sa_family) {
    case AF_UNIX: snprintf(out, LISTEN_TEXT_MAX, "unix:%s", a->addr.un.sun_path); break;
    case AF_INET6:
        inet_ntop(AF_INET6, &a->addr.in6.sin6_addr, host, sizeof(host));
        snprintf(out, LISTEN_TEXT_MAX, "[%s]:%u", host, ntohs(a->addr.in6.sin6_port));
        break;
    default:
        inet_ntop(AF_INET, &a->addr.in.sin_addr, host, sizeof(host));
        snprintf(out, LISTEN_TEXT_MAX, "%s:%u", host, ntohs(a->addr.in.sin_port));
        break;
    }
}

static int open_socket(const struct listen_address *a)
{
    return socket(a->addr.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value));
}

/* Our workers share a port; two servers must not do so unnoticed.  Gives 0 or errno. */
static int probe_port(const struct listen_address *a)
{
    int fd = open_socket(a);
    if (fd == -1)
        return errno;
    int err = 0;
    if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) == -1 || bind(fd, &a->addr.any, a->len) == -1)
        err = errno;
    close(fd);
    return err;
}

/* A TCP socket that listens, or -1 with errno. */
static int open_tcp(const struct listen_address *a)
{
    int fd = open_socket(a);
    if (fd == -1)
        return -1;
    if (set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) == -1 ||
        set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) == -1 ||
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) == -1 ||
        set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, LIMIT_NOTSENT_LOWAT) == -1 ||
        bind(fd, &a->addr.any, a->len) == -1 || listen(fd, LIMIT_BACKLOG) == -1) {
        int err = errno;
        close(fd);
        errno = err;
        return -1;
    }
    return fd;
}

/* A path that nobody answers on is what a server left that died; take it over. */
static void remove_stale(const struct listen_address *a)
{
    struct stat st;
    if (lstat(a->addr.un.sun_path, &st) == -1 || !S_ISSOCK(st.st_mode))
        return;
    int fd = open_socket(a);
    if (fd == -1)
        return;
    if (connect(fd, &a->addr.any, a->len) == -1 && errno == ECONNREFUSED)
        unlink(a->addr.un.sun_path);
    close(fd);
}

static int open_unix(const struct listen_address *a)
{
    remove_stale(a);
    int fd = open_socket(a);
    if (fd == -1)
        return -1;
    if (bind(fd, &a->addr.any, a->len) == -1 || listen(fd, LIMIT_BACKLOG) == -1) {
        int err = errno;
        close(fd);
        errno = err;
        return -1;
    }
    return fd;
}

enum weir_err listen_open(struct listen_address *a, int *fds, size_t count)
{
    bool is_unix = a->addr.any.sa_family == AF_UNIX;
    char text[LISTEN_TEXT_MAX];
    listen_address_format(a, text);
    int busy = is_unix ? 0 : probe_port(a);
    if (busy != 0) {
        log_errno(LV_ERROR, busy, "cannot listen on %s", text);
        return WEIR_IO;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_unix)
            fds[i] = open_tcp(a);
        else
            fds[i] = i == 0 ? open_unix(a) : dup(fds[0]);
        if (fds[i] == -1) {
            log_errno(LV_ERROR, errno, "cannot listen on %s", text);
            while (i-- > 0)
                close(fds[i]);
            return WEIR_IO;
        }
        /* The port that the first one was given is the others' as well. */
        if (i == 0 && !is_unix && getsockname(fds[0], &a->addr.any, &a->len) == -1)
            log_errno(LV_WARN, errno, "cannot tell the port of %s", text);
    }
    return WEIR_OK;
}

void listen_address_unlink(const struct listen_address *a)
{
    if (a->addr.any.sa_family == AF_UNIX)
        unlink(a->addr.un.sun_path);
}
