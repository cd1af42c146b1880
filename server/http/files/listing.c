/*
 * See listing.h.
 *
 * Invariant: a job is in the list from when it is made until those who waited for it were called;
 *            its result is there, and there alone, while they are.
 */
#include "listing.h"

#include <stdio.h>
#include <string.h>

#include "body.h"
#include "conditional.h"
#include "failure.h"
#include "file.h"
#include "internal/assert.h"
#include "internal/fetch.h"
#include "internal/limits.h"
#include "internal/stats.h"
#include "listing_page.h"
#include "mem.h"
#include "path.h"

#define LISTING_FIELDS 8
#define PAGE_DIGITS 4

/* A list that is sent, by as many responses as hold a reference. */
struct listing {
    unsigned refs;
    struct body body;
    struct weir_field fields[LISTING_FIELDS];
    size_t field_count;
    size_t kept; /* of these, the first ones, which a 304 has too */
    struct validators validators;
    char content_length[21];
    char etag[ETAG_CAP];
};

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE };

struct listing_job {
    struct fetch fetch;
    struct list link;
    struct listings *all;
    enum job_state state;
    struct root root; /* a copy, which counts system calls apart: */
    struct stats stats;
    struct listing_page page; /* what it writes */
    unsigned status;          /* once it is done: 0, or why there is no list */
    struct listing *listing;  /* Own: a reference, if the status is 0 */
    struct list waiters;
    char path[]; /* of the directory, with a NUL */
};

/* ---- a list ---- */

static struct listing *listing_from(void *ctx)
{
    return ctx;
}

static enum weir_err listing_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    *out = body_slice(&listing_from(ctx)->body, offset, max);
    return WEIR_OK;
}

static void listing_unref(struct listing *l)
{
    if (l == NULL || --l->refs > 0)
        return;
    body_deinit(&l->body);
    mem_give(l);
}

static void listing_release(void *ctx)
{
    listing_unref(listing_from(ctx));
}

static const struct weir_source listing_source = {.read = listing_read, .release = listing_release};

static void add_field(struct listing *l, struct weir_str name, struct weir_str value)
{
    l->fields[l->field_count++] = (struct weir_field){name, value};
}

static void listing_describe(struct listing *l, struct weir_str server,
                             const struct listing_page *page)
{
    l->validators.etag = (struct weir_str){l->etag, etag_write_digest(l->etag, page->digest, '\0')};
    add_field(l, WEIR_STR("cache-control"), WEIR_STR("no-cache"));
    add_field(l, WEIR_STR("vary"), WEIR_STR("accept"));
    add_field(l, WEIR_STR("etag"), l->validators.etag);
    if (server.len > 0)
        add_field(l, WEIR_STR("server"), server);
    l->kept = l->field_count;
    int n = snprintf(l->content_length, sizeof(l->content_length), "%zu", l->body.len);
    add_field(l, WEIR_STR("content-length"), (struct weir_str){l->content_length, (size_t)n});
    add_field(l, WEIR_STR("content-type"),
              page->is_json ? WEIR_STR("application/json") : WEIR_STR("text/html; charset=utf-8"));
    add_field(l, WEIR_STR("x-content-type-options"), WEIR_STR("nosniff"));
}

/* A list of what was written, with one reference.  NULL: there is no memory. */
static struct listing *listing_new(const struct file_env *env, const struct listing_page *page)
{
    struct listing *l = mem_take_zeroed(env->mem, sizeof(*l));
    if (l == NULL)
        return NULL;
    l->refs = 1;
    body_init(&l->body, env->mem);
    body_put(&l->body, sheet_text(&page->text));
    if (l->body.is_cut) {
        listing_unref(l);
        return NULL;
    }
    listing_describe(l, env->server, page);
    return l;
}

static unsigned listing_send(struct listing *l, struct weir_request *r, int64_t now_s)
{
    struct weir_response resp = {
        .status = 200,
        .fields = l->fields,
        .field_count = l->field_count,
        .source = &listing_source,
        .ctx = l,
        .body_len = weir_str_eq(r->method, WEIR_STR("HEAD")) ? 0 : l->body.len,
    };
    switch (condition_check(r, &l->validators, now_s)) {
    case CONDITION_MET: break;
    case CONDITION_NOT_MODIFIED:
        resp.status = 304;
        resp.field_count = l->kept;
        resp.body_len = 0;
        break;
    case CONDITION_FAILED: return 412;
    }
    l->refs++;                           /* released by the exchange */
    weir_ignore(weir_respond(r, &resp)); /* the peer has gone, or the stream is reset */
    return 0;
}

/* ---- jobs ---- */

void listings_init(struct listings *all, const struct file_env *env)
{
    *all = (struct listings){.env = env};
    list_init(&all->jobs);
}

static struct listing_job *job_of(const struct list *link)
{
    return container_of(link, struct listing_job, link);
}

static struct listing_job *job_new(struct listings *all, const struct listing_page *page)
{
    struct listing_job *job = mem_take_zeroed(all->env->mem, sizeof(*job) + page->path.len + 1);
    if (job == NULL)
        return NULL;
    memcpy(job->path, page->path.ptr, page->path.len);
    job->all = all;
    job->root = *all->env->root;
    job->root.stats = &job->stats;
    job->page = *page;
    job->page.path.ptr = job->path;
    list_init(&job->waiters);
    list_append(&all->jobs, &job->link);
    all->count++;
    return job;
}

