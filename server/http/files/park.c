/* Requests that wait, to be served again.  See serve.h. */
#include "serve.h"

#include "cache.h"
#include "internal/assert.h"
#include "mem.h"

/* Times that a request waits: for its path, a page that stands in, a decoder, its first bytes, and
 * again for what changes meanwhile. */
#define PARK_ROUNDS 16

static void on_wake(struct waiter *w, unsigned status)
{
    struct parked *p = container_of(w, struct parked, waiter);
    struct files *f = p->files;
    f->current = p;
    if (status == 0)
        files_serve(f, p->request);
    else
        failures_answer(&f->failures, p->request, status);
    if (f->current == p)
        mem_give(p); /* it does not wait any more */
    f->current = NULL;
}

enum stage files_stage(const struct files *f)
{
    return f->current == NULL ? STAGE_FILE : f->current->stage;
}

struct waiter *files_park(struct files *f, struct weir_request *r)
{
    struct parked *p = f->current;
    if (p == NULL) {
        p = mem_take_zeroed(f->env.mem, sizeof(*p));
        if (p != NULL)
            *p = (struct parked){.waiter = {.wake = on_wake}, .files = f, .request = r};
    }
    if (p == NULL || p->rounds == PARK_ROUNDS) {
        failures_answer(&f->failures, r, 503);
        return NULL;
    }
    p->rounds++;
    f->current = NULL;
    return &p->waiter;
}

void files_wait_for_cache(struct files *f, struct weir_request *r, enum stage stage)
{
    struct waiter *w = files_park(f, r);
    if (w == NULL)
        return;
    container_of(w, struct parked, waiter)->stage = stage;
    cache_wait(f->cache, w);
}

void files_wait_for_listing(struct files *f, struct weir_request *r)
{
    struct waiter *w = files_park(f, r);
    if (w == NULL)
        return;
    container_of(w, struct parked, waiter)->stage = STAGE_LIST;
    listing_wait(&f->listings, w);
}

bool files_has_bytes(struct files *f, struct weir_request *r, struct file *file, uint64_t offset)
{
    struct window *w;
    unsigned chunk = (unsigned)(offset % WINDOW_LEN / CHUNK_LEN);
    if (!file_is_map(file))
        return true;
    unsigned status = window_take(&f->windows, file, offset / WINDOW_LEN, &w);
    if (status != 0) {
        failures_answer(&f->failures, r, status);
        return false;
    }
    enum residency residency = window_need(w, chunk);
    struct waiter *waiter = NULL;
    switch (residency) {
    case RESIDENT: break;
    case FETCHING: waiter = files_park(f, r); break;
    case LOST: failures_answer(&f->failures, r, 503); break;
    }
    if (waiter != NULL)
        window_wait(w, chunk, waiter);
    window_unref(&w);
    return residency == RESIDENT;
}
