/*
 * Field sections in frames: cut at every byte, padded, with priorities, over CONTINUATIONs, and in
 * frames that cannot be right (RFC 9113 4.2, 6.2, 6.10).
 */
#include "cm.h"

#include "h2_peer.h"

#define LEN_OF(array) (sizeof(array) / sizeof((array)[0]))
#define END NGHTTP2_FLAG_END_STREAM
#define END_HEADERS NGHTTP2_FLAG_END_HEADERS
#define PADDED NGHTTP2_FLAG_PADDED
#define PRIORITY NGHTTP2_FLAG_PRIORITY

/* A block that holds each kind of field there is; its path is /none. */
struct block {
    uint8_t bytes[512];
    size_t len;
};

static struct block make_block(struct peer *p)
{
    nghttp2_nv nva[] = {peer_nv(":method", "GET"),
                        peer_nv(":scheme", "http"),
                        peer_nv(":authority", "localhost"),
                        peer_nv(":path", "/none"),
                        peer_nv("x-plain", "~~~"),
                        peer_nv("cookie", "a=1; b=2; c=3"),
                        peer_nv("x-secret", "never to be indexed")};
    nva[6].flags = NGHTTP2_NV_FLAG_NO_INDEX;
    struct block b = {.len = 0};
    ssize_t len = nghttp2_hd_deflate_hd(p->deflater, b.bytes, sizeof(b.bytes), nva, LEN_OF(nva));
    WEIR_ASSERT(len > 0);
    b.len = (size_t)len;
    return b;
}

static void assert_served(struct peer *p, uint32_t id)
{
    if (peer_seen(p, id)->status != 204)
        fail_msg("stream %u: status=%u goaway=%u", id, peer_seen(p, id)->status, p->goaway_code);
}

static void sections_may_be_cut_at_every_byte(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 2, 7, 16384};
    for (size_t i = 0; i < LEN_OF(steps); i++) {
        struct peer p;
        peer_start(&p);
        uint32_t id = 1;
        size_t at = 0;
        for (size_t len = 1; at < len; at++, id += 2) {
            struct block b = make_block(&p); /* at first literals, then indices */
            len = b.len > len ? b.len : len;
            size_t cut = at < b.len ? at : b.len - 1;
            peer_frame(&p, NGHTTP2_HEADERS, END, id, b.bytes, cut);
            peer_frame(&p, NGHTTP2_CONTINUATION, END_HEADERS, id, b.bytes + cut, b.len - cut);
            peer_send_by(&p, steps[i]);
            peer_pull(&p);
            assert_served(&p, id);
        }
        assert_true(at > 60);
        assert_true(peer_deinit(&p));
    }
}

static void sections_may_be_cut_into_four_continuations(void **state)
{
    (void)state;
    for (size_t step = 1; step < 60; step += 13) {
        struct peer p;
        peer_start(&p);
        for (uint32_t id = 1; id < 30; id += 2) {
            struct block b = make_block(&p);
            size_t piece = b.len / 5;
            peer_frame(&p, NGHTTP2_HEADERS, END, id, b.bytes, piece);
            for (size_t i = 1; i < 4; i++)
                peer_frame(&p, NGHTTP2_CONTINUATION, 0, id, b.bytes + i * piece, piece);
            peer_frame(&p, NGHTTP2_CONTINUATION, END_HEADERS, id, b.bytes + 4 * piece,
                       b.len - 4 * piece);
            peer_send_by(&p, step);
            peer_pull(&p);
            assert_served(&p, id);
        }
        assert_true(peer_deinit(&p));
    }
}

/* HEADERS with `pad` bytes of padding, if PADDED is among the flags, and a priority if that is. */
static void say_padded(struct peer *p, uint32_t id, unsigned flags, size_t pad, uint32_t depends_on,
                       const uint8_t *block, size_t len)
{
    uint8_t payload[1024] = {0};
    size_t n = 0;
    if (flags & PADDED)
        payload[n++] = (uint8_t)pad;
    if (flags & PRIORITY) {
        payload[n++] = (uint8_t)(depends_on >> 24 | 0x80); /* exclusively */
        payload[n++] = (uint8_t)(depends_on >> 16);
        payload[n++] = (uint8_t)(depends_on >> 8);
        payload[n++] = (uint8_t)depends_on;
        payload[n++] = 255;
    }
    memcpy(payload + n, block, len);
    n += len + (flags & PADDED ? pad : 0);
    peer_frame(p, NGHTTP2_HEADERS, flags, id, payload, n);
}

