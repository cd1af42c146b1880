/*
 * Memory that runs out: every allocation of a scenario is failed in turn, alone and with all that
 * follow.  The session may end, nothing else: no crash, no leak, no source unreleased.
 */
#include "cm.h"

#include "h2_peer.h"

static struct mem *mem;    /* of all runs: to make it is most of the work */
static size_t fail_in;     /* allocations until one fails; 0: none does */
static bool fails_forever; /* from then on */
static size_t failures;    /* that have happened */

/* The linker puts this in the place of pool_take(): see CMakeLists.txt. */
/* NOLINTBEGIN(readability-identifier-naming): the names are the linker's */
void *__real_pool_take(struct pool *p);
void *__wrap_pool_take(struct pool *p);

void *__wrap_pool_take(struct pool *p)
{
    if (fail_in > 1)
        fail_in--;
    else if (fail_in == 1) {
        failures++;
        if (!fails_forever)
            fail_in = 0;
        return NULL;
    }
    return __real_pool_take(p);
}
/* NOLINTEND(readability-identifier-naming) */

static void say_requests(struct peer *p)
{
    peer_get(p, 1, "/size?40000");
    peer_get(p, 3, "/pool?10");
    peer_get(p, 5, "/late?300");
    peer_get(p, 7, "/slow?300");
    peer_get(p, 9, "/none");
}

static void say_many_fields(struct peer *p)
{
    nghttp2_nv nva[60];
    char names[60][8];
    nva[0] = peer_nv(":method", "GET");
    nva[1] = peer_nv(":scheme", "http");
    nva[2] = peer_nv(":path", "/late?10");
    nva[3] = peer_nv(":authority", "localhost");
    for (size_t i = 4; i < 60; i++) {
        snprintf(names[i], sizeof(names[i]), "x-%zu", i);
        nva[i] = peer_nv(names[i], "a value of some length");
    }
    peer_fields(p, 1, NGHTTP2_FLAG_END_STREAM, nva, 60, 300);
}

static void say_uploads(struct peer *p)
{
    static const uint8_t bytes[16384];
    const nghttp2_nv trailer = peer_nv("x-sum", "1");
    for (uint32_t id = 1; id < 90; id += 2) {
        peer_ask(p, id, 0, "POST", id % 4 == 1 ? "/late?10" : "/size?10");
        peer_frame(p, NGHTTP2_DATA, 0, id, bytes, sizeof(bytes));
        peer_fields(p, id, NGHTTP2_FLAG_END_STREAM, &trailer, 1, 16384);
    }
}

static void say_control(struct peer *p)
{
    peer_setting(p, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 0);
    peer_setting(p, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 4096);
    peer_get(p, 1, "/late?10");
    peer_frame(p, NGHTTP2_PING, 0, 0, "12345678", 8);
    peer_frame(p, NGHTTP2_PRIORITY_UPDATE, 0, 0, "\0\0\0\x07u=1", 7);
    peer_frame(p, NGHTTP2_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0text", 12);
}

static void say_refused(struct peer *p)
{
    for (uint32_t i = 0; i < LIMIT_STREAMS + 3; i++)
        peer_get(p, 2 * i + 1, "/late?10");
    peer_number(p, NGHTTP2_RST_STREAM, 1, NGHTTP2_CANCEL);
}

static void say_faults(struct peer *p)
{
    const nghttp2_nv bad = peer_nv(":method", "GET");
    peer_get(p, 1, "/cut?1000");
    for (uint32_t id = 3; id < 50; id += 2)
        peer_fields(p, id, NGHTTP2_FLAG_END_STREAM, &bad, 1, 16384);
}

struct scenario {
    const char *name;
    void (*say)(struct peer *p);
    size_t step; /* bytes of each feed */
    bool drains;
};

static const struct scenario scenarios[] = {
    {"requests", say_requests, 16384, false},     {"requests in pieces", say_requests, 50, true},
    {"many fields", say_many_fields, 500, false}, {"uploads", say_uploads, 16384, false},
    {"control", say_control, 16384, true},        {"refused", say_refused, 16384, true},
    {"faults", say_faults, 16384, false},
};

/* Answers, resumptions and pulls, as far as the session lives. */
static void play_on(struct peer *p)
{
    for (int i = 0; i < 4; i++) {
        while (p->late_count > 0 && p->pulled != WEIR_NOMEM)
            weir_ignore(peer_answer(p));
        peer_resume(p);
        peer_pull(p);
    }
}

static bool play(const struct scenario *s)
{
    static struct peer p;
    if (peer_init_in(&p, mem) != WEIR_OK) {
        assert_null(p.session);
        return peer_end(&p);
    }
    peer_hello(&p);
    peer_settings_ack(&p);
    s->say(&p);
    size_t len = p.in_len;
    uint8_t *in_bytes = malloc(len);
    assert_non_null(in_bytes);
    memcpy(in_bytes, p.in, len);
    p.in_len = 0;
    for (size_t at = 0; at < len && p.fed == WEIR_OK; at += s->step) {
        peer_say(&p, in_bytes + at, len - at < s->step ? len - at : s->step);
        peer_turn(&p);
    }
    free(in_bytes);
    if (s->drains && p.fed != WEIR_NOMEM)
        h2_protocol.drain(p.session);
    play_on(&p);
    return peer_end(&p);
}

static void sweep(const struct scenario *s)
{
    for (int forever = 0; forever <= 1; forever++) {
        size_t swept = 0;
        do {
            failures = 0;
            fails_forever = forever != 0;
            fail_in = ++swept;
            if (!play(s))
                fail_msg("%s: allocation %zu leaks", s->name, swept);
        } while (failures > 0);
        assert_true(swept > 20); /* the sweep has reached the scenario */
        printf("%s: %zu allocations\n", s->name, swept - 1);
    }
    fail_in = 0;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(mem_new(PEER_MEMORY, &mem), WEIR_OK);
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        sweep(&scenarios[i]);
    mem_free(mem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
