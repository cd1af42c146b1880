/*
 * Bytes of a client: whatever they are, and however they are cut, the session gives the same
 * answers, well-formed ones, and leaves nothing behind.
 *
 * Covers: server/http/http1/chunked.c, server/http/http1/http1_session.c,
 *         server/http/http1/parse.c, server/http/http1/target.c
 */
#include "fuzz.h"

#include "../unit/http1_peer.h"

/* Pieces of a length that depends on the input alone, so that an input is just a client's bytes. */
static size_t piece_len(const uint8_t *data, size_t len)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ data[i]) * 16777619U;
    return 1 + (hash >> 8) % (hash % 2 == 0 ? 8 : 512);
}

static void run(struct peer *p, const uint8_t *data, size_t len, size_t step, bool pulls)
{
    WEIR_ASSERT(peer_init(p) == WEIR_OK);
    for (size_t at = 0; at < len; at += step) {
        peer_feed(p, (const char *)data + at, len - at < step ? len - at : step);
        if (pulls) {
            peer_pull(p);
            peer_resume(p);
        }
    }
    http1_protocol.feed_end(p->session);
    do {
        while (p->late_count > 0)
            peer_answer(p, p->late_count / 2);
        peer_pull(p);
    } while (peer_resume(p) || p->late_count > 0);
    WEIR_ASSERT(p->pulled == WEIR_CLOSED || p->pulled == WEIR_IO); /* IO: nothing else tells */
    peer_unchunk(p);
}

/* Answers that can be told apart, and none behind one that says close. */
static void check_output(const struct peer *p)
{
    size_t at = 0;
    struct answer a = {0};
    bool is_last = false;
    while (peer_answer_next(p, &at, &a)) {
        WEIR_ASSERT(!is_last);
        is_last = a.says_close || !a.is_whole;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct peer whole;
    struct peer cut;
    struct peer pulled;
    size_t step = piece_len(data, len);

    run(&whole, data, len, len > 0 ? len : 1, false);
    run(&cut, data, len, step, false);

    check_output(&whole);
    WEIR_ASSERT(cut.requests == whole.requests);
    WEIR_ASSERT(cut.out_len == whole.out_len);
    WEIR_ASSERT(whole.out_len == 0 || memcmp(cut.out, whole.out, whole.out_len) == 0);
    WEIR_ASSERT(peer_deinit(&cut));

    run(&pulled, data, len, step, true);
    check_output(&pulled);
    WEIR_ASSERT(pulled.requests <= whole.requests); /* fewer where an answer had to say close */
    WEIR_ASSERT(peer_deinit(&pulled));
    WEIR_ASSERT(peer_deinit(&whole));
    return 0;
}