static void job_free(struct listing_job *job)
{
    list_remove(&job->link);
    job->all->count--;
    listing_unref(job->listing);
    mem_give(job);
}

/* Thread: any. */
static void job_write(struct listing_job *job)
{
    job->status = listing_page_write(&job->page, &job->root);
}

/* What was written becomes a list. */
static void job_conclude(struct listing_job *job)
{
    const struct file_env *env = job->all->env;
    if (job->status == 0) {
        job->listing = listing_new(env, &job->page);
        job->status = job->listing == NULL ? 503 : 0;
    }
    listing_page_deinit(&job->page, &job->stats);
    stats_take_calls(env->root->stats, &job->stats);
    job->state = JOB_DONE;
}

static int on_run(struct fetch *f)
{
    job_write(container_of(f, struct listing_job, fetch));
    return 0;
}

static void listings_advance(struct listings *all);

static void on_done(struct fetch *f, int result)
{
    (void)result;
    struct listing_job *job = container_of(f, struct listing_job, fetch);
    struct listings *all = job->all;
    all->running--;
    job_conclude(job);
    waiters_wake(&job->waiters, 0); /* each asks again, and finds it done */
    job_free(job);
    listings_advance(all);
}

/* Begin those that may be under way at once. */
static void listings_advance(struct listings *all)
{
    const struct file_env *env = all->env;
    for (struct list *link = all->jobs.next; link != &all->jobs; link = link->next) {
        struct listing_job *job = job_of(link);
        if (all->running == LIMIT_LISTINGS)
            return;
        if (job->state != JOB_QUEUED)
            continue;
        job->state = JOB_RUNNING;
        all->running++;
        job->fetch = (struct fetch){.run = on_run, .done = on_done};
        env->root->stats->fetches++;
        env->fetcher->start(env->fetcher, &job->fetch);
    }
}

/* The job that writes the same page, or NULL. */
static struct listing_job *listings_find(const struct listings *all,
                                         const struct listing_page *page)
{
    for (struct list *link = all->jobs.next; link != &all->jobs; link = link->next) {
        struct listing_job *job = job_of(link);
        if (job->page.number == page->number && job->page.is_json == page->is_json &&
            weir_str_eq(job->page.path, page->path))
            return job;
    }
    return NULL;
}

/* ---- requests ---- */

/* The number of a page; 0 if it is none. */
static size_t page_number(struct weir_str text)
{
    size_t page = 0;
    if (text.len == 0 || text.len > PAGE_DIGITS)
        return 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return 0;
        page = page * 10 + (size_t)(text.ptr[i] - '0');
    }
    return page;
}

/* The page that a target asks for, 1 if it says nothing; 0 if it is none. */
static size_t page_of(struct weir_str target)
{
    static const struct weir_str name = WEIR_STR_INIT("page=");
    size_t at = path_cut_query(target).len;
    while (at < target.len) {
        const char *begin = target.ptr + at + 1; /* behind '?' or '&' */
        size_t left = target.len - at - 1;
        const char *end = left == 0 ? NULL : memchr(begin, '&', left);
        size_t len = end == NULL ? left : (size_t)(end - begin);
        if (len >= name.len && memcmp(begin, name.ptr, name.len) == 0)
            return page_number((struct weir_str){begin + name.len, len - name.len});
        at += 1 + len;
    }
    return 1;
}

/*
 * What the kernel knows of the directory without a disk: 0, ROOT_WAITS, or the status due, so that
 * nobody waits to be told that it is missing.
 */
static unsigned listings_peek(const struct listings *all, const struct listing_page *page)
{
    int fd;
    unsigned status = root_open_file(all->env->root, listing_page_place(page), false, &fd);
    root_close_file(all->env->root, fd);
    return status;
}

/* Begin to write a page.  Gives a status, or LISTING_WAITS and *out, which may be done already. */
static unsigned listings_begin(struct listings *all, const struct listing_page *page,
                               struct listing_job **out)
{
    unsigned status = listings_peek(all, page);
    if (status != 0 && status != ROOT_WAITS)
        return status;
    struct listing_job *job = all->count < LIMIT_LISTINGS_QUEUED ? job_new(all, page) : NULL;
    *out = job;
    if (job == NULL)
        return 503;
    if (all->env->fetcher == NULL) {
        job_write(job);
        job_conclude(job);
    } else {
        listings_advance(all);
    }
    return LISTING_WAITS;
}

unsigned listing_respond(struct listings *all, struct weir_request *r, struct weir_str path,
                         int64_t now_s)
{
    const struct listing_page page = {
        .path = path,
        .number = page_of(r->path),
        .is_json = failure_wants_json(r),
    };
    struct listing_job *job = listings_find(all, &page);
    unsigned status = job == NULL ? listings_begin(all, &page, &job) : LISTING_WAITS;
    if (status != LISTING_WAITS)
        return status;
    if (job->state != JOB_DONE) {
        all->pending = job;
        return LISTING_WAITS;
    }
    status = job->status == 0 ? listing_send(job->listing, r, now_s) : job->status;
    if (all->env->fetcher == NULL)
        job_free(job); /* nobody else waits for it */
    return status;
}

void listing_wait(struct listings *all, struct waiter *waiter)
{
    list_append(&all->pending->waiters, &waiter->link);
}
