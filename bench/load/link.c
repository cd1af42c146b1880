/* A connection: TCP, TLS 1.3 where asked for, bytes in and out.  RFC 8446 is OpenSSL's business. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "load.h"

#define READ_CAP (256 * 1024)

void slot_take_body(struct slot *s, const uint8_t *bytes, size_t len)
{
    if (len > s->target->len - s->got)
        load_fail("%s: a longer body than %zu bytes", s->target->path, s->target->len);
    if (memcmp(s->target->content + s->got, bytes, len) != 0)
        load_fail("%s: wrong bytes in the body after byte %zu", s->target->path, s->got);
    s->got += len;
}

void slot_check_status(struct slot *s, const struct load *l, unsigned status)
{
    if (status != l->status)
        load_fail("%s: status %u instead of %u", s->target->path, status, l->status);
    s->has_status = true;
}

struct slot *link_slot(struct link *k, uint32_t id)
{
    unsigned streams = k->load->streams;
    for (unsigned i = 0; i < streams; i++) {
        unsigned at = (k->hint + i) % streams;
        if (k->slots[at].target != NULL && k->slots[at].id == id) {
            k->hint = at;
            return &k->slots[at];
        }
    }
    return NULL;
}

uint8_t *link_reserve(struct link *k, size_t len)
{
    if (k->out_sent == k->out_len)
        k->out_sent = k->out_len = 0;
    if (k->out_len + len > k->out_cap) {
        size_t cap = (k->out_len + len) * 2;
        k->out = realloc(k->out, cap);
        if (k->out == NULL)
            load_fail("out of memory");
        k->out_cap = cap;
    }
    k->out_len += len;
    return k->out + k->out_len - len;
}

static void link_watch(struct link *k, bool write_too)
{
    if (k->wants_write == write_too)
        return;
    k->wants_write = write_too;
    struct epoll_event event = {.events = EPOLLIN | (write_too ? EPOLLOUT : 0U), .data.ptr = k};
    if (epoll_ctl(k->load->epoll, EPOLL_CTL_MOD, k->fd, &event) == -1)
        load_fail("epoll_ctl: errno %d", errno);
}

void link_open(struct link *k)
{
    struct load *l = k->load;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(l->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    k->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (k->fd == -1 || connect(k->fd, (struct sockaddr *)&to, sizeof(to)) == -1)
        load_fail("connection %llu: errno %d", (unsigned long long)l->connects, errno);
    int on = 1;
    setsockopt(k->fd, IPPROTO_TCP, l->is_batched ? TCP_CORK : TCP_NODELAY, &on, sizeof(on));
    fcntl(k->fd, F_SETFL, O_NONBLOCK);
    k->wants_write = false;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = k};
    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, k->fd, &event) == -1)
        load_fail("epoll_ctl: errno %d", errno);
    l->connects++;
    k->in = (struct inbox){.left = 0};
    k->out_len = k->out_sent = 0;
    k->asked = 0;
    k->next_id = 1;
    k->room = l->streams;
    k->state = LINK_HANDSHAKE;
    if (l->is_tls) {
        k->ssl = SSL_new(l->tls);
        if (k->ssl == NULL || SSL_set_fd(k->ssl, k->fd) != 1)
            load_fail("out of memory");
        SSL_set_connect_state(k->ssl);
        if (k->session != NULL)
            SSL_set_session(k->ssl, k->session);
    }
    link_on_event(k);
}

/*
 * Orderly, and then wait for the server to do the same: it may forget a session whose connection
 * was cut, and closing with unread bytes cuts it.
 */
void link_close(struct link *k)
{
    k->load->protocol->finish(k);
    link_flush(k);
    if (k->ssl != NULL) {
        if (k->load->is_resuming) { /* with its newest ticket, as far as it was given one */
            SSL_SESSION_free(k->session);
            k->session = SSL_get1_session(k->ssl);
        }
        ERR_clear_error();
        SSL_shutdown(k->ssl);
    }
    shutdown(k->fd, SHUT_WR);
    k->state = LINK_CLOSING;
    k->load->open--;
}

