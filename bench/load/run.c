/*
 * Who asks when.
 *
 * Closed loop: each connection keeps its streams busy; a request is due when it is sent.  Batched:
 * a connection asks for all at once, and again when all of them are answered, and until then says
 * nothing else, so that the server sees the same bytes in the same pieces every time.  Constant
 * rate: request n is due n/rate after the start on connection n mod c, whether the answers come or
 * not, and its latency counts from then.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define EVENTS 256
#define HELD_AT_ONCE 4
#define PATIENCE_NS 30000000000ULL /* without a single answer */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint64_t load_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t load_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t run_due_ns(const struct load *l, uint64_t number)
{
    return l->start_ns + (uint64_t)((double)number * 1e9 / l->rate);
}

static void issue(struct link *k, uint64_t due_ns, uint64_t now_ns)
{
    struct load *l = k->load;
    unsigned at = k->hint;
    while (k->slots[at].target != NULL)
        at = (at + 1) % l->streams;
    struct slot *s = &k->slots[at];
    *s = (struct slot){.target = &l->targets[l->issued % l->target_count], .due_ns = due_ns};
    if (l->issued >= l->skip)
        l->late_ns[l->issued - l->skip] = now_ns - due_ns;
    l->protocol->ask(k, s);
    l->issued++;
    k->asked++;
    k->in_flight++;
}

static void ask_by_schedule(struct link *k, uint64_t now_ns)
{
    struct load *l = k->load;
    while (k->in_flight < k->room && k->next_at < l->total) {
        uint64_t due_ns = run_due_ns(l, k->next_at);
        if (due_ns > now_ns)
            return;
        issue(k, due_ns, now_ns);
        k->next_at += l->connections;
    }
}

void run_ask(struct link *k)
{
    struct load *l = k->load;
    if (l->is_batched && k->in_flight > 0 && !k->wants_write)
        return;
    if (l->is_started) {
        uint64_t now_ns = load_now_ns();
        if (l->rate > 0) {
            ask_by_schedule(k, now_ns);
        } else {
            while (k->in_flight < k->room && l->issued < l->total &&
                   (l->per_connection == 0 || k->asked < l->per_connection))
                issue(k, now_ns, now_ns);
        }
    }
    link_flush(k);
}

void run_answered(struct link *k, struct slot *s)
{
    struct load *l = k->load;
    size_t whole = l->status == 304 ? 0 : s->target->len;
    if (!s->has_status || s->got != whole)
        load_fail("%s: %zu of %zu bytes", s->target->path, s->got, whole);
    l->bytes += s->got;
    l->end_ns = load_now_ns();
    if (l->done >= l->skip)
        l->latency_ns[l->recorded++] = l->end_ns - s->due_ns;
    l->done++;
    s->target = NULL;
    k->in_flight--;
    if (l->per_connection == 0 || k->asked < l->per_connection || k->in_flight > 0 || l->is_held)
        return;
    link_close(k);
}

void run_closed(struct link *k)
{
    struct load *l = k->load;
    if (l->done < l->total && l->connects * l->per_connection < l->total)
        link_open(k);
}

/* Until then nothing but handshakes has been asked of the server. */
static void await_line(const struct load *l)
{
    char byte;
    fprintf(stderr, "connected %u\n", l->open);
    if (read(STDIN_FILENO, &byte, 1) != 1)
        load_fail("nobody said when to start");
}

static void start(struct load *l)
{
    if (l->is_waiting)
        await_line(l);
    l->is_started = true;
    l->start_cpu_ns = load_cpu_ns();
    l->start_ns = load_now_ns();
    for (unsigned i = 0; i < l->connections; i++) {
        l->links[i].next_at = i;
        if (l->links[i].state == LINK_OPEN)
            run_ask(&l->links[i]);
    }
}

/* Milliseconds are too coarse: at 200,000 requests per second one is due every 5 us. */
static struct timespec until_next(const struct load *l, uint64_t number)
{
    if (l->rate <= 0 || !l->is_started || number >= l->total)
        return (struct timespec){.tv_nsec = 100000000};
    uint64_t due_ns = run_due_ns(l, number);
    uint64_t now_ns = load_now_ns();
    uint64_t wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    return (struct timespec){.tv_sec = (time_t)(wait_ns / 1000000000),
                             .tv_nsec = (long)(wait_ns % 1000000000)};
}

/* Requests that have become due, each on its connection; gives the number of the next one. */
static uint64_t ask_what_is_due(struct load *l, uint64_t number)
{
    uint64_t now_ns = load_now_ns();
    uint64_t first = number;
    while (number < l->total && run_due_ns(l, number) <= now_ns)
        number++;
    uint64_t links = number - first < l->connections ? number - first : l->connections;
    for (uint64_t i = 0; i < links; i++)
        run_ask(&l->links[(first + i) % l->connections]);
    return number;
}

static void hold(struct load *l)
{
    char byte;
    fprintf(stderr, "holding %u\n", l->open);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

/*
 * Open connections from number `opened` on; gives how many there are then.  Those that are to be
 * held come, and are answered, a few at a time: what a burst of all leaves behind is not what idle
 * ones cost.
 */
static unsigned open_some(struct load *l, unsigned opened)
{
    while (opened < l->connections && opened < l->total &&
           (!l->is_held || (uint64_t)opened * l->per_connection <
                               l->done + (uint64_t)HELD_AT_ONCE * l->per_connection))
        link_open(&l->links[opened++]);
    return opened;
}

static void await_event(const struct load *l)
{
    struct epoll_event event;
    if (epoll_wait(l->epoll, &event, 1, -1) == 1)
        link_on_event(event.data.ptr);
}

void run(struct load *l)
{
    if (l->per_connection > 0) /* connections are the work */
        start(l);
    unsigned opened = open_some(l, 0);
    uint64_t number = 0;
    uint64_t progress_ns = load_now_ns();
    uint64_t progress = 0;
    while (l->done < l->total) {
        struct epoll_event events[EVENTS];
        struct timespec wait = until_next(l, number);
        int count = epoll_pwait2(l->epoll, events, EVENTS, &wait, NULL);
        if (count == -1 && errno != EINTR)
            load_fail("epoll_pwait2: errno %d", errno);
        for (int i = 0; i < count; i++)
            link_on_event(events[i].data.ptr);
        opened = open_some(l, opened);
        if (!l->is_started && l->open == l->connections)
            start(l);
        if (l->rate > 0 && l->is_started)
            number = ask_what_is_due(l, number);
        if (l->done + l->open != progress) {
            progress = l->done + l->open;
            progress_ns = load_now_ns();
        } else if (load_now_ns() - progress_ns > PATIENCE_NS && number >= l->total) {
            load_fail("%llu of %llu requests answered", (unsigned long long)l->done,
                      (unsigned long long)l->total);
        }
    }
    if (l->is_held)
        hold(l);
    for (unsigned i = 0; i < l->connections; i++) {
        if (l->links[i].state == LINK_OPEN)
            link_close(&l->links[i]);
        while (l->is_batched &&
               l->links[i].state == LINK_CLOSING) /* the server's work to its end */
            await_event(l);
    }
}
