/*
 * What the tests of files stand on: a directory of their own, a clock that stands still, and the
 * far end of an exchange, which takes a response, reads its body to the end and releases it.
 */
#ifndef TESTS_FILES_FAKE_H
#define TESTS_FILES_FAKE_H

#include "cm.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "internal/assert.h"
#include "internal/exchange.h"
#include "internal/stats.h"
#include "mem.h"
#include "text.h"
#include "weir/response.h"

#define FAKE_FIELDS_MAX 32
#define FAKE_TEXT_MAX 4096

/* A response as the peer would see it.  Views point into text and stay until the next request. */
struct fake_answer {
    unsigned status; /* 0: none */
    size_t field_count;
    struct weir_field fields[FAKE_FIELDS_MAX];
    uint64_t body_len; /* as announced by the response */
    bool is_broken;    /* the source said STREAM */
    char *body;        /* Own: the fake, until the next request */
    size_t body_read;  /* bytes that came */
    size_t slices;     /* slices that they came in */
    char text[FAKE_TEXT_MAX];
};

struct fake {
    char dir[64]; /* the root; its parent is a directory of the test alone */
    struct mem *mem;
    struct clock clock;
    struct stats stats;
    struct files *files;
    struct weir_request request;
    struct weir_field request_fields[FAKE_FIELDS_MAX];
    size_t read_max;                                      /* bytes that a read may give */
    void (*before_read)(struct fake *f, uint64_t offset); /* called before each; may be NULL */
    struct fake_answer answer;
};

static inline struct weir_str str_of(const char *text)
{
    return (struct weir_str){text, strlen(text)};
}

static inline void fake_keep_fields(struct fake *f, const struct weir_response *resp)
{
    struct fake_answer *a = &f->answer;
    size_t used = 0;
    assert_in_range(resp->field_count, 0, FAKE_FIELDS_MAX);
    for (size_t i = 0; i < resp->field_count; i++) {
        struct weir_str name = resp->fields[i].name;
        struct weir_str value = resp->fields[i].value;
        assert_true(used + name.len + value.len <= FAKE_TEXT_MAX);
        memcpy(a->text + used, name.ptr, name.len);
        a->fields[i].name = (struct weir_str){a->text + used, name.len};
        used += name.len;
        if (value.len > 0)
            memcpy(a->text + used, value.ptr, value.len);
        a->fields[i].value = (struct weir_str){a->text + used, value.len};
        used += value.len;
    }
    a->field_count = resp->field_count;
}

static inline enum weir_err fake_read_body(struct fake *f, const struct weir_response *resp)
{
    struct fake_answer *a = &f->answer;
    a->body = malloc(resp->body_len + 1);
    while (a->body_read < resp->body_len) {
        uint64_t left = resp->body_len - a->body_read;
        size_t max = left < f->read_max ? (size_t)left : f->read_max;
        struct weir_slice s;
        if (f->before_read != NULL)
            f->before_read(f, a->body_read);
        enum weir_err err =
            resp->source->read(resp->ctx, resp->body_offset + a->body_read, max, &s);
        if (err != WEIR_OK)
            return err;
        assert_in_range(s.len, 1, max);
        memcpy(a->body + a->body_read, s.ptr, s.len);
        a->body_read += s.len;
        a->slices++;
        bool is_lost = weir_buf_is_poisoned(s.buf);
        weir_slice_drop(&s);
        if (is_lost)
            return WEIR_STREAM;
    }
    a->body[a->body_read] = '\0';
    return WEIR_OK;
}

static inline enum weir_err fake_respond(struct weir_request *r, const struct weir_response *resp)
{
    struct fake *f = container_of(r, struct fake, request);
    assert_int_equal(f->answer.status, 0); /* once */
    assert_in_range(resp->status, 200, 599);
    f->answer.status = resp->status;
    f->answer.body_len = resp->body_len;
    fake_keep_fields(f, resp);
    enum weir_err err = fake_read_body(f, resp);
    f->answer.is_broken = err == WEIR_STREAM;
    if (resp->source != NULL)
        resp->source->release(resp->ctx);
    return err == WEIR_OK ? WEIR_OK : WEIR_CLOSED;
}

