/* The client's half of h2_peer.h: frames that it says, and frames that it reads. */
#ifndef TESTS_H2_PEER_FRAMES_H
#define TESTS_H2_PEER_FRAMES_H

#include "h2_peer.h"

/* ---- what the client says ---- */

static inline void peer_say(struct peer *p, const void *bytes, size_t len)
{
    if (p->in_len + len > p->in_cap) {
        p->in_cap = 2 * (p->in_len + len);
        p->in = realloc(p->in, p->in_cap);
        WEIR_ASSERT(p->in != NULL);
    }
    if (len > 0)
        memcpy(p->in + p->in_len, bytes, len);
    p->in_len += len;
}

static inline void peer_frame(struct peer *p, unsigned type, unsigned flags, uint32_t id,
                              const void *payload, size_t len)
{
    const uint8_t head[FRAME_HEAD] = {
        (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len,
        (uint8_t)type,        (uint8_t)flags,      (uint8_t)(id >> 24),
        (uint8_t)(id >> 16),  (uint8_t)(id >> 8),  (uint8_t)id};
    peer_say(p, head, sizeof(head));
    peer_say(p, payload, len);
}

/* Frames whose payload is one number: RST_STREAM, WINDOW_UPDATE. */
static inline void peer_number(struct peer *p, unsigned type, uint32_t id, uint32_t number)
{
    const uint8_t payload[4] = {(uint8_t)(number >> 24), (uint8_t)(number >> 16),
                                (uint8_t)(number >> 8), (uint8_t)number};
    peer_frame(p, type, 0, id, payload, sizeof(payload));
}

static inline void peer_setting(struct peer *p, unsigned id, uint32_t value)
{
    const uint8_t payload[6] = {0,
                                (uint8_t)id,
                                (uint8_t)(value >> 24),
                                (uint8_t)(value >> 16),
                                (uint8_t)(value >> 8),
                                (uint8_t)value};
    peer_frame(p, NGHTTP2_SETTINGS, 0, 0, payload, sizeof(payload));
}

static inline void peer_settings_ack(struct peer *p)
{
    peer_frame(p, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
}

static inline nghttp2_nv peer_nv(const char *name, const char *value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)name,
        .namelen = strlen(name),
        .value = (uint8_t *)(uintptr_t)value,
        .valuelen = strlen(value),
    };
}

/* A field section, in frames of `cut` bytes. */
static inline void peer_fields(struct peer *p, uint32_t id, unsigned flags, const nghttp2_nv *nva,
                               size_t n, size_t cut)
{
    size_t cap = nghttp2_hd_deflate_bound(p->deflater, nva, n);
    uint8_t *block = malloc(cap + 1);
    WEIR_ASSERT(block != NULL);
    ssize_t len = nghttp2_hd_deflate_hd(p->deflater, block, cap, nva, n);
    WEIR_ASSERT(len >= 0);
    unsigned type = NGHTTP2_HEADERS;
    for (size_t at = 0; at == 0 || at < (size_t)len; at += cut) {
        size_t left = (size_t)len - at;
        if (left <= cut)
            flags |= NGHTTP2_FLAG_END_HEADERS;
        peer_frame(p, type, flags, id, block + at, left < cut ? left : cut);
        type = NGHTTP2_CONTINUATION;
        flags = 0;
    }
    free(block);
}

/* Ask, without END_STREAM unless flags have it. */
static inline void peer_ask(struct peer *p, uint32_t id, unsigned flags, const char *method,
                            const char *path)
{
    const nghttp2_nv nva[] = {peer_nv(":method", method), peer_nv(":scheme", "http"),
                              peer_nv(":authority", "localhost"), peer_nv(":path", path)};
    peer_fields(p, id, flags, nva, 4, 16384);
}

static inline void peer_get(struct peer *p, uint32_t id, const char *path)
{
    peer_ask(p, id, NGHTTP2_FLAG_END_STREAM, "GET", path);
}