static void padding_and_priority_are_stepped_over(void **state)
{
    (void)state;
    static const size_t pads[] = {0, 1, 9, 255};
    for (size_t step = 1; step < 700; step += 133) {
        struct peer p;
        peer_start(&p);
        uint32_t id = 1;
        for (unsigned kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < LEN_OF(pads); i++, id += 2) {
                unsigned flags = END | (kind & 1 ? PADDED : 0U) | (kind & 2 ? PRIORITY : 0U);
                struct block b = make_block(&p);
                bool is_cut = i % 2 == 1; /* the rest is in a CONTINUATION, which has neither */
                size_t len = is_cut ? b.len / 2 : b.len;
                say_padded(&p, id, flags | (is_cut ? 0 : END_HEADERS), pads[i], 0, b.bytes, len);
                if (is_cut)
                    peer_frame(&p, NGHTTP2_CONTINUATION, END_HEADERS | PADDED, id, b.bytes + len,
                               b.len - len);
                peer_send_by(&p, step);
                peer_pull(&p);
                assert_served(&p, id);
            }
        }
        assert_true(peer_deinit(&p));
    }
}

/* All of the field block is in the CONTINUATION. */
static void headers_may_hold_nothing_but_padding(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    struct block b = make_block(&p);
    say_padded(&p, 1, END | PADDED | PRIORITY, 7, 0, b.bytes, 0);
    peer_frame(&p, NGHTTP2_CONTINUATION, END_HEADERS, 1, b.bytes, b.len);
    b = make_block(&p);
    say_padded(&p, 3, END | PADDED, 0, 0, b.bytes, 0);
    peer_frame(&p, NGHTTP2_CONTINUATION, END_HEADERS, 3, b.bytes, b.len);
    peer_turn(&p);

    assert_served(&p, 1);
    assert_served(&p, 3);
    assert_true(peer_deinit(&p));
}

struct fault {
    const char *name;
    uint32_t code;
    unsigned type;
    unsigned flags;
    uint32_t id;
    const char *payload;
    size_t len;
};

#define FAULT(name, code, type, flags, id, payload)                                                \
    {                                                                                              \
        name, NGHTTP2_##code, NGHTTP2_##type, flags, id, payload, sizeof(payload) - 1              \
    }

static const struct fault faults[] = {
    FAULT("HEADERS on stream 0", PROTOCOL_ERROR, HEADERS, END | END_HEADERS, 0, "\x82"),
    FAULT("HEADERS on an even stream", PROTOCOL_ERROR, HEADERS, END | END_HEADERS, 2, "\x82"),
    FAULT("padding without a length", PROTOCOL_ERROR, HEADERS, END | END_HEADERS | PADDED, 1, ""),
    FAULT("padding of one byte too much", PROTOCOL_ERROR, HEADERS, END | END_HEADERS | PADDED, 1,
          "\x03\x82\x86"),
    FAULT("the same behind a priority", PROTOCOL_ERROR, HEADERS,
          END | END_HEADERS | PADDED | PRIORITY, 1, "\x02\0\0\0\0\x10\x82"),
    FAULT("a priority of four bytes", FRAME_SIZE_ERROR, HEADERS, END | END_HEADERS | PRIORITY, 1,
          "\0\0\0\0"),
    FAULT("the same behind a pad length", FRAME_SIZE_ERROR, HEADERS,
          END | END_HEADERS | PADDED | PRIORITY, 1, "\0\0\0\0\0"),
    FAULT("a stream that depends on itself", PROTOCOL_ERROR, HEADERS, END | END_HEADERS | PRIORITY,
          1, "\0\0\0\x01\x10\x82\x86\x84"),
    FAULT("CONTINUATION without HEADERS", PROTOCOL_ERROR, CONTINUATION, END_HEADERS, 1, "\x82"),
    FAULT("a block that ends within a field", COMPRESSION_ERROR, HEADERS, END | END_HEADERS, 1,
          "\x82\x40\x03x"),
    FAULT("a block with an error behind a request", COMPRESSION_ERROR, HEADERS, END | END_HEADERS,
          1, "\x82\x86\x84\x41\x01x\x80"),
};

