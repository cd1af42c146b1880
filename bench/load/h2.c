/*
 * HTTP/2, the client's half, as far as a GET of a known answer needs it (RFC 9113, RFC 7541).
 *
 * What all requests of a connection share (authority, extra fields, the path if there is only one)
 * goes into the peer's dynamic table with the first request and is two or three bytes afterwards,
 * as with any client.  The answer's field section is read as far as :status, which comes first.
 */
#include <string.h>

#include "load.h"

#define FRAME_HEAD 9
#define WINDOW 0x3fffffff
#define WINDOW_RENEW                                                                               \
    0x10000000 /* consumed bytes after which the connection's window is renewed                    \
                */

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, HAS_PRIORITY = 0x20 };

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t get_u32(const uint8_t *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static void frame_head(uint8_t *to, size_t len, uint8_t type, uint8_t flags, uint32_t stream)
{
    put_u32(to, (uint32_t)len << 8 | type);
    to[4] = flags;
    put_u32(to + 5, stream);
}

static void send_frame(struct link *k, uint8_t type, uint8_t flags, const void *payload, size_t len)
{
    uint8_t *to = link_reserve(k, FRAME_HEAD + len);
    frame_head(to, len, type, flags, 0);
    memcpy(to + FRAME_HEAD, payload, len);
}

static void h2_start(struct link *k)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    memcpy(link_reserve(k, sizeof(preface) - 1), preface, sizeof(preface) - 1);
    uint8_t settings[12] = {0, 2, 0, 0, 0, 0, /* no push */ 0, 4}; /* and the window of streams */
    put_u32(settings + 8, WINDOW);
    send_frame(k, SETTINGS, 0, settings, sizeof(settings));
    uint8_t more[4];
    put_u32(more, WINDOW - 65535);
    send_frame(k, WINDOW_UPDATE, 0, more, sizeof(more));
}

/* A string of RFC 7541 5.2 without Huffman code. */
static uint8_t *put_string(uint8_t *to, const char *text, size_t len)
{
    if (len < 127) {
        *to++ = (uint8_t)len;
    } else {
        *to++ = 127;
        size_t rest = len - 127;
        for (; rest >= 128; rest /= 128)
            *to++ = (uint8_t)(rest % 128 + 128);
        *to++ = (uint8_t)rest;
    }
    memcpy(to, text, len);
    return to + len;
}

/* A field of the static table's name `name` (0: its own name), to be remembered or not. */
static uint8_t *put_field(uint8_t *to, uint8_t name, bool remember, const char *value)
{
    *to++ = (uint8_t)((remember ? 0x40 : 0x00) | name);
    if (name == 0) {
        const char *colon = strchr(value, ':');
        to = put_string(to, value, (size_t)(colon - value));
        value = colon + 2;
    }
    return put_string(to, value, strlen(value));
}

static void h2_ask(struct link *k, struct slot *s)
{
    struct load *l = k->load;
    uint8_t block[4096];
    uint8_t *end = block;
    bool is_one = l->target_count == 1;
    *end++ = 0x82;                    /* :method GET */
    *end++ = l->is_tls ? 0x87 : 0x86; /* :scheme */
    if (!k->in.has_authority) {
        end = put_field(end, 1, true, l->authority);
        end = put_field(end, 4, is_one, s->target->path);
        for (unsigned i = 0; i < l->field_count; i++)
            end = put_field(end, 0, true, l->fields[i]);
        k->in.has_authority = true;
    } else {
        /* The newest entry of the dynamic table is number 62. */
        unsigned entries = 1 + is_one + l->field_count;
        *end++ = (uint8_t)(0x80 | (61 + entries));
        if (is_one)
            *end++ = (uint8_t)(0x80 | (60 + entries));
        else
            end = put_field(end, 4, false, s->target->path);
        for (unsigned i = 0; i < l->field_count; i++)
            *end++ = (uint8_t)(0x80 | (61 + l->field_count - i));
    }
    size_t len = (size_t)(end - block);
    s->id = k->next_id;
    k->next_id += 2;
    uint8_t *to = link_reserve(k, FRAME_HEAD + len);
    frame_head(to, len, HEADERS, END_STREAM | END_HEADERS, s->id);
    memcpy(to + FRAME_HEAD, block, len);
}

/* Three digits as they are, or in Huffman's code (RFC 7541 B): 0 to 2 in five bits, others in six.
 */
static unsigned read_digits(bool is_coded, const uint8_t *at, size_t len)
{
    if (len < 3)
        return 0;
    uint32_t bits = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8;
    unsigned value = 0;
    for (int i = 0; i < 3; i++) {
        uint32_t first = bits >> 27;
        unsigned digit = !is_coded ? (bits >> 24) - '0' : first <= 2 ? first : (bits >> 26) - 22;
        bits <<= !is_coded ? 8 : first <= 2 ? 5 : 6;
        value = value * 10 + digit;
    }
    return value;
}