/* The preface: magic and empty SETTINGS. */
static inline void peer_hello(struct peer *p)
{
    peer_say(p, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    peer_frame(p, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
}

/* ---- what the client reads ---- */

static inline struct seen *peer_seen(struct peer *p, uint32_t id)
{
    WEIR_ASSERT(id % 2 == 1 && id / 2 < PEER_STREAMS);
    return &p->streams[id / 2];
}

static inline uint32_t number_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline void peer_read_fields(struct peer *p, struct seen *s, const uint8_t *in, size_t len)
{
    bool has_date = false;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t n = nghttp2_hd_inflate_hd2(p->inflater, &nv, &flags, in, len, 1);
        WEIR_ASSERT(n >= 0);
        in += n;
        len -= (size_t)n;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            s->fields++;
            if (nv.namelen == 7 && memcmp(nv.name, ":status", 7) == 0)
                s->status = (unsigned)strtoul((const char *)nv.value, NULL, 10);
            if (nv.namelen == 4 && memcmp(nv.name, "date", 4) == 0)
                has_date = memcmp(nv.value, p->clock.date, CLOCK_DATE_LEN) == 0;
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL)
            break;
    }
    nghttp2_hd_inflate_end_headers(p->inflater);
    WEIR_ASSERT(has_date && s->status != 0);
}

static inline void peer_read_settings(struct peer *p, const uint8_t *payload, size_t len)
{
    for (size_t at = 0; at + 6 <= len; at += 6) {
        size_t id = (size_t)payload[at] << 8 | payload[at + 1];
        WEIR_ASSERT(id < sizeof(p->settings) / sizeof(p->settings[0]));
        p->settings[id] = number_at(payload + at + 2);
    }
}

/* HEADERS and DATA. */
static inline void peer_read_answer(struct peer *p, uint32_t id, unsigned type, unsigned flags,
                                    const uint8_t *payload, size_t len)
{
    struct seen untold = {.status = 200};
    bool is_told = id % 2 == 1 && id / 2 < PEER_STREAMS;
    struct seen *s = is_told ? peer_seen(p, id) : &untold;
    WEIR_ASSERT(!s->has_ended && !s->is_reset);
    if (type == NGHTTP2_HEADERS) {
        WEIR_ASSERT(!is_told || s->status == 0);
        peer_read_fields(p, s, payload, len);
    } else {
        WEIR_ASSERT(s->status != 0);
        WEIR_ASSERT(!is_told || memcmp(payload, peer_pattern + s->body_len, len) == 0);
        s->body_len += len;
    }
    s->has_ended = (flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

static inline void peer_read_reset(struct peer *p, uint32_t id, uint32_t code)
{
    if (id / 2 >= PEER_STREAMS)
        return;
    struct seen *s = peer_seen(p, id);
    WEIR_ASSERT(!s->is_reset);
    s->is_reset = true;
    s->rst_code = code;
}

static inline void peer_read_frame(struct peer *p, const uint8_t *frame, size_t len)
{
    static const char letters[] = "DH.RS.PGW";
    unsigned type = frame[3];
    unsigned flags = frame[4];
    uint32_t id = number_at(frame + 5);
    const uint8_t *payload = frame + FRAME_HEAD;
    WEIR_ASSERT(type < sizeof(letters) - 1 && letters[type] != '.');
    bool is_ack = (type == NGHTTP2_SETTINGS || type == NGHTTP2_PING) && flags == NGHTTP2_FLAG_ACK;
    if (p->trace_len + 1 < sizeof(p->trace))
        p->trace[p->trace_len++] = (char)(letters[type] + (is_ack ? 'a' - 'A' : 0));
    if (is_ack)
        return;
    switch (type) {
    case NGHTTP2_DATA:
    case NGHTTP2_HEADERS: peer_read_answer(p, id, type, flags, payload, len); break;
    case NGHTTP2_RST_STREAM: peer_read_reset(p, id, number_at(payload)); break;
    case NGHTTP2_SETTINGS: peer_read_settings(p, payload, len); break;
    case NGHTTP2_PING: memcpy(p->ping, payload, sizeof(p->ping)); break;
    case NGHTTP2_GOAWAY:
        p->goaways++;
        p->goaway_last = number_at(payload);
        p->goaway_code = number_at(payload + 4);
        break;
    default: p->window += id == 0 ? number_at(payload) : 0; break; /* WINDOW_UPDATE */
    }
}

/* Read the frames that are complete. */
static inline void peer_read(struct peer *p)
{
    while (p->wire_len - p->parsed >= FRAME_HEAD) {
        const uint8_t *frame = p->wire + p->parsed;
        size_t len = (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
        WEIR_ASSERT(len <= 16384);
        if (p->wire_len - p->parsed < FRAME_HEAD + len)
            break;
        peer_read_frame(p, frame, len);
        p->parsed += FRAME_HEAD + len;
    }
}

#endif