static void frames_that_cannot_be_right_end_the_connection(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN_OF(faults); i++) {
        const struct fault *f = &faults[i];
        for (size_t step = 1; step < 20; step += 9) {
            struct peer p;
            peer_start(&p);
            peer_frame(&p, f->type, f->flags, f->id, f->payload, f->len);
            peer_send_by(&p, step);
            peer_pull(&p);
            if (p.goaways != 1 || p.goaway_code != f->code || p.requests != 0)
                fail_msg("%s: goaways=%u code=%u", f->name, p.goaways, p.goaway_code);
            assert_int_equal(p.pulled, WEIR_CLOSED);
            assert_true(peer_deinit(&p));
        }
    }
}

/* RFC 9113 4.3: the field block of a stream that is gone still changes the table. */
static void sections_that_nobody_takes_keep_the_table_in_step(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    const nghttp2_nv bad[] = {peer_nv(":method", "GET"), peer_nv("Upper", "x"),
                              peer_nv("x-kept", "in the table"), peer_nv(":path", "/status?299")};
    const nghttp2_nv good[] = {peer_nv(":method", "GET"), peer_nv(":scheme", "http"),
                               peer_nv(":authority", "in the table"),
                               peer_nv(":path", "/status?299")};
    peer_fields(&p, 1, 0, bad, 4, 16384);
    peer_turn(&p);
    assert_true(peer_seen(&p, 1)->is_reset);
    const nghttp2_nv late[] = {peer_nv("x-late", "trailers of a stream that was reset")};
    peer_fields(&p, 1, END, late, 1, 20);
    peer_fields(&p, 3, END, good, 3, 16384); /* without a path: malformed */
    peer_get(&p, 5, "/status?299");
    peer_get(&p, 7, "/status?299");
    peer_turn(&p);

    assert_true(peer_seen(&p, 3)->is_reset);
    assert_int_equal(peer_seen(&p, 5)->status, 299);
    assert_int_equal(peer_seen(&p, 7)->status, 299);
    assert_int_equal(p.goaways, 0);
    assert_true(peer_deinit(&p));
}

static size_t bytes_live(const struct mem *mem)
{
    size_t n = 0;
    for (size_t i = 0; i < MEM_CLASSES; i++)
        n += mem->classes[i].live * mem->classes[i].item_len;
    return n;
}

/* A string takes memory as it comes, not as it is announced. */
static void a_string_that_is_announced_takes_no_memory(void **state)
{
    (void)state;
    struct peer p;
    peer_start(&p);
    size_t before = bytes_live(p.mem);
    peer_frame(&p, NGHTTP2_HEADERS, END, 1, "\x82\x10\x01x\xff\x81\xfb\x03", 8); /* 65,000 follow */
    peer_turn(&p);
    static const uint8_t text[5000];
    peer_frame(&p, NGHTTP2_CONTINUATION, 0, 1, text, 100);
    peer_turn(&p);
    assert_in_range(bytes_live(p.mem) - before, 1,
                    4096); /* with the stream itself, nghttp2's too */
    peer_frame(&p, NGHTTP2_CONTINUATION, 0, 1, text, sizeof(text));
    peer_send_by(&p, 10);
    assert_in_range(bytes_live(p.mem) - before, 5000, 4096 + 2 * 5100);
    assert_true(peer_deinit(&p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_may_be_cut_at_every_byte),
        cmocka_unit_test(sections_may_be_cut_into_four_continuations),
        cmocka_unit_test(padding_and_priority_are_stepped_over),
        cmocka_unit_test(headers_may_hold_nothing_but_padding),
        cmocka_unit_test(frames_that_cannot_be_right_end_the_connection),
        cmocka_unit_test(sections_that_nobody_takes_keep_the_table_in_step),
        cmocka_unit_test(a_string_that_is_announced_takes_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
