/* What is known of used identifiers, against a model that remembers all of them. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "ids.h"
#include "mem.h"

#define MODEL_MAX 4096

struct model {
    bool used[MODEL_MAX];
    bool reset[MODEL_MAX];
    uint32_t order[MODEL_MAX]; /* of resets */
    size_t resets;
    uint32_t highest;
};

static enum ids_state model_state(const struct model *m, uint32_t id)
{
    if (id > m->highest)
        return IDS_NEW;
    size_t oldest = m->resets > IDS_RESETS ? m->resets - IDS_RESETS : 0;
    for (size_t i = oldest; i < m->resets; i++) {
        if (m->order[i] == id)
            return IDS_RESET;
    }
    bool is_recent = (m->highest - id) / 2 < IDS_WINDOW;
    return is_recent && !m->used[id] ? IDS_UNUSED : IDS_CLOSED;
}

static void assert_same(const struct ids *ids, const struct model *m, uint32_t upto)
{
    for (uint32_t id = 1; id < upto; id += 2)
        assert_int_equal(ids_state(ids, id), model_state(m, id));
}

static void random_use_is_remembered(void **state)
{
    (void)state;
    struct mem *mem;
    assert_int_equal(mem_new(ARENA_SPAN_LEN, &mem), WEIR_OK);
    struct rng rng = rng_new(__func__);
    for (int round = 0; round < 200; round++) {
        static struct model m;
        m = (struct model){0};
        struct ids ids = {0};
        size_t gap = 1 + rng_below(&rng, round % 2 == 0 ? 3 : 150);
        for (;;) {
            uint32_t id = m.highest == 0 ? 1 : m.highest + 2;
            id += 2 * (uint32_t)rng_below(&rng, gap);
            if (id >= MODEL_MAX - 2)
                break;
            ids_open(&ids, id);
            m.used[id] = true;
            m.highest = id;
            while (rng_below(&rng, 3) == 0 && m.resets < MODEL_MAX) {
                uint32_t back = 2 * (uint32_t)rng_below(&rng, IDS_WINDOW);
                uint32_t reset = back < id ? id - back : id;
                if (!m.used[reset])
                    continue;
                assert_int_equal(ids_reset(&ids, mem, reset), WEIR_OK);
                m.order[m.resets++] = reset;
            }
            if (rng_below(&rng, 128) == 0)
                assert_same(&ids, &m, MODEL_MAX);
        }
        assert_same(&ids, &m, MODEL_MAX);
        ids_deinit(&ids);
    }
    assert_int_equal(mem_live(mem), 0);
    mem_free(mem);
}

static void the_highest_identifiers_are_no_trouble(void **state)
{
    (void)state;
    struct ids ids = {0};
    assert_int_equal(ids_state(&ids, 1), IDS_NEW);
    ids_open(&ids, 0x7fffffff);
    assert_int_equal(ids_state(&ids, 0x7fffffff), IDS_CLOSED);
    assert_int_equal(ids_state(&ids, 0x7fffffff - 2 * (IDS_WINDOW - 1)), IDS_UNUSED);
    assert_int_equal(ids_state(&ids, 0x7fffffff - 2 * IDS_WINDOW), IDS_CLOSED);
    assert_int_equal(ids_state(&ids, 1), IDS_CLOSED);

    struct ids two = {0};
    ids_open(&two, 1);
    ids_open(&two, 0x7fffffff);
    assert_int_equal(ids_state(&two, 1), IDS_CLOSED);
    assert_int_equal(ids_state(&two, 0x7ffffffd), IDS_UNUSED);
}

/* Random priorities for streams to come and random opens, against an array that forgets nothing. */
static void priorities_that_come_first_are_remembered(void **state)
{
    (void)state;
    static bool model[2 * MODEL_MAX];
    struct ids ids = {0};
    uint64_t random = 1;
    memset(model, 0, sizeof(model));
    while (ids.highest < MODEL_MAX - 8) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        uint32_t step = (uint32_t)(random >> 33);
        uint32_t next = ids.highest + (ids.highest == 0 ? 1 : 2);
        uint32_t ahead = next + 2 * (step % (IDS_SIGNALS + 8));
        if (step % 3 == 0) {
            ids_signal(&ids, ahead);
            model[ahead] = model[ahead] || (ahead - next) / 2 < IDS_SIGNALS;
        } else if (step % 3 == 1) {
            ids_signal(&ids, ahead & ~1U); /* ours, and never opened by a client */
            ids_signal(&ids, ids.highest);
        } else {
            ids_open(&ids, next + 2 * (step / 3 % 3));
        }
        next = ids.highest + (ids.highest == 0 ? 1 : 2);
        for (uint32_t id = next; id < next + 2 * IDS_SIGNALS; id += 2)
            assert_int_equal(ids_has_signal(&ids, id), model[id]);
        assert_false(ids_has_signal(&ids, next + 2 * IDS_SIGNALS));
    }
    ids_signal(&ids, 0x7fffffff);
    assert_false(ids_has_signal(&ids, 0x7fffffff));
    ids_open(&ids, 0x7ffffffd);
    assert_int_equal(ids.signals, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_use_is_remembered),
        cmocka_unit_test(the_highest_identifiers_are_no_trouble),
        cmocka_unit_test(priorities_that_come_first_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
