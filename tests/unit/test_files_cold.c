/*
 * Files that are not in memory: requests that wait, in any order of what they wait for.
 *
 * The kernel is made to say "not in memory" at random, and the test carries fetches out when and in
 * which order it likes.
 */
#include "files_fake.h"

#include <errno.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "internal/fetch.h"
#include "internal/limits.h"
#include "map_guard.h"
#include "window.h"

#define ASKS_MAX 24
#define FETCHES_MAX 256
#define NAMES 6
#define LARGE ((size_t)WINDOW_LEN + 17)

static struct fake fake;
static struct rng rng;
static unsigned cold_percent; /* how often something is said not to be in memory */
static bool has_cold_directories;
static bool is_stranger; /* to all files: the kernel does not tell what of them is in memory */

static bool is_cold(void)
{
    return rng_below(&rng, 100) < cold_percent;
}

/* ---- a kernel that has forgotten ---- */

/* NOLINTBEGIN(readability-identifier-naming): the names are the linker's */
int __real_mincore(void *addr, size_t len, unsigned char *vec);
int __wrap_mincore(void *addr, size_t len, unsigned char *vec);
ssize_t __real_preadv2(int fd, const struct iovec *iov, int count, off_t at, int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int count, off_t at, int flags);
long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d);

uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);
int __real_faccessat(int fd, const char *path, int mode, int flags);
int __wrap_faccessat(int fd, const char *path, int mode, int flags);

uid_t __wrap_geteuid(void)
{
    return __real_geteuid() + is_stranger;
}

int __wrap_faccessat(int fd, const char *path, int mode, int flags)
{
    return is_stranger ? -1 : __real_faccessat(fd, path, mode, flags);
}

int __wrap_mincore(void *addr, size_t len, unsigned char *vec)
{
    assert_false(is_stranger); /* it would not be told the truth */
    int rv = __real_mincore(addr, len, vec);
    if (is_cold())
        vec[rng_below(&rng, len / 4096 + 1) % ((len + 4095) / 4096)] = 0;
    return rv;
}

ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int count, off_t at, int flags)
{
    if (!is_cold())
        return __real_preadv2(fd, iov, count, at, flags);
    errno = EAGAIN;
    return -1;
}

long __wrap_syscall(long number, long a, long b, long c, long d)
{
    if (number == SYS_openat2) {
        const struct open_how *how = (const struct open_how *)(uintptr_t)c;
        bool is_directory = (how->flags & O_DIRECTORY) != 0;
        if ((how->resolve & RESOLVE_CACHED) != 0 &&
            (is_cold() || (is_directory && has_cold_directories))) {
            errno = EAGAIN;
            return -1;
        }
    }
    return __real_syscall(number, a, b, c, d);
}
/* NOLINTEND(readability-identifier-naming) */

/* ---- who carries fetches out ---- */

static struct fetch *fetches[FETCHES_MAX];
static size_t fetch_count;
static bool disk_fails; /* fetches of pages end with an error */

static void start(struct fetcher *fetcher, struct fetch *f)
{
    (void)fetcher;
    assert_true(fetch_count < FETCHES_MAX);
    fetches[fetch_count++] = f;
}

static struct fetcher fetcher = {.start = start};

/* Carry out one of those that were started, whichever. */
static void fetch_one(void)
{
    size_t i = rng_below(&rng, fetch_count);
    struct fetch *f = fetches[i];
    fetches[i] = fetches[--fetch_count];
    if (f->run != NULL)
        f->done(f, f->run(f));
    else
        f->done(f, disk_fails ? -EFAULT : 0);
}

/* ---- who asks ---- */

struct ask {
    struct weir_request request;
    struct weir_field fields[1];
    struct weir_response response;
    bool is_open;     /* between the request and the end of the exchange */
    bool is_answered; /* the response has come */
    bool is_blocked;  /* its source said AGAIN, and has not resumed it */
    bool is_broken;   /* its source said STREAM */
    bool is_gone;     /* the peer went before it was answered */
    unsigned status;
    size_t file;
    uint64_t read;
    char *body; /* Own */
};

static struct ask asks[ASKS_MAX];

static void ask_release(struct ask *a)
{
    if (a->response.source != NULL)
        a->response.source->release(a->response.ctx);
    a->response.source = NULL;
    a->is_open = false;
}

