/* See epoll.h: accepting. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "epoll.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "listener.h"

void epoll_accept(struct io_epoll *e, const struct listener *l)
{
    for (int i = 0; i < LIMIT_ACCEPTS_PER_TURN && !e->is_paused; i++) {
        struct sockaddr_storage peer = {0};
        socklen_t peer_len = sizeof(peer);
        struct sockaddr *any = (struct sockaddr *)&peer;
        int fd = accept4(l->fd, any, &peer_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        epoll_stats(e)->calls.accept4++;
        if (fd == -1 && (errno == EAGAIN || errno == EINTR))
            return;
        if (fd == -1 && errno == ECONNABORTED)
            continue; /* that one is gone; the next may be there */
        e->io.env.events->on_accept(e->io.env.ctx, l, fd == -1 ? -errno : fd, any);
    }
}

static enum weir_err listener_watch(struct io_epoll *e, size_t i)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &e->listeners[i]};
    epoll_stats(e)->calls.epoll_ctl++;
    if (epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->listeners[i]->fd, &event) == 0)
        return WEIR_OK;
    log_errno(LV_ERROR, errno, "cannot watch a listening socket");
    return WEIR_IO;
}

enum weir_err epoll_listen(struct io *io, const struct listener *l)
{
    struct io_epoll *e = epoll_from(io);
    if (e->listener_count == EPOLL_LISTENERS_MAX) {
        log_line(LV_ERROR, "more than %d listening sockets", EPOLL_LISTENERS_MAX);
        return WEIR_CONFIG;
    }
    e->listeners[e->listener_count++] = l;
    return e->is_paused ? WEIR_OK : listener_watch(e, e->listener_count - 1);
}

void epoll_accept_pause(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (e->is_paused)
        return;
    e->is_paused = true;
    for (size_t i = 0; i < e->listener_count; i++) {
        epoll_stats(e)->calls.epoll_ctl++;
        epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, e->listeners[i]->fd, NULL);
    }
}

void epoll_accept_resume(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (!e->is_paused)
        return;
    e->is_paused = false;
    for (size_t i = 0; i < e->listener_count; i++)
        weir_ignore(listener_watch(e, i)); /* logged; the other listeners go on */
}

void epoll_refuse(struct io *io, int handle)
{
    epoll_stats(epoll_from(io))->calls.close++;
    close(handle);
}
