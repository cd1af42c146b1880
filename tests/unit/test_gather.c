/* Gather lists against plain byte arrays, with memory in plenty and with memory that runs out. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "mem.h"
#include "weir/gather.h"

#define SOURCES 6
#define SOURCE_LEN 8192
#define MODEL_CAP ((size_t)64 * 1024)
#define LEN_OF(array) (sizeof(array) / sizeof((array)[0]))

/* What file maps and request bodies are to a list: bytes that somebody else made. */
static uint8_t source_bytes[SOURCES][SOURCE_LEN];
static struct weir_buf sources[SOURCES];
static unsigned released;

static void source_release(struct weir_buf *b)
{
    (void)b;
    released++;
}

static void sources_init(struct rng *r)
{
    released = 0;
    for (size_t i = 0; i < SOURCES; i++) {
        for (size_t j = 0; j < SOURCE_LEN; j++)
            source_bytes[i][j] = (uint8_t)rng_next(r);
        sources[i] = (struct weir_buf){
            .refs = 1,
            .origin = WEIR_ORIGIN_MAPPED,
            .base = source_bytes[i],
            .cap = SOURCE_LEN,
            .release = source_release,
        };
    }
}

/* Only the test's own references are left, and the memory is whole again. */
static void assert_all_returned(const struct mem *m)
{
    for (size_t i = 0; i < SOURCES; i++)
        assert_int_equal(sources[i].refs, 1);
    assert_int_equal(released, 0);
    assert_int_equal(mem_live(m), 0);
}

static struct mem *mem_make(size_t cap)
{
    struct mem *m;
    assert_int_equal(mem_new(cap, &m), WEIR_OK);
    return m;
}

/* Blocks that the test keeps from the list. */
static struct weir_buf *kept[2 * ARENA_SPAN_LEN / BLOCK_SMALL_CAP];
static size_t kept_count;

/* Take every small block, and give `spares` of them back. */
static void keep_blocks(struct mem *m, size_t spares)
{
    for (struct weir_buf *b; (b = block_take(m, BLOCK_SMALL)) != NULL;)
        kept[kept_count++] = b;
    while (spares-- > 0)
        weir_buf_unref(&kept[--kept_count]);
}

static void give_blocks(void)
{
    while (kept_count > 0)
        weir_buf_unref(&kept[--kept_count]);
}

static struct weir_slice source_slice(size_t source, size_t from, size_t len)
{
    return weir_slice_of(&sources[source], source_bytes[source] + from, len);
}

static void a_slice_that_continues_the_last_is_merged_with_it(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    sources_init(&r);
    struct mem *m = mem_make(ARENA_SPAN_LEN * 4);
    struct weir_gather g;
    weir_gather_init(&g, m);

    assert_int_equal(weir_gather_append(&g, source_slice(0, 100, 1000)), WEIR_OK);
    assert_int_equal(weir_gather_append(&g, source_slice(0, 1100, 1000)), WEIR_OK);
    assert_int_equal(weir_gather_append(&g, source_slice(0, 2100, 1)), WEIR_OK); /* small, too */

    assert_int_equal(g.count, 1);
    assert_int_equal(g.len, 2001);
    assert_int_equal(g.copied, 0);
    assert_int_equal(sources[0].refs, 2);

    assert_int_equal(weir_gather_append(&g, source_slice(0, 3000, 1000)), WEIR_OK); /* a gap */
    assert_int_equal(g.count, 2);
    weir_gather_deinit(&g);
    assert_all_returned(m);
    mem_free(m);
}

static void a_slice_is_copied_below_the_limit_and_referred_to_from_there_on(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    sources_init(&r);
    struct mem *m = mem_make(ARENA_SPAN_LEN * 4);
    struct weir_gather g;
    weir_gather_init(&g, m);

    size_t below = WEIR_GATHER_INLINE_MAX - 1;
    assert_int_equal(weir_gather_append(&g, source_slice(0, 0, below)), WEIR_OK);
    assert_int_equal(sources[0].refs, 1);
    assert_int_equal(g.copied, below);
    assert_int_equal(weir_gather_append(&g, source_slice(1, 0, below)), WEIR_OK);
    assert_int_equal(g.count, 1); /* behind the bytes copied before */
    assert_int_equal(weir_gather_append(&g, source_slice(2, 0, below + 1)), WEIR_OK);
    assert_int_equal(g.copied, 2 * below);

    assert_int_equal(g.count, 2);
    assert_int_equal(sources[2].refs, 2);
    weir_gather_deinit(&g);
    assert_all_returned(m);
    mem_free(m);
}