/* :status, which comes first in a field section: mostly of the static table, else a literal. */
static unsigned read_status(const uint8_t *at, size_t len)
{
    static const unsigned known[] = {200, 204, 206, 304, 400, 404, 500};
    const uint8_t *end = at + len;
    while (at < end && (*at & 0xe0) == 0x20) { /* size of the dynamic table */
        bool goes_on = (*at++ & 0x1f) == 0x1f;
        while (at < end && goes_on)
            goes_on = (*at++ & 0x80) != 0;
    }
    if (at < end && *at >= 0x88 && *at <= 0x8e)
        return known[*at - 0x88];
    bool is_literal = end - at > 2 && ((*at & 0xc0) == 0x40 ? *at & 0x3f : *at & 0xef) == 8;
    return is_literal ? read_digits(at[1] >> 7, at + 2, (size_t)(end - at) - 2) : 0;
}

static void on_headers(struct link *k, uint8_t flags, uint32_t stream)
{
    struct slot *s = link_slot(k, stream);
    if (s == NULL)
        load_fail("HEADERS on stream %u, which is not open", stream);
    size_t skip = ((flags & PADDED) ? 1U : 0U) + ((flags & HAS_PRIORITY) ? 5U : 0U);
    if (!s->has_status) { /* else these are trailers */
        if (skip > k->in.kept_len)
            load_fail("HEADERS too short");
        slot_check_status(s, k->load, read_status(k->in.kept + skip, k->in.kept_len - skip));
    }
    if (flags & END_STREAM)
        run_answered(k, s);
}

static void on_settings(struct link *k, uint8_t flags)
{
    if (flags & ACK)
        return;
    for (size_t at = 0; at + 6 <= k->in.kept_len; at += 6) {
        uint32_t value = get_u32(k->in.kept + at + 2);
        if (k->in.kept[at + 1] == 3) /* MAX_CONCURRENT_STREAMS */
            k->room = value < k->load->streams ? value : k->load->streams;
    }
    send_frame(k, SETTINGS, ACK, "", 0);
}

static void on_frame_end(struct link *k)
{
    uint8_t flags = k->in.head[4];
    uint32_t stream = get_u32(k->in.head + 5);
    switch (k->in.head[3]) {
    case DATA:
        if (k->in.consumed >= WINDOW_RENEW) {
            uint8_t more[4];
            put_u32(more, k->in.consumed);
            send_frame(k, WINDOW_UPDATE, 0, more, sizeof(more));
            k->in.consumed = 0;
        }
        if (flags & END_STREAM)
            run_answered(k, k->in.slot);
        return;
    case HEADERS: on_headers(k, flags, stream); return;
    case SETTINGS: on_settings(k, flags); return;
    case PING:
        if ((flags & ACK) == 0)
            send_frame(k, PING, ACK, k->in.kept, 8);
        return;
    case RST_STREAM: load_fail("RST_STREAM of stream %u: %u", stream, get_u32(k->in.kept));
    case GOAWAY: load_fail("GOAWAY: %u", get_u32(k->in.kept + 4));
    default: return;
    }
}

static void on_frame_begin(struct link *k)
{
    const uint8_t *head = k->in.head;
    k->in.left = get_u32(head) >> 8;
    k->in.kept_len = 0;
    if (head[3] != DATA)
        return;
    k->in.slot = link_slot(k, get_u32(head + 5));
    if (k->in.slot == NULL || (head[4] & PADDED) != 0)
        load_fail("DATA on stream %u that was not expected", get_u32(head + 5));
    k->in.consumed += (uint32_t)k->in.left;
}

static void h2_take(struct link *k, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        if (k->in.head_len < FRAME_HEAD) {
            k->in.head[k->in.head_len++] = *bytes++;
            len--;
            if (k->in.head_len < FRAME_HEAD)
                continue;
            on_frame_begin(k);
        }
        size_t part = k->in.left < len ? k->in.left : len;
        if (k->in.head[3] == DATA) {
            slot_take_body(k->in.slot, bytes, part);
        } else {
            size_t room = sizeof(k->in.kept) - k->in.kept_len;
            size_t keep = part < room ? part : room;
            memcpy(k->in.kept + k->in.kept_len, bytes, keep);
            k->in.kept_len += keep;
        }
        bytes += part;
        len -= part;
        k->in.left -= part;
        if (k->in.left > 0)
            return;
        k->in.head_len = 0;
        on_frame_end(k);
        if (k->state != LINK_OPEN)
            return;
    }
}

static void h2_finish(struct link *k)
{
    uint8_t goaway[8] = {0};
    send_frame(k, GOAWAY, 0, goaway, sizeof(goaway));
}

const struct protocol protocol_h2 = {h2_start, h2_ask, h2_take, h2_finish, "\x02h2"};