static enum weir_err on_respond(struct weir_request *r, const struct weir_response *resp)
{
    struct ask *a = container_of(r, struct ask, request);
    assert_true(a->is_open && !a->is_answered);
    a->is_answered = true;
    a->status = resp->status;
    a->response = *resp;
    if (a->is_gone) {
        ask_release(a);
        return WEIR_CLOSED;
    }
    a->body = realloc(a->body, resp->body_len + 1);
    return WEIR_OK;
}

static void on_resume(struct weir_request *r)
{
    struct ask *a = container_of(r, struct ask, request);
    assert_true(a->is_open && a->is_blocked); /* never one that is gone, and never twice */
    a->is_blocked = false;
}

static const struct exchange_ops ops = {.respond = on_respond, .resume = on_resume};

static const char *const targets[NAMES + 2] = {
    "/f0.txt", "/f1.txt", "/f2.txt", "/f3.txt", "/f4.txt", "/f5.txt", "/none", "/d/",
};

static void ask_begin(struct ask *a, size_t file)
{
    char *body = a->body;
    *a = (struct ask){.is_open = true, .file = file, .body = body};
    a->request = (struct weir_request){
        .method = WEIR_STR("GET"), .path = str_of(targets[file]), .fields = a->fields, .ops = &ops};
    files_handle(fake.files, &a->request);
}

/* Read a slice.  True: the body is over, in one way or another. */
static bool ask_read(struct ask *a)
{
    struct weir_slice s;
    if (a->read < a->response.body_len) {
        uint64_t left = a->response.body_len - a->read;
        size_t max = rng_below(&rng, 2) == 0 ? 16384 : (size_t)1024 * 1024;
        a->is_blocked = true; /* first: read() may resume it */
        enum weir_err err = a->response.source->read(
            a->response.ctx, a->response.body_offset + a->read, left < max ? left : max, &s);
        if (err == WEIR_AGAIN)
            return false;
        a->is_blocked = false;
        a->is_broken = err != WEIR_OK;
        if (a->is_broken)
            return true;
        memcpy(a->body + a->read, s.ptr, s.len);
        a->read += s.len;
        weir_slice_drop(&s);
    }
    if (a->read < a->response.body_len)
        return false;
    const struct weir_source *source = a->response.source;
    if (source != NULL && source->is_intact != NULL)
        a->is_broken = !source->is_intact(a->response.ctx);
    return true;
}

/* ---- what is on disk ---- */

struct version {
    size_t len;
    char fill;
    bool exists;
    uint64_t until_ms; /* when it was replaced */
};

#define VERSIONS 64

static struct version versions[NAMES][VERSIONS];
static size_t newest[NAMES];

static const size_t lengths[] = {0, 1, 1000, 20000, CHUNK_LEN, CHUNK_LEN + 1, LARGE};

static char *content_of(const struct version *v)
{
    char *bytes = malloc(v->len + 1);
    for (size_t i = 0; i < v->len; i++)
        bytes[i] = (char)(v->fill + (char)(i / 1000 % 31));
    return bytes;
}

/* Replace a file by another, or remove it. */
static void change(size_t i)
{
    char path[512];
    char fresh[512];
    if (newest[i] + 1 == VERSIONS)
        return;
    versions[i][newest[i]].until_ms = fake.clock.now_ms;
    struct version *v = &versions[i][++newest[i]];
    *v = (struct version){
        .len = lengths[rng_below(&rng, sizeof(lengths) / sizeof(lengths[0]))],
        .fill = (char)(newest[i] % 90 + 33),
        .exists = rng_below(&rng, 5) != 0,
    };
    fake_path(&fake, targets[i] + 1, path);
    fake_path(&fake, "fresh", fresh);
    if (!v->exists) {
        unlink(path);
        return;
    }
    char *bytes = content_of(v);
    fake_write(&fake, "fresh", bytes, v->len);
    free(bytes);
    assert_int_equal(rename(fresh, path), 0);
}

static bool body_is(const struct ask *a, const struct version *v)
{
    if (!v->exists)
        return a->status == 404;
    if (a->status != 200 || a->response.body_len != v->len)
        return false;
    for (size_t i = 0; i < v->len; i++) {
        if (a->body[i] != (char)(v->fill + (char)(i / 1000 % 31)))
            return false;
    }
    return true;
}

