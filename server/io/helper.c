/* See helper.h. */
#include "helper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fetch_queue.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "io.h"

/* Linux 5.14; older headers do not name it. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

#define SCRATCH_LEN 16384

enum { LANE_QUICK, LANE_OTHER, LANES }; /* the first that can go on goes first */

struct lane {
    struct fetch_queue queue; /* to be carried out */
    unsigned queued;          /* how many those are */
    unsigned busy;            /* threads that carry one out */
    unsigned busy_max;        /* how many may */
};

struct helper {
    pthread_mutex_t lock;
    pthread_cond_t has_work; /* the queue is not empty, or this is the end */
    struct io *io;           /* Borrowed */
    struct lane lanes[LANES];
    struct fetch_queue finished; /* to be delivered */
    unsigned idle;               /* threads that wait for work */
    bool is_ending;
    unsigned thread_count; /* the loop's thread alone */
    pthread_t threads[LIMIT_HELPERS];
};

/* Read the bytes of the pages, which leaves them in the page cache. */
static int pages_read(const struct fetch *f)
{
    char scratch[SCRATCH_LEN];
    for (size_t at = 0; at < f->len;) {
        size_t len = f->len - at < sizeof(scratch) ? f->len - at : sizeof(scratch);
        ssize_t n = pread(f->fd, scratch, len, f->offset + (off_t)at);
        if (n == -1 && errno != EINTR)
            return -EFAULT;
        if (n == 0)
            return -EFAULT; /* as for a page beyond the end */
        at += n == -1 ? 0 : (size_t)n;
    }
    return 0;
}

static int pages_populate(const struct fetch *f)
{
    int rv;
    do {
        rv = madvise(f->addr, f->len, MADV_POPULATE_READ);
    } while (rv == -1 && (errno == EINTR || errno == EAGAIN));
    if (rv == 0)
        return 0;
    return errno == EINVAL ? pages_read(f) : -errno;
}

/* How many of a lane could be begun now. */
static unsigned lane_ready(const struct lane *l)
{
    unsigned room = l->busy_max - l->busy;
    return l->queued < room ? l->queued : room;
}

/* The lane that is to go on, or NULL. */
static struct lane *helper_pick(struct helper *h)
{
    for (unsigned i = 0; i < LANES; i++) {
        if (lane_ready(&h->lanes[i]) > 0)
            return &h->lanes[i];
    }
    return NULL;
}

static void *helper_main(void *arg)
{
    struct helper *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        struct lane *l = helper_pick(h);
        if (l == NULL && h->is_ending)
            break;
        if (l == NULL) {
            h->idle++;
            pthread_cond_wait(&h->has_work, &h->lock);
            h->idle--;
            continue;
        }
        struct fetch *f = fetch_queue_take(&l->queue);
        l->queued--;
        l->busy++;
        pthread_mutex_unlock(&h->lock);
        f->result = f->run != NULL ? f->run(f) : pages_populate(f);
        pthread_mutex_lock(&h->lock);
        l->busy--;
        fetch_queue_put(&h->finished, f);
        io_wake(h->io);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* One more thread, if there are fewer idle ones than fetches that could be begun. */
static void helper_grow(struct helper *h)
{
    unsigned ready = lane_ready(&h->lanes[LANE_QUICK]) + lane_ready(&h->lanes[LANE_OTHER]);
    if (h->thread_count == LIMIT_HELPERS || ready <= h->idle)
        return;
    /* Signals are for the threads that expect them. */
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&h->threads[h->thread_count], NULL, helper_main, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err == 0)
        h->thread_count++;
    else
        log_errno(LV_WARN, err, "cannot start a thread that waits for disks");
}

/* Without any thread the loop has to wait itself. */
static void helper_run_here(struct helper *h)
{
    struct lane *l;
    while ((l = helper_pick(h)) != NULL) {
        struct fetch *f = fetch_queue_take(&l->queue);
        l->queued--;
        f->result = f->run != NULL ? f->run(f) : pages_populate(f);
        fetch_queue_put(&h->finished, f);
    }
    io_wake(h->io);
}

void helper_start(struct helper *h, struct fetch *f)
{
    pthread_mutex_lock(&h->lock);
    struct lane *l = &h->lanes[f->is_quick ? LANE_QUICK : LANE_OTHER];
    fetch_queue_put(&l->queue, f);
    l->queued++;
    helper_grow(h);
    if (h->thread_count == 0)
        helper_run_here(h);
    pthread_cond_signal(&h->has_work);
    pthread_mutex_unlock(&h->lock);
}

void helper_deliver(struct helper *h)
{
    pthread_mutex_lock(&h->lock);
    struct fetch_queue finished = h->finished;
    h->finished = (struct fetch_queue){0};
    pthread_mutex_unlock(&h->lock);
    struct fetch *f;
    while ((f = fetch_queue_take(&finished)) != NULL) {
        h->io->fetches--;
        f->done(f, f->result);
    }
}

enum weir_err helper_new(struct io *io, struct helper **out)
{
    struct helper *h = calloc(1, sizeof(*h));
    *out = h;
    if (h == NULL)
        return WEIR_NOMEM;
    h->io = io;
    h->lanes[LANE_QUICK].busy_max = LIMIT_HELPERS;
    h->lanes[LANE_OTHER].busy_max = LIMIT_HELPERS - LIMIT_HELPERS_QUICK;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->has_work, NULL);
    return WEIR_OK;
}

bool helper_free(struct helper *h)
{
    if (h == NULL)
        return true;
    pthread_mutex_lock(&h->lock);
    bool is_stuck = false;
    h->is_ending = true;
    for (unsigned i = 0; i < LANES; i++) {
        struct lane *l = &h->lanes[i];
        is_stuck |= l->busy > 0;
        l->queue = (struct fetch_queue){0};
        l->queued = 0;
    }
    pthread_cond_broadcast(&h->has_work);
    pthread_mutex_unlock(&h->lock);
    for (unsigned i = 0; i < h->thread_count; i++) {
        if (is_stuck)
            pthread_detach(h->threads[i]);
        else
            pthread_join(h->threads[i], NULL);
    }
    if (is_stuck)
        return false;
    pthread_cond_destroy(&h->has_work);
    pthread_mutex_destroy(&h->lock);
    free(h);
    return true;
}
