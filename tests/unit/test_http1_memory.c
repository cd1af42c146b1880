/*
 * Memory that runs out: every allocation of a scenario is failed in turn.  The session may end,
 * nothing else: no crash, no leak, no source unreleased.
 */
#include "cm.h"

#include "http1_peer.h"

static size_t fail_in;  /* allocations until one fails; 0: none does */
static size_t failures; /* that have happened */

/* The linker puts this in the place of pool_take(): see CMakeLists.txt. */
/* NOLINTBEGIN(readability-identifier-naming): the names are the linker's */
void *__real_pool_take(struct pool *p);
void *__wrap_pool_take(struct pool *p);

void *__wrap_pool_take(struct pool *p)
{
    if (fail_in > 0 && --fail_in == 0) {
        failures++;
        return NULL;
    }
    return __real_pool_take(p);
}
/* NOLINTEND(readability-identifier-naming) */

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

struct scenario {
    const char *name;
    const char *bytes;
    size_t step; /* bytes of each feed */
};

static const struct scenario scenarios[] = {
    {"one", GET("/x"), 1000},
    {"in pieces", GET("/x"), 7},
    {"pipelined", GET("/x") GET("/large?30000") GET("/late") GET("/none"), 50},
    {"queue runs over",
     GET("/late") GET("/2") GET("/3") GET("/4") GET("/5") GET("/6") GET("/7") GET("/8") GET("/9")
         GET("/10") GET("/11") GET("/12") GET("/13") GET("/14") GET("/15") GET("/16") GET("/17")
             GET("/late") GET("/19"),
     300},
    {"body",
     "POST /late HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
     "5\r\nhello\r\n0\r\n\r\n" GET("/x"),
     30},
    {"streams", GET("/stream?30000") GET("/drip?9") GET("/flow?900") GET("/mapped?9"), 1000},
    {"stream at the end", "GET /stream?9 HTTP/1.0\r\n\r\n" GET("/late") GET("/x"), 1000},
    {"error", GET("/late") "bad\r\n", 1000},
    {"bad body", "POST /late HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz", 1000},
};

static bool play(const struct scenario *s, struct peer *p)
{
    if (peer_init(p) != WEIR_OK) {
        assert_null(p->session);
        return peer_deinit(p);
    }
    size_t len = strlen(s->bytes);
    for (size_t at = 0; at < len; at += s->step) {
        peer_feed_once(p, s->bytes + at, len - at < s->step ? len - at : s->step);
        if (p->fed == WEIR_NOMEM)
            break;
        peer_pull(p);
    }
    for (int i = 0; i < 3; i++) {
        while (p->late_count > 0 && p->pulled != WEIR_NOMEM && p->fed != WEIR_NOMEM)
            peer_answer(p, 0);
        peer_resume(p);
        peer_pull(p);
    }
    return peer_deinit(p);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        size_t swept = 0;
        do {
            struct peer p;
            failures = 0;
            fail_in = ++swept;

            if (!play(&scenarios[i], &p))
                fail_msg("%s: allocation %zu leaks", scenarios[i].name, swept);
        } while (failures > 0);
        assert_true(swept > 4); /* the sweep has reached the scenario */
        printf("%s: %zu allocations\n", scenarios[i].name, swept - 1);
    }
    fail_in = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