static void an_empty_list_holds_no_memory(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    sources_init(&r);
    struct mem *m = mem_make(ARENA_SPAN_LEN * 4);
    struct weir_gather g;
    weir_gather_init(&g, m);
    assert_null(weir_gather_front(&g));

    assert_int_equal(weir_gather_append(&g, source_slice(0, 0, 0)), WEIR_OK); /* is dropped */
    assert_int_equal(weir_gather_append_copy(&g, "", 0), WEIR_OK);
    assert_int_equal(g.count, 0);
    assert_all_returned(m);

    assert_int_equal(weir_gather_append_copy(&g, "head", 4), WEIR_OK);
    assert_int_equal(weir_gather_append(&g, source_slice(0, 0, 5000)), WEIR_OK);
    assert_true(mem_live(m) > 0);
    weir_gather_consume(&g, 4);
    weir_gather_consume(&g, 5000);
    assert_all_returned(m);

    struct weir_gather zeroed = {0};
    weir_gather_deinit(&zeroed);
    mem_free(m);
}

static void a_small_slice_is_appended_whole_or_not_at_all(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    sources_init(&r);
    struct mem *m = mem_make(ARENA_SPAN_LEN * 2);
    struct weir_gather g;
    weir_gather_init(&g, m);
    /* 100 bytes of room are left in the block that copies go to, and there is no other block */
    assert_int_equal(weir_gather_append_copy(&g, source_bytes[1], BLOCK_SMALL_CAP - 100), WEIR_OK);
    size_t len = g.len;
    uint64_t copied = g.copied;
    keep_blocks(m, 0);

    assert_int_equal(weir_gather_append(&g, source_slice(0, 0, 200)), WEIR_NOMEM);

    assert_int_equal(g.len, len);
    assert_int_equal(g.copied, copied);
    assert_int_equal(sources[0].refs, 1);
    assert_int_equal(weir_gather_append(&g, source_slice(0, 0, 100)), WEIR_OK); /* this one fits */
    assert_int_equal(g.len, len + 100);
    weir_gather_deinit(&g);
    give_blocks();
    assert_all_returned(m);
    mem_free(m);
}

static void export_stops_at_both_limits(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    sources_init(&r);
    struct mem *m = mem_make(ARENA_SPAN_LEN * 4);
    struct weir_gather g;
    weir_gather_init(&g, m);
    for (size_t i = 0; i < SOURCES; i++)
        assert_int_equal(weir_gather_append(&g, source_slice(i, 0, 1000)), WEIR_OK);

    struct iovec iov[SOURCES];
    size_t len;
    assert_int_equal(weir_gather_export(&g, iov, 2, SIZE_MAX, &len), 2);
    assert_int_equal(len, 2000);
    assert_int_equal(weir_gather_export(&g, iov, SOURCES, 2500, &len), 3);
    assert_int_equal(len, 2500);
    assert_int_equal(iov[2].iov_len, 500);
    assert_int_equal(weir_gather_export(&g, iov, SOURCES, 0, &len), 0);
    assert_int_equal(len, 0);
    assert_int_equal(weir_gather_export(&g, iov, SOURCES, SIZE_MAX, &len), SOURCES);
    assert_int_equal(len, g.len);

    weir_gather_deinit(&g);
    assert_all_returned(m);
    mem_free(m);
}

/* ---- the model ---- */

struct model {
    struct weir_gather g;
    uint8_t *bytes; /* what g holds */
    size_t len;
};

static struct model models[2];
static unsigned refusals; /* operations that ended with WEIR_NOMEM */

/* Whether an operation succeeded; if not, it was for want of memory. */
static bool succeeded(enum weir_err err)
{
    if (err == WEIR_OK)
        return true;
    assert_int_equal(err, WEIR_NOMEM);
    refusals++;
    return false;
}

static void model_init(struct model *model, struct mem *m)
{
    weir_gather_init(&model->g, m);
    model->bytes = malloc(MODEL_CAP);
    model->len = 0;
    assert_non_null(model->bytes);
}

