/*
 * Bytes of an HTTP/2 client: whatever they are, and however they are cut, the session gives the
 * same well-formed frames, and leaves nothing behind.
 *
 *     input: [how it is pulled][client's bytes ...]
 *
 * The first byte: bit 0: a preface is put in front of the bytes.  Bits 1-2: output is pulled at the
 * end, after every piece, in drops, or in drops that the client does not take.  Bit 3: time passes
 * between pieces.  Bit 4: the connection drains half-way.  Bits 5-7: bytes of a piece, 3 to 8192.
 *
 * Covers: h2/callbacks.c, h2/input.c, h2/message.c,
 *         h2/output.c, h2/priority.c, h2/section.c, h2/session.c, h2/stream.c
 */
#include "fuzz.h"

#include "../unit/h2_peer.h"

enum pulls { PULLS_AT_END, PULLS_OFTEN, PULLS_DROPS, PULLS_SLOWLY };

struct plan {
    bool has_preface;
    enum pulls pulls;
    bool takes_time;
    bool drains;
    size_t step;
};

static struct plan plan_of(uint8_t first)
{
    static const size_t steps[8] = {3, 9, 13, 40, 100, 300, 1000, 8192};
    return (struct plan){
        .has_preface = (first & 1) != 0,
        .pulls = (enum pulls)(first >> 1 & 3),
        .takes_time = (first & 8) != 0,
        .drains = (first & 16) != 0,
        .step = steps[first >> 5],
    };
}

static struct mem *mem; /* of all runs: to make it is most of the work */

/* Output between two pieces of input, as the plan says. */
static void go_on(struct peer *p, const struct plan *plan)
{
    switch (plan->pulls) {
    case PULLS_AT_END: return;
    case PULLS_OFTEN: break;
    case PULLS_SLOWLY:
        p->is_slow = true;
        peer_pull(p);
        peer_take(p, 20);
        return;
    case PULLS_DROPS: p->budget = 1; break;
    }
    peer_pull(p);
    peer_resume(p);
    if (p->late_count > 2)
        weir_ignore(peer_answer(p));
}

/* Everything that is still owed. */
static void finish(struct peer *p)
{
    p->is_slow = false;
    p->budget = LIMIT_STAGED_OUTPUT;
    peer_pull(p);
    h2_protocol.feed_end(p->session);
    do {
        while (p->late_count > 0)
            weir_ignore(peer_answer(p));
        peer_take(p, p->out.len);
        peer_pull(p);
    } while (peer_resume(p) || p->late_count > 0);
    WEIR_ASSERT(p->pulled == WEIR_CLOSED || p->pulled == WEIR_IO);
    WEIR_ASSERT(p->parsed == p->wire_len || p->pulled == WEIR_IO); /* whole frames */
}

static void run(struct peer *p, const struct plan *plan, const uint8_t *bytes, size_t len)
{
    WEIR_ASSERT(peer_init_in(p, mem) == WEIR_OK);
    log_set_level(LV_ERROR);
    if (plan->has_preface)
        peer_hello(p);
    peer_send(p);
    for (size_t at = 0; at < len && p->fed == WEIR_OK && p->pulled <= WEIR_AGAIN;
         at += plan->step) {
        peer_say(p, bytes + at, len - at < plan->step ? len - at : plan->step);
        peer_send(p);
        if (plan->drains && at <= len / 2 && at + plan->step > len / 2)
            h2_protocol.drain(p->session);
        go_on(p, plan);
        if (plan->takes_time && p->fed == WEIR_OK && p->pulled <= WEIR_AGAIN)
            peer_wait(p, 500);
    }
    finish(p);
}

/* What a run came to. */
struct outcome {
    enum weir_err fed;
    enum weir_err pulled;
    unsigned requests;
    size_t wire_len;
    uint8_t *wire; /* Own: a copy */
};

static struct outcome outcome_of(const struct plan *plan, const uint8_t *bytes, size_t len)
{
    static struct peer p;
    run(&p, plan, bytes, len);
    struct outcome o = {p.fed, p.pulled, p.requests, p.wire_len, malloc(p.wire_len + 1)};
    WEIR_ASSERT(o.wire != NULL);
    if (p.wire_len > 0)
        memcpy(o.wire, p.wire, p.wire_len);
    WEIR_ASSERT(peer_end(&p));
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (mem == NULL)
        WEIR_ASSERT(mem_new(PEER_MEMORY, &mem) == WEIR_OK);
    if (len == 0)
        return 0;
    struct plan plan = plan_of(data[0]);
    free(outcome_of(&plan, data + 1, len - 1).wire);

    /* Pulled at the end alone, cuts change nothing. */
    struct plan whole_plan = {.has_preface = plan.has_preface, .step = 8192};
    struct plan cut_plan = {.has_preface = plan.has_preface, .step = 1 + len % 17};
    struct outcome whole = outcome_of(&whole_plan, data + 1, len - 1);
    struct outcome cut = outcome_of(&cut_plan, data + 1, len - 1);
    WEIR_ASSERT(whole.fed == cut.fed && whole.pulled == cut.pulled);
    WEIR_ASSERT(whole.requests == cut.requests && whole.wire_len == cut.wire_len);
    WEIR_ASSERT(memcmp(whole.wire, cut.wire, cut.wire_len) == 0);
    free(whole.wire);
    free(cut.wire);
    return 0;
}