static inline void fake_resume(struct weir_request *r)
{
    (void)r;
}

static const struct exchange_ops fake_ops = {.respond = fake_respond, .resume = fake_resume};

/* A directory "root" inside a fresh one. */
static inline void fake_init(struct fake *f)
{
    *f = (struct fake){.read_max = 16384};
    text_set(f->dir, sizeof(f->dir), "/tmp/weir-files-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    text_add(f->dir, sizeof(f->dir), "/root");
    assert_int_equal(mkdir(f->dir, 0755), 0);
    assert_int_equal(mem_new((size_t)64 * 1024 * 1024, &f->mem), WEIR_OK);
    f->clock.now_ms = 1000000;
}

static inline void fake_open(struct fake *f, struct files_config config)
{
    config.root = f->dir;
    assert_int_equal(files_new(&config, f->mem, &f->clock, &f->stats, &f->files), WEIR_OK);
}

static inline int fake_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Everything must have come back. */
static inline void fake_deinit(struct fake *f)
{
    free(f->answer.body);
    files_free(f->files);
    assert_int_equal(mem_live(f->mem), 0);
    mem_free(f->mem);
    *strrchr(f->dir, '/') = '\0';
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread
    assert_int_equal(nftw(f->dir, fake_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void fake_path(const struct fake *f, const char *name, char out[512])
{
    snprintf(out, 512, "%s/%s", f->dir, name);
}

/* Write a file in place, made if it is not there. */
static inline void fake_write(const struct fake *f, const char *name, const void *bytes, size_t len)
{
    char path[512];
    fake_path(f, name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd != -1);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static inline void fake_put(const struct fake *f, const char *name, const char *text)
{
    fake_write(f, name, text, strlen(text));
}

static inline void fake_mkdir(const struct fake *f, const char *name)
{
    char path[512];
    fake_path(f, name, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static inline void fake_symlink(const struct fake *f, const char *target, const char *name)
{
    char path[512];
    fake_path(f, name, path);
    assert_int_equal(symlink(target, path), 0);
}

static inline void fake_add_field(struct fake *f, const char *name, const char *value)
{
    assert_true(f->request.field_count < FAKE_FIELDS_MAX);
    f->request_fields[f->request.field_count++] = (struct weir_field){str_of(name), str_of(value)};
}

/* Ask, with the fields that were added since the last request. */
static inline const struct fake_answer *fake_ask_str(struct fake *f, const char *method,
                                                     struct weir_str path)
{
    free(f->answer.body);
    f->answer = (struct fake_answer){0};
    f->request.method = str_of(method);
    f->request.path = path;
    f->request.fields = f->request_fields;
    f->request.ops = &fake_ops;
    files_handle(f->files, &f->request);
    f->request.field_count = 0;
    return &f->answer;
}

static inline const struct fake_answer *fake_ask(struct fake *f, const char *method,
                                                 const char *path)
{
    return fake_ask_str(f, method, str_of(path));
}

static inline const struct fake_answer *fake_get(struct fake *f, const char *path)
{
    return fake_ask(f, "GET", path);
}

/* The value of a field of the answer; empty if it is not there. */
static inline struct weir_str fake_field(const struct fake *f, const char *name)
{
    for (size_t i = 0; i < f->answer.field_count; i++) {
        if (weir_str_eq(f->answer.fields[i].name, str_of(name)))
            return f->answer.fields[i].value;
    }
    return (struct weir_str){"", 0};
}

static inline void assert_field(const struct fake *f, const char *name, const char *value)
{
    struct weir_str got = fake_field(f, name);
    if (!weir_str_eq(got, str_of(value)))
        fail_msg("field %s is \"%.*s\", not \"%s\"", name, (int)got.len, got.ptr, value);
}

static inline void assert_body(const struct fake *f, const char *text)
{
    assert_int_equal(f->answer.body_read, strlen(text));
    assert_memory_equal(f->answer.body, text, strlen(text));
}

#endif