static void link_await_end(struct link *k, uint8_t *bytes, size_t cap)
{
    ssize_t got;
    do
        got = recv(k->fd, bytes, cap, 0);
    while (got > 0);
    if (got == -1 && errno == EAGAIN)
        return;
    SSL_free(k->ssl);
    k->ssl = NULL;
    close(k->fd);
    k->state = LINK_CLOSED;
    run_closed(k);
}

static void link_check_tls(struct link *k)
{
    const unsigned char *alpn;
    unsigned alpn_len;
    SSL_get0_alpn_selected(k->ssl, &alpn, &alpn_len);
    const char *wanted = k->load->protocol->alpn;
    if (alpn_len != (unsigned)wanted[0] || memcmp(alpn, wanted + 1, alpn_len) != 0)
        load_fail("ALPN: %s was not selected", wanted + 1);
    if (SSL_session_reused(k->ssl))
        k->load->resumed++;
}

/* Whether the handshake is through. */
static bool link_shake(struct link *k)
{
    if (k->ssl != NULL) {
        ERR_clear_error();
        int got = SSL_do_handshake(k->ssl);
        if (got != 1) {
            int why = SSL_get_error(k->ssl, got);
            if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
                load_fail("TLS: %s", ERR_reason_error_string(ERR_peek_error()));
            link_watch(k, why == SSL_ERROR_WANT_WRITE);
            return false;
        }
        link_check_tls(k);
    }
    k->state = LINK_OPEN;
    k->load->open++;
    k->load->protocol->start(k);
    return true;
}

/* Bytes read, 0 where there are none for now. */
static size_t link_read(struct link *k, uint8_t *into, size_t cap)
{
    if (k->ssl == NULL) {
        ssize_t got = recv(k->fd, into, cap, 0);
        if (got == -1 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (got <= 0)
            load_fail("the server closed a connection (errno %d)", got == 0 ? 0 : errno);
        return (size_t)got;
    }
    ERR_clear_error();
    int got = SSL_read(k->ssl, into, (int)cap);
    if (got > 0)
        return (size_t)got;
    if (SSL_get_error(k->ssl, got) != SSL_ERROR_WANT_READ)
        load_fail("the server closed a connection (TLS)");
    return 0;
}

void link_flush(struct link *k)
{
    while (k->out_sent < k->out_len) {
        size_t len = k->out_len - k->out_sent;
        ssize_t sent;
        if (k->ssl == NULL) {
            sent = send(k->fd, k->out + k->out_sent, len, MSG_NOSIGNAL);
        } else {
            ERR_clear_error();
            sent = SSL_write(k->ssl, k->out + k->out_sent, (int)len);
        }
        if (sent <= 0) {
            if (k->ssl == NULL ? errno != EAGAIN
                               : SSL_get_error(k->ssl, (int)sent) != SSL_ERROR_WANT_WRITE)
                load_fail("the server closed a connection while we were sending");
            link_watch(k, true);
            return;
        }
        k->out_sent += (size_t)sent;
    }
    link_watch(k, false);
}

static void link_work(struct link *k)
{
    static uint8_t bytes[READ_CAP];
    if (k->state == LINK_CLOSED || (k->state == LINK_HANDSHAKE && !link_shake(k)))
        return;
    if (k->state == LINK_CLOSING) {
        link_await_end(k, bytes, sizeof(bytes));
        return;
    }
    size_t got;
    /* A cleartext read that was not filled up has emptied the socket. */
    while ((got = link_read(k, bytes, sizeof(bytes))) > 0) {
        k->load->protocol->take(k, bytes, got);
        if (k->ssl == NULL && got < sizeof(bytes))
            break;
        if (k->state != LINK_OPEN)
            return; /* this was the end of the connection */
    }
    if (k->state == LINK_OPEN)
        run_ask(k);
}

/* What a batched connection has written leaves now, as far as it fits into a segment, in one. */
static void link_push(struct link *k)
{
    int on = 1;
    setsockopt(k->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void link_on_event(struct link *k)
{
    link_work(k);
    if (k->load->is_batched && k->state != LINK_CLOSED)
        link_push(k);
}
