/*
 * See ref_trace.h.  A hash table with a chain per bucket; records are used again, never freed.
 * They do not come from malloc, whose calls tell what the traced program itself allocates.
 */
#include "ref_trace.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "internal/assert.h"
#include "internal/log.h"

#define TRACE_BUCKETS 4096
#define TRACES_MAPPED 256 /* records to make at once */
#define TRACE_SITES 24    /* of one buf; the last one stands for all further ones */

struct trace_count {
    struct ref_site site;
    unsigned taken;
    unsigned dropped;
};

/* What is known of one live buf. */
struct trace {
    struct trace *next;         /* in its bucket, or among the unused */
    const struct weir_buf *buf; /* Borrowed */
    size_t sites;
    struct trace_count counts[TRACE_SITES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct trace *buckets[TRACE_BUCKETS];
static struct trace *unused;

static struct trace **bucket_of(const struct weir_buf *b)
{
    return &buckets[((uintptr_t)b >> 4) * 2654435761U % TRACE_BUCKETS];
}

/* Where the record of a buf hangs; *result is NULL when there is none. */
static struct trace **trace_find(const struct weir_buf *b)
{
    struct trace **at = bucket_of(b);
    while (*at != NULL && (*at)->buf != b)
        at = &(*at)->next;
    return at;
}

static void traces_map(void)
{
    struct trace *made = mmap(NULL, TRACES_MAPPED * sizeof(*made), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    WEIR_ASSERT(made != MAP_FAILED);
    for (size_t i = 0; i < TRACES_MAPPED; i++) {
        made[i].next = unused;
        unused = &made[i];
    }
}

static struct trace *trace_add(const struct weir_buf *b)
{
    if (unused == NULL)
        traces_map();
    struct trace *t = unused;
    unused = t->next;
    struct trace **bucket = bucket_of(b);
    *t = (struct trace){.next = *bucket, .buf = b};
    *bucket = t;
    return t;
}

static void trace_remove(struct trace **at)
{
    struct trace *t = *at;
    *at = t->next;
    t->next = unused;
    unused = t;
}

static struct trace_count *trace_count_at(struct trace *t, struct ref_site site)
{
    for (size_t i = 0; i < t->sites; i++) {
        struct trace_count *c = &t->counts[i];
        if (c->site.line == site.line && strcmp(c->site.file, site.file) == 0)
            return c;
    }
    if (t->sites == TRACE_SITES)
        return &t->counts[TRACE_SITES - 1];
    struct trace_count *c = &t->counts[t->sites++];
    c->site = t->sites < TRACE_SITES ? site : (struct ref_site){"elsewhere", 0};
    return c;
}

struct weir_buf *ref_trace_take(struct weir_buf *b, struct ref_site site)
{
    if (b == NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    struct trace *t = *trace_find(b);
    if (t == NULL)
        t = trace_add(b);
    trace_count_at(t, site)->taken++;
    pthread_mutex_unlock(&lock);
    return b;
}

void ref_trace_drop(struct weir_buf *b, struct ref_site site)
{
    if (b == NULL)
        return;
    pthread_mutex_lock(&lock);
    struct trace **at = trace_find(b);
    if (*at != NULL && b->refs == 1)
        trace_remove(at);
    else if (*at != NULL)
        trace_count_at(*at, site)->dropped++;
    pthread_mutex_unlock(&lock);
}

static bool trace_is_in(const struct trace *t, const void *base, size_t len)
{
    return (uintptr_t)t->buf - (uintptr_t)base < len;
}

void ref_trace_report(const void *base, size_t len)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < TRACE_BUCKETS; i++) {
        for (const struct trace *t = buckets[i]; t != NULL; t = t->next) {
            if (!trace_is_in(t, base, len))
                continue;
            log_line(LV_ERROR, "still referenced: buf=%p refs=%u", (const void *)t->buf,
                     t->buf->refs);
            for (size_t s = 0; s < t->sites; s++) {
                const struct trace_count *c = &t->counts[s];
                log_line(LV_ERROR, "  taken=%u dropped=%u at %s:%d", c->taken, c->dropped,
                         c->site.file, c->site.line);
            }
        }
    }
    pthread_mutex_unlock(&lock);
}

void ref_trace_forget(const void *base, size_t len)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < TRACE_BUCKETS; i++) {
        struct trace **at = &buckets[i];
        while (*at != NULL) {
            if (trace_is_in(*at, base, len))
                trace_remove(at);
            else
                at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&lock);
}
