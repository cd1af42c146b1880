/* See window.h. */
#include "window.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "file.h"
#include "internal/assert.h"
#include "internal/fetch.h"
#include "internal/limits.h"
#include "internal/log.h"
#include "internal/stats.h"
#include "mem.h"

/* bytes of the smallest pages that there are */
#define PAGE_LEN 4096
#define CHUNK_PAGES (CHUNK_LEN / PAGE_LEN)

/* Pages of a chunk on their way into memory. */
struct page_fetch {
    struct fetch fetch;
    struct window *window; /* Own: a reference */
    unsigned chunk;
    struct list waiters;
};

static struct window *window_from(struct weir_buf *b)
{
    return container_of(b, struct window, buf);
}

void window_unref(struct window **slot)
{
    struct window *w = *slot;
    *slot = NULL;
    if (w == NULL)
        return;
    struct weir_buf *b = &w->buf;
    weir_buf_unref(&b);
}

/* The last holder is gone. */
static void window_free(struct weir_buf *b)
{
    struct window *w = window_from(b);
    if (weir_buf_is_poisoned(b))
        w->file->map->is_lost = true;
    list_remove(&w->of_file);
    map_guard_remove(&w->guard);
    w->windows->stats->calls.munmap++;
    munmap(b->base, b->cap);
    file_unref(&w->file);
    mem_give(w);
}

/* ---- which windows are kept mapped ---- */

static void window_drop(struct window *w)
{
    w->is_kept = false;
    ring_remove(&w->windows->ring, &w->node);
    window_unref(&w);
}

static bool windows_evict_one(struct windows *ws, const struct window *spare)
{
    struct ring_node *node = ring_pick(&ws->ring, spare == NULL ? NULL : &spare->node);
    if (node == NULL)
        return false;
    window_drop(container_of(node, struct window, node));
    return true;
}

bool windows_evict(struct windows *ws)
{
    return windows_evict_one(ws, NULL);
}

static void window_keep(struct window *w)
{
    struct windows *ws = w->windows;
    w->node.is_used = true;
    if (w->is_kept || w->file->is_retired)
        return;
    window_ref(w);
    w->is_kept = true;
    ring_add(&ws->ring, &w->node, w->buf.cap);
    while (ws->ring.cost > ws->ring.max && windows_evict_one(ws, w))
        ;
}

void windows_forget(struct file *f)
{
    struct list *link = f->map->windows.next;
    while (link != &f->map->windows) {
        struct window *w = container_of(link, struct window, of_file);
        link = link->next;
        if (w->is_kept)
            window_drop(w);
    }
}

/* ---- mapping ---- */

static struct window *window_find(struct file *f, uint64_t index)
{
    for (struct list *link = f->map->windows.next; link != &f->map->windows; link = link->next) {
        struct window *w = container_of(link, struct window, of_file);
        if (w->index == index)
            return w;
    }
    return NULL;
}

static unsigned window_map(struct windows *ws, struct file *f, uint64_t index, struct window **out)
{
    uint64_t begin = index * WINDOW_LEN;
    WEIR_ASSERT(begin < f->id.size);
    uint64_t len = f->id.size - begin < WINDOW_LEN ? f->id.size - begin : WINDOW_LEN;
    struct window *w = mem_take_zeroed(ws->mem, sizeof(*w));
    if (w == NULL)
        return 503;
    void *map;
    do {
        ws->stats->calls.mmap++;
        map = mmap(NULL, (size_t)len, PROT_READ, MAP_SHARED, f->map->fd, (off_t)begin);
    } while (map == MAP_FAILED && errno == ENOMEM && windows_evict(ws));
    if (map == MAP_FAILED) {
        int err = errno;
        if (err != ENOMEM)
            log_errno(LV_WARN, err, "cannot map a file below the root");
        mem_give(w);
        return err == ENOMEM ? 503 : 500;
    }
    w->buf = (struct weir_buf){
        .refs = 1,
        .origin = WEIR_ORIGIN_MAPPED,
        .base = map,
        .cap = (size_t)len,
        .whole = &f->buf,
        .release = window_free,
    };
    map_guard_add(&w->guard, &w->buf);
    w->windows = ws;
    w->file = file_ref(f);
    w->index = index;
    list_append(&f->map->windows, &w->of_file);
    *out = w;
    return 0;
}