/* A response that came to its end has all of one version, however old. */
static void ask_check(const struct ask *a)
{
    if (a->is_broken)
        return;
    if (a->file >= NAMES) {
        assert_int_equal(a->status, 404);
        return;
    }
    if (a->status == 500 || a->status == 503)
        return;
    for (size_t i = 0; i <= newest[a->file]; i++) {
        if (body_is(a, &versions[a->file][i]))
            return;
    }
    fail_msg("%s: status %u, %llu bytes of no version", targets[a->file], a->status,
             (unsigned long long)a->response.body_len);
}

static void step_ask(struct ask *a)
{
    if (!a->is_open) {
        ask_begin(a, rng_below(&rng, NAMES + 2));
    } else if (!a->is_answered) {
        a->is_gone |= rng_below(&rng, 20) == 0;
    } else if (rng_below(&rng, 40) == 0) {
        ask_release(a); /* the peer resets it, waiting or not */
    } else if (!a->is_blocked && ask_read(a)) {
        ask_check(a);
        ask_release(a);
    }
}

/* Let all go to its end: nothing may be left that waits. */
static void settle(void)
{
    bool is_busy = true;
    while (is_busy) {
        while (fetch_count > 0)
            fetch_one();
        is_busy = false;
        for (size_t i = 0; i < ASKS_MAX; i++) {
            struct ask *a = &asks[i];
            if (!a->is_open)
                continue;
            assert_true(a->is_answered || fetch_count > 0);
            is_busy = true;
            if (a->is_answered && !a->is_blocked && ask_read(a)) {
                ask_check(a);
                ask_release(a);
            }
        }
    }
}

static void run(const char *name, struct files_config config, int steps)
{
    rng = rng_new(name);
    fake_init(&fake);
    config.fetcher = &fetcher;
    fake_open(&fake, config);
    for (size_t i = 0; i < NAMES; i++)
        change(i);
    for (int step = 0; step < steps; step++) {
        size_t what = rng_below(&rng, 100);
        if (what == 0)
            change(rng_below(&rng, NAMES));
        else if (what < 5)
            fake.clock.now_ms += rng_below(&rng, LIMIT_CACHE_FRESH_MS);
        else if (what == 5)
            disk_fails = rng_below(&rng, 4) == 0;
        else if (what < 40 && fetch_count > 0)
            fetch_one();
        else
            step_ask(&asks[rng_below(&rng, ASKS_MAX)]);
    }
    disk_fails = false;
    settle();
    for (size_t i = 0; i < ASKS_MAX; i++) {
        free(asks[i].body);
        asks[i].body = NULL;
    }
    memset(versions, 0, sizeof(versions));
    memset(newest, 0, sizeof(newest));
    fake_deinit(&fake); /* which finds everything given back */
}

static void whatever_is_cold_bodies_are_whole(void **state)
{
    (void)state;
    for (cold_percent = 0; cold_percent <= 100; cold_percent += 50)
        run("cold", (struct files_config){.cached_max = 3, .cached_bytes = 30000}, 1500);
}

static void windows_come_and_go(void **state)
{
    (void)state;
    cold_percent = 30;
    run("windows", (struct files_config){.mapped_bytes = WINDOW_LEN}, 1500);
}

static void strangers_find_out_by_reading(void **state)
{
    (void)state;
    cold_percent = 30;
    is_stranger = true;
    run("stranger", (struct files_config){0}, 1500);
    is_stranger = false;
}

static void without_openat2_every_open_is_off_the_loop(void **state)
{
    (void)state;
    cold_percent = 30;
    run("walks", (struct files_config){.walks_paths = true}, 1500);
}

/* ---- one thing at a time ---- */

static void large_begin(struct files_config config)
{
    rng = rng_new("large");
    fake_init(&fake);
    config.fetcher = &fetcher;
    struct version v = {.len = LARGE, .fill = 'a'};
    char *bytes = content_of(&v);
    fake_write(&fake, "f0.txt", bytes, LARGE);
    free(bytes);
    fake_open(&fake, config);
}

/* Ask, and wait for the answer: the names of siblings may be news to the kernel. */
static const struct fake_answer *get(const char *path)
{
    fake_get(&fake, path);
    while (fake.answer.status == 0)
        fetch_one();
    return &fake.answer;
}

