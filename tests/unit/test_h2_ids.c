/* What is known of used identifiers, against a model that remembers all of them. */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "ids.h"

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
                ids_reset(&ids, reset);
                m.order[m.resets++] = reset;
            }
            if (rng_below(&rng, 16) == 0)
                assert_same(&ids, &m, MODEL_MAX);
        }
        assert_same(&ids, &m, MODEL_MAX);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_use_is_remembered),
        cmocka_unit_test(the_highest_identifiers_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
