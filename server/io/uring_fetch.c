/*
 * See uring.h: fetching.
 *
 * Pages of a map are made resident by a thread of the kernel: one request, one completion.  What
 * else may wait for a disk is a function, and goes to the helper's threads; so do pages that the
 * kernel cannot be asked for.
 */
#include <errno.h>
#include <sys/mman.h>

#include "helper.h"
#include "mem.h"
#include "uring.h"
#include "uring_abi.h"

/* A request holds a length of 32 bits. */
#define POPULATE_MAX ((size_t)1 << 30)

static void populate(struct uring_fetch *p)
{
    struct io_uring_sqe *sqe = uring_request(p->uring);
    io_uring_prep_madvise(sqe, p->fetch->addr, (off_t)p->fetch->len, URING_POPULATE_READ);
    uring_tag(sqe, URING_FETCH, p);
}

void uring_fetch(struct io *io, struct fetch *f)
{
    struct uring *u = uring_from(io);
    bool is_for_kernel = f->run == NULL && f->len <= POPULATE_MAX;
    struct uring_fetch *p = NULL;
    if (is_for_kernel && (u->features & URING_HAS_MADVISE))
        p = mem_take(io->env.mem, sizeof(*p));
    if (p == NULL) {
        helper_start(u->helper, f);
        return;
    }
    *p = (struct uring_fetch){.uring = u, .fetch = f};
    u->populating++;
    populate(p);
}

void uring_on_fetch(struct uring_fetch *p, int res)
{
    struct uring *u = p->uring;
    struct fetch *f = p->fetch;
    if (res == -EINTR || res == -EAGAIN) {
        populate(p);
        return;
    }
    u->populating--;
    mem_give(p);
    if (res == -EINVAL) { /* such a map is read instead */
        helper_start(u->helper, f);
        return;
    }
    u->io.fetches--;
    f->done(f, res);
}