static void what_is_sent_is_fetched_and_the_next_chunk_ahead(void **state)
{
    (void)state;
    struct ask *a = &asks[0];
    cold_percent = 100;
    large_begin((struct files_config){0});
    ask_begin(a, 0);
    while (!a->is_answered)
        fetch_one(); /* the path, then the first chunk */
    assert_int_equal(fetch_count, 0);

    assert_false(ask_read(a));
    assert_true(a->read > 0);
    assert_int_equal(fetch_count, 1); /* ahead */
    assert_int_equal(fetches[0]->len, CHUNK_LEN);
    while (a->read < CHUNK_LEN)
        assert_false(ask_read(a));
    assert_false(ask_read(a));
    assert_true(a->is_blocked);
    assert_int_equal(fetch_count,
                     2); /* the one that is needed, which was under way; and the next */
    ask_release(a);
    while (fetch_count > 0)
        fetch_one(); /* nobody is there to be resumed */
    free(a->body);
    a->body = NULL;
    fake_deinit(&fake);
}

static void what_was_seen_in_memory_is_not_asked_for_again(void **state)
{
    (void)state;
    cold_percent = 0;
    large_begin((struct files_config){0});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get("/f0.txt")->body_read, LARGE);
        uint64_t chunks = (LARGE + CHUNK_LEN - 1) / CHUNK_LEN;
        assert_int_equal(fake.stats.calls.mincore, chunks);
    }
    assert_in_range(fake.stats.fetches, 0, 1);
    fake.clock.now_ms += LIMIT_RESIDENT_MS;
    get("/f0.txt");
    assert_in_range(fake.stats.calls.mincore, 10, 2 * (LARGE / CHUNK_LEN + 1));
    fake_deinit(&fake);
}

static void mapped_bytes_are_bounded(void **state)
{
    (void)state;
    cold_percent = 0;
    large_begin((struct files_config){.mapped_bytes = WINDOW_LEN});
    for (int i = 0; i < 3; i++)
        assert_int_equal(get("/f0.txt")->body_read, LARGE);
    assert_int_equal(fake.stats.calls.mmap - fake.stats.calls.munmap, 1);
    fake_deinit(&fake);
}

static void a_disk_error_is_a_500(void **state)
{
    (void)state;
    struct ask *a = &asks[0];
    cold_percent = 100;
    large_begin((struct files_config){0});
    disk_fails = true;
    ask_begin(a, 0);
    while (!a->is_answered)
        fetch_one();
    assert_int_equal(a->status, 500);
    ask_release(a);
    disk_fails = false;
    free(a->body);
    a->body = NULL;
    fake_deinit(&fake);
}

/* For less time than passes until what cannot be watched is tried once more. */
static void get_for_a_while(const char *path)
{
    for (int ms = 0; ms < LIMIT_CACHE_WATCHED_MS / 3; ms += LIMIT_CACHE_FRESH_MS) {
        fake.clock.now_ms += LIMIT_CACHE_FRESH_MS;
        assert_int_equal(fake_get(&fake, path)->status, 200);
    }
}

/* It is not given up for long: who has looked at a file in it has brought it into memory. */
static void a_directory_is_watched_as_soon_as_it_is_in_memory(void **state)
{
    (void)state;
    cold_percent = 0;
    fake_init(&fake);
    fake_mkdir(&fake, "d");
    fake_put(&fake, "d/f", "one");
    fake_open(&fake, (struct files_config){0});
    has_cold_directories = true;
    get_for_a_while("/d/f");
    assert_int_equal(fake.stats.calls.inotify_add_watch, 0);
    has_cold_directories = false;
    get_for_a_while("/d/f");
    assert_int_equal(fake.stats.calls.inotify_add_watch, 2); /* of the root and of the directory */
    fake_put(&fake, "d/f", "two");
    fake.clock.now_ms++;
    fake_get(&fake, "/d/f");
    assert_body(&fake, "two");
    fake_deinit(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_cold_bodies_are_whole),
        cmocka_unit_test(windows_come_and_go),
        cmocka_unit_test(strangers_find_out_by_reading),
        cmocka_unit_test(without_openat2_every_open_is_off_the_loop),
        cmocka_unit_test(what_is_sent_is_fetched_and_the_next_chunk_ahead),
        cmocka_unit_test(what_was_seen_in_memory_is_not_asked_for_again),
        cmocka_unit_test(mapped_bytes_are_bounded),
        cmocka_unit_test(a_disk_error_is_a_500),
        cmocka_unit_test(a_directory_is_watched_as_soon_as_it_is_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