unsigned window_take(struct windows *ws, struct file *f, uint64_t index, struct window **out)
{
    struct window *w = window_find(f, index);
    unsigned status = 0;
    if (w != NULL)
        window_ref(w);
    else
        status = window_map(ws, f, index, &w);
    if (status == 0)
        window_keep(w);
    *out = w;
    return status;
}

/* ---- what is in memory ---- */

static size_t chunk_len(const struct window *w, unsigned chunk)
{
    size_t left = w->buf.cap - chunk * CHUNK_LEN;
    return left < CHUNK_LEN ? left : CHUNK_LEN;
}

static bool chunk_is_mapped(const struct window *w, unsigned chunk)
{
    unsigned char in_core[CHUNK_PAGES];
    size_t len = chunk_len(w, chunk);
    size_t page_len = w->windows->page_len;
    w->windows->stats->calls.mincore++;
    if (mincore(w->buf.base + chunk * CHUNK_LEN, len, in_core) == -1)
        return false;
    unsigned all = 1;
    for (size_t i = 0; i < (len + page_len - 1) / page_len; i++)
        all &= in_core[i];
    return all & 1;
}

/* The same for a file of others.  False too where the file system cannot answer without waiting. */
static bool chunk_is_readable(const struct window *w, unsigned chunk)
{
    static __thread char scratch[PAGE_LEN];
    struct iovec iov[CHUNK_PAGES];
    size_t len = chunk_len(w, chunk);
    int count = 0;
    for (size_t at = 0; at < len; at += PAGE_LEN)
        iov[count++] = (struct iovec){scratch, len - at < PAGE_LEN ? len - at : PAGE_LEN};
    off_t offset = (off_t)(w->index * WINDOW_LEN + chunk * CHUNK_LEN);
    w->windows->stats->calls.preadv2++;
    return preadv2(w->file->map->fd, iov, count, offset, RWF_NOWAIT) == (ssize_t)len;
}

static bool chunk_is_resident(struct window *w, unsigned chunk)
{
    struct chunk *c = &w->chunks[chunk];
    uint64_t now_ms = w->windows->clock->now_ms;
    if (c->seen_ms != 0 && now_ms - c->seen_ms < LIMIT_RESIDENT_MS)
        return true;
    if (w->windows->fetcher != NULL && !w->file->is_private) {
        bool is_resident =
            w->file->map->is_ours ? chunk_is_mapped(w, chunk) : chunk_is_readable(w, chunk);
        if (!is_resident)
            return false;
    }
    c->seen_ms = now_ms;
    return true;
}

/* ---- fetching ---- */

static void on_fetched(struct fetch *fetch, int result)
{
    struct page_fetch *p = container_of(fetch, struct page_fetch, fetch);
    struct window *w = p->window;
    struct chunk *c = &w->chunks[p->chunk];
    c->fetch = NULL;
    if (result >= 0)
        c->seen_ms = w->windows->clock->now_ms; /* whoever waits gets on, however short memory is */
    else
        w->file->is_stale = true; /* the next request finds out how it is */
    waiters_wake(&p->waiters, result < 0 ? 500 : 0);
    window_unref(&p->window);
    mem_give(p);
}

enum residency window_need(struct window *w, unsigned chunk)
{
    struct chunk *c = &w->chunks[chunk];
    if (c->fetch != NULL)
        return FETCHING;
    if (chunk_is_resident(w, chunk))
        return RESIDENT;
    struct page_fetch *p = mem_take_zeroed(w->windows->mem, sizeof(*p));
    if (p == NULL)
        return LOST;
    p->window = window_ref(w);
    p->chunk = chunk;
    list_init(&p->waiters);
    p->fetch = (struct fetch){
        .addr = w->buf.base + chunk * CHUNK_LEN,
        .len = chunk_len(w, chunk),
        .fd = w->file->map->fd,
        .offset = (off_t)(w->index * WINDOW_LEN + chunk * CHUNK_LEN),
        .done = on_fetched,
    };
    c->fetch = p;
    w->windows->stats->fetches++;
    w->windows->fetcher->start(w->windows->fetcher, &p->fetch);
    return FETCHING;
}

void window_wait(struct window *w, unsigned chunk, struct waiter *waiter)
{
    WEIR_ASSERT(w->chunks[chunk].fetch != NULL);
    list_append(&w->chunks[chunk].fetch->waiters, &waiter->link);
}