static void models_deinit(void)
{
    for (size_t i = 0; i < LEN_OF(models); i++) {
        weir_gather_deinit(&models[i].g);
        free(models[i].bytes);
    }
}

static void model_append(struct model *model, const uint8_t *bytes, size_t len)
{
    memcpy(model->bytes + model->len, bytes, len);
    model->len += len;
}

static void model_consume(struct model *model, size_t n)
{
    model->len -= n;
    memmove(model->bytes, model->bytes + n, model->len);
}

/* Export up to the given limits and compare what comes out. */
static void model_check(const struct model *model, size_t max, size_t max_len)
{
    static struct iovec iov[4096];
    const struct weir_gather *g = &model->g;
    assert_int_equal(g->len, model->len);
    assert_true(max <= LEN_OF(iov));

    size_t len;
    size_t count = weir_gather_export(g, iov, max, max_len, &len);

    assert_true(count <= max && count <= g->count);
    assert_true(len <= max_len);
    if (count < max)
        assert_int_equal(len, max_len < model->len ? max_len : model->len);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(iov[i].iov_len > 0);
        assert_memory_equal(iov[i].iov_base, model->bytes + at, iov[i].iov_len);
        at += iov[i].iov_len;
    }
    assert_int_equal(at, len);
}

static void model_check_whole(const struct model *model)
{
    model_check(model, 4096, SIZE_MAX);
    const struct weir_slice *front = weir_gather_front(&model->g);
    assert_int_equal(front == NULL, model->len == 0);
    if (front != NULL)
        assert_memory_equal(front->ptr, model->bytes, front->len);
}

/* Lengths around the limits that matter: 0, the inline limit, a block. */
static size_t some_len(struct rng *r)
{
    switch (rng_below(r, 4)) {
    case 0: return rng_below(r, 20);
    case 1: return WEIR_GATHER_INLINE_MAX - 3 + rng_below(r, 6);
    case 2: return rng_below(r, WEIR_GATHER_INLINE_MAX);
    default: return rng_below(r, SOURCE_LEN / 2);
    }
}

/* In half of the cases a slice goes on where the one before ended. */
static void step_append(struct rng *r, struct model *model)
{
    static size_t source;
    static size_t from;
    size_t len = some_len(r);
    if (rng_below(r, 2) == 0 || from + len > SOURCE_LEN) {
        source = rng_below(r, SOURCES);
        from = rng_below(r, SOURCE_LEN - len + 1);
    }
    if (model->len + len > MODEL_CAP)
        return;
    if (succeeded(weir_gather_append(&model->g, source_slice(source, from, len))))
        model_append(model, source_bytes[source] + from, len);
    from += len;
}

static void step_append_copy(struct rng *r, struct model *model)
{
    size_t source = rng_below(r, SOURCES);
    size_t len = some_len(r) + (rng_below(r, 4) == 0 ? SOURCE_LEN / 2 : 0);
    if (model->len + len > MODEL_CAP)
        return;
    size_t had = model->g.len;
    bool done = succeeded(weir_gather_append_copy(&model->g, source_bytes[source], len));
    size_t added = model->g.len - had;
    assert_true(done ? added == len : added < len);
    model_append(model, source_bytes[source], added);
}

static void step_consume(struct rng *r, struct model *model)
{
    size_t n = rng_below(r, model->len + 1);
    if (rng_below(r, 8) == 0)
        n = model->len;
    weir_gather_consume(&model->g, n);
    model_consume(model, n);
}

static void step_split(struct rng *r, struct model *from, struct model *to)
{
    size_t n = rng_below(r, from->len + 1);
    if (to->len + n > MODEL_CAP)
        return;
    size_t had = to->g.len;
    bool done = succeeded(weir_gather_split(&from->g, n, &to->g));
    size_t moved = to->g.len - had;
    assert_true(done ? moved == n : moved < n);
    model_append(to, from->bytes, moved);
    model_consume(from, moved);
}

