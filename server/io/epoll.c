/* See epoll.h: the turn, and the table of the back end. */
#include "epoll.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "helper.h"
#include "internal/log.h"
#include "internal/stats.h"

/* ms after which sockets that starve for memory are looked at again */
#define STARVED_WAIT_MS 10

static void epoll_fetch(struct io *io, struct fetch *f)
{
    helper_start(epoll_from(io)->helper, f);
}

/* ---- the turn ---- */

/* Work off what is queued now; what is queued meanwhile waits for the next time. */
static void epoll_work(struct io_epoll *e)
{
    struct sock_queue now = e->queue;
    e->queue = (struct sock_queue){0};
    struct io_sock *s;
    while ((s = sock_queue_take(&now)) != NULL)
        epoll_sock_work(e, s);
}

static void epoll_feed_starved(struct io_epoll *e)
{
    struct sock_queue now = e->starved;
    e->starved = (struct sock_queue){0};
    struct io_sock *s;
    while ((s = sock_queue_take(&now)) != NULL)
        sock_queue_put(&e->queue, s);
}

/* Called once in a turn, when there is nothing else to be done. */
static int epoll_wait_ms(struct io_epoll *e)
{
    int wait_ms = e->io.env.events->wait_ms(e->io.env.ctx);
    if (e->queue.first != NULL)
        return 0;
    if (e->starved.first != NULL && (wait_ms == -1 || wait_ms > STARVED_WAIT_MS))
        return STARVED_WAIT_MS;
    return wait_ms;
}

static void epoll_drain_wake(struct io_epoll *e)
{
    uint64_t count;
    epoll_stats(e)->calls.read++;
    if (read(e->wake_fd, &count, sizeof(count)) != sizeof(count))
        return;
    helper_deliver(e->helper);
    e->io.env.events->on_wake(e->io.env.ctx);
}

static void epoll_turn(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (e->starved.first != NULL)
        epoll_feed_starved(e);
    epoll_work(e); /* completions of what was started since the last turn */

    int n = epoll_wait(e->epoll_fd, e->events, EPOLL_EVENTS_PER_WAIT, epoll_wait_ms(e));
    epoll_stats(e)->calls.epoll_wait++;
    e->io.env.events->on_waited(e->io.env.ctx);

    /* First all flags, then all callbacks: a callback may free a socket that has an event. */
    bool is_awake = false;
    bool accepts[EPOLL_LISTENERS_MAX] = {false};
    for (int i = 0; i < n; i++) {
        void *ptr = e->events[i].data.ptr;
        const struct listener **l = ptr;
        if (ptr == &e->wake_fd)
            is_awake = true;
        else if (l >= e->listeners && l < e->listeners + EPOLL_LISTENERS_MAX)
            accepts[l - e->listeners] = true;
        else
            epoll_sock_on_event(e, &e->events[i]);
    }
    epoll_work(e);
    for (size_t i = 0; i < e->listener_count; i++) {
        if (accepts[i])
            epoll_accept(e, e->listeners[i]);
    }
    if (is_awake)
        epoll_drain_wake(e);
}

static void epoll_wake(struct io *io)
{
    const uint64_t one = 1;
    /* It fails only if 2^64-2 calls are pending, and then the loop wakes anyway. */
    ssize_t written = write(epoll_from(io)->wake_fd, &one, sizeof(one));
    (void)written;
}

/* Nothing of the pool is held when no socket is left. */
static void epoll_end(struct io *io)
{
    (void)io;
}

static void epoll_free(struct io *io)
{
    struct io_epoll *e = epoll_from(io);
    if (!helper_free(e->helper))
        return; /* its threads still wake this loop */
    if (e->epoll_fd != -1)
        close(e->epoll_fd);
    if (e->wake_fd != -1)
        close(e->wake_fd);
    free(e);
}

static enum weir_err epoll_open(const struct io_env *env, struct io **out)
{
    *out = NULL;
    struct io_epoll *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return WEIR_NOMEM;
    e->io = (struct io){.backend = &io_epoll_backend, .env = *env};
    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (helper_new(&e->io, &e->helper) != WEIR_OK) {
        epoll_free(&e->io);
        return WEIR_NOMEM;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &e->wake_fd};
    if (e->epoll_fd == -1 || e->wake_fd == -1 ||
        epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->wake_fd, &event) == -1) {
        log_errno(LV_ERROR, errno, "cannot set up epoll");
        epoll_free(&e->io);
        return WEIR_IO;
    }
    *out = &e->io;
    return WEIR_OK;
}

const struct io_backend io_epoll_backend = {
    .name = "epoll",
    .open = epoll_open,
    .end = epoll_end,
    .free = epoll_free,
    .listen = epoll_listen,
    .accept_pause = epoll_accept_pause,
    .accept_resume = epoll_accept_resume,
    .accept_end = epoll_accept_pause, /* closing the listeners refuses who waits there */
    .adopt = epoll_adopt,
    .refuse = epoll_refuse,
    .recv_start = epoll_recv_start,
    .recv_stop = epoll_recv_stop,
    .send = epoll_send,
    .limit_unsent = epoll_limit_unsent,
    .ask = epoll_ask,
    .end_sending = epoll_end_sending,
    .close = epoll_close_sock,
    .reset = epoll_reset,
    .fetch = epoll_fetch,
    .turn = epoll_turn,
    .wake = epoll_wake,
};