static void run_model(struct rng *r, size_t cap, int steps)
{
    sources_init(r);
    struct mem *m = mem_make(cap);
    model_init(&models[0], m);
    model_init(&models[1], m);

    for (int step = 0; step < steps; step++) {
        struct model *model = &models[rng_below(r, 2)];
        switch (rng_below(r, 8)) {
        case 0:
        case 1:
        case 2: step_append(r, model); break;
        case 3:
        case 4: step_append_copy(r, model); break;
        case 5: step_consume(r, model); break;
        case 6: step_split(r, model, model == &models[0] ? &models[1] : &models[0]); break;
        default: model_check(model, rng_below(r, 20), rng_below(r, 2 * model->len + 1));
        }
        model_check_whole(&models[0]);
        model_check_whole(&models[1]);
        if (models[0].len == 0 && models[1].len == 0)
            assert_all_returned(m);
    }

    models_deinit();
    assert_all_returned(m);
    mem_free(m);
}

static void random_operations_agree_with_a_model(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    refusals = 0;
    run_model(&r, ARENA_SPAN_LEN * 16, 20000);
    assert_int_equal(refusals, 0);
}

/* One span, which either segments or blocks get: every append meets the end of memory. */
static void random_operations_without_memory_lose_nothing(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    refusals = 0;
    run_model(&r, ARENA_SPAN_LEN, 5000);
    assert_true(refusals > 0);
}

/* Memory that runs out in the middle of an operation, again and again. */
static void random_operations_with_little_memory_lose_nothing(void **state)
{
    (void)state;
    struct rng r = rng_new("gather");
    refusals = 0;
    for (size_t round = 0; round < 32; round++) {
        sources_init(&r);
        struct mem *m = mem_make(ARENA_SPAN_LEN * 2);
        model_init(&models[0], m);
        model_init(&models[1], m);
        mem_give(mem_take(m, 1500)); /* the first span goes to segments, the second to blocks */
        keep_blocks(m, 1 + round % 8);

        for (int step = 0; step < 1000; step++) {
            struct model *model = &models[rng_below(&r, 2)];
            switch (rng_below(&r, 6)) {
            case 0: step_append(&r, model); break;
            case 1:
            case 2:
            case 3: step_append_copy(&r, model); break;
            case 4: step_consume(&r, model); break;
            default: step_split(&r, &models[0], &models[1]);
            }
            model_check_whole(&models[0]);
            model_check_whole(&models[1]);
        }

        give_blocks();
        models_deinit();
        assert_all_returned(m);
        mem_free(m);
    }
    assert_true(refusals > 0);
}

/* Cut at any of many slices, of which every third is of the buf that is lost. */
static void what_lies_before_a_cut_is_kept(void **state)
{
    (void)state;
    struct rng r = rng_new(__func__);
    sources_init(&r);
    struct mem *m = mem_make((size_t)4 * 1024 * 1024);
    for (size_t first = 0; first <= 40; first++) { /* which is the first that is lost */
        struct weir_gather g;
        weir_gather_init(&g, m);
        size_t before = 0;
        for (size_t i = 0; i < 40; i++) {
            struct weir_buf *b = &sources[i >= first && (i - first) % 3 == 0 ? 0 : 1 + i % 2];
            assert_int_equal(weir_gather_append(&g, weir_slice_of(b, b->base + 7 * i, 300)),
                             WEIR_OK);
            assert_int_equal(weir_gather_append_copy(&g, "copied", 6), WEIR_OK);
            if (i < first)
                before += 306;
        }
        weir_gather_cut(&g, &sources[0]);
        assert_int_equal(g.len, before);
        uint64_t copied = g.copied;
        assert_int_equal(weir_gather_append_copy(&g, "more", 4), WEIR_OK);
        assert_int_equal(g.copied, copied + 4);
        weir_gather_cut(&g, &sources[0]); /* there is none any more */
        assert_int_equal(g.len, before + 4);
        weir_gather_deinit(&g);
        assert_all_returned(m);
    }
    mem_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_that_continues_the_last_is_merged_with_it),
        cmocka_unit_test(a_slice_is_copied_below_the_limit_and_referred_to_from_there_on),
        cmocka_unit_test(an_empty_list_holds_no_memory),
        cmocka_unit_test(a_small_slice_is_appended_whole_or_not_at_all),
        cmocka_unit_test(export_stops_at_both_limits),
        cmocka_unit_test(what_lies_before_a_cut_is_kept),
        cmocka_unit_test(random_operations_agree_with_a_model),
        cmocka_unit_test(random_operations_without_memory_lose_nothing),
        cmocka_unit_test(random_operations_with_little_memory_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
