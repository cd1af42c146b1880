/*
 * See partial.h.
 *
 * The body is a row of parts, each a head and a range of the file, and a tail that closes it:
 *
 *     \r\n--B\r\ncontent-type: T\r\ncontent-range: bytes 0-99/1000\r\n\r\n | 100 bytes of the map
 *     ...
 *     \r\n--B--\r\n
 *
 * Heads and tail lie in one block.  A plain 206 is the same with one part, whose head is empty.
 */
#include "partial.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "internal/assert.h"
#include "mem.h"
#include "reader.h"

#define BOUNDARY_LEN 16

struct part {
    struct range range;
    uint32_t head_len; /* bytes of the block, behind those of the part before */
};

struct partial {
    struct reader reader;
    struct pieces *pieces;  /* Borrowed */
    bool is_from_map;       /* no piece is asked for any more */
    struct weir_buf *heads; /* Own: heads and tail; NULL if there are none */
    size_t count;
    struct part parts[RANGES_MAX + 1]; /* the last one is the tail, with no range */
    struct weir_field fields[FILE_FIELDS + 1];
    char content_length[21];
    char text[80]; /* value of content-range, or of content-type */
};

static struct partial *partial_from(void *ctx)
{
    return ctx;
}

/*
 * True if a piece may be the body, and all of it can be taken at once: none is kept for slow peers.
 * A response whose bytes were once taken from the map stays with it.
 */
static bool partial_may_be_piece(const struct partial *p, uint64_t offset, size_t max)
{
    return !p->is_from_map && p->count == 1 && offset == 0 && max >= p->parts[0].range.len;
}

static enum weir_err partial_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    struct partial *p = partial_from(ctx);
    if (partial_may_be_piece(p, offset, max)) {
        enum weir_err err = pieces_get(p->pieces, p->reader.file, &p->parts[0].range, out);
        if (err != WEIR_NOMEM)
            return err;
    }
    p->is_from_map = true;
    size_t head_at = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct part *part = &p->parts[i];
        if (offset < part->head_len) {
            size_t left = part->head_len - (size_t)offset;
            const uint8_t *head = p->heads->base + head_at + offset;
            *out = weir_slice_of(p->heads, head, left < max ? left : max);
            return WEIR_OK;
        }
        offset -= part->head_len;
        head_at += part->head_len;
        if (offset < part->range.len) {
            uint64_t left = part->range.len - offset;
            if (left < max)
                max = (size_t)left;
            return reader_read(&p->reader, part->range.first + offset, max, out);
        }
        offset -= part->range.len;
    }
    return WEIR_STREAM; /* beyond the end */
}

static void partial_release(void *ctx)
{
    struct partial *p = partial_from(ctx);
    reader_deinit(&p->reader);
    weir_buf_unref(&p->heads);
    mem_give(p);
}

static bool partial_is_intact(void *ctx)
{
    return reader_is_intact(&partial_from(ctx)->reader);
}

static const struct weir_source partial_source = {
    .read = partial_read,
    .is_intact = partial_is_intact,
    .release = partial_release,
};

/* In decimal.  Gives the end. */
static char *number_write(char *p, uint64_t n)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    while (count > 0)
        *p++ = digits[--count];
    return p;
}

/* bytes FIRST-LAST/SIZE: 70 bytes at the most.  Gives the length. */
static size_t range_write(char *out, const struct range *range, struct weir_str size)
{
    static const char unit[] = "bytes ";
    memcpy(out, unit, sizeof(unit) - 1);
    char *p = number_write(out + sizeof(unit) - 1, range->first);
    *p++ = '-';
    p = number_write(p, range->first + range->len - 1);
    *p++ = '/';
    memcpy(p, size.ptr, size.len);
    return (size_t)(p - out) + size.len;
}

/* Write heads and tail of a multipart body.  False: no block, or they do not fit. */
static bool partial_write_heads(struct partial *p, struct mem *mem, const char *boundary)
{
    const struct weir_str type = p->reader.file->says->fields[FILE_CONTENT_TYPE].value;
    const struct weir_str size = p->reader.file->says->fields[FILE_CONTENT_LENGTH].value;
    p->heads = block_take(mem, BLOCK_SMALL);
    if (p->heads == NULL)
        return false;
    char *out = (char *)p->heads->base;
    size_t left = p->heads->cap;
    for (size_t i = 0; i < p->count; i++) {
        char range[80];
        size_t range_len = range_write(range, &p->parts[i].range, size);
        int n = snprintf(out, left, "\r\n--%s\r\ncontent-type: %.*s\r\ncontent-range: %.*s\r\n\r\n",
                         boundary, (int)type.len, type.ptr, (int)range_len, range);
        if ((size_t)n >= left)
            return false;
        p->parts[i].head_len = (uint32_t)n;
        out += n;
        left -= (size_t)n;
    }
    int n = snprintf(out, left, "\r\n--%s--\r\n", boundary);
    if ((size_t)n >= left)
        return false;
    p->parts[p->count++] = (struct part){.head_len = (uint32_t)n};
    return true;
}

static uint64_t partial_len(const struct partial *p)
{
    uint64_t len = 0;
    for (size_t i = 0; i < p->count; i++)
        len += p->parts[i].head_len + p->parts[i].range.len;
    return len;
}

/*
 * The fields of the file: its content-length is replaced and goes to the end, with content-range or
 * in front of the type of several parts.
 */
static void partial_describe(struct partial *p, bool is_multipart, struct weir_str text,
                             struct weir_response *resp)
{
    static_assert(FILE_CONTENT_LENGTH == 0 && FILE_CONTENT_TYPE == 1,
                  "what is replaced is in front");
    const struct file *f = p->reader.file;
    struct weir_field *fields = p->fields;
    size_t skipped = is_multipart ? 2 : 1;
    size_t count = f->says->field_count - skipped;
    memcpy(fields, f->says->fields + skipped, count * sizeof(*fields));
    char *end = number_write(p->content_length, resp->body_len);
    fields[count++] = (struct weir_field){
        WEIR_STR("content-length"),
        {p->content_length, (size_t)(end - p->content_length)},
    };
    fields[count++] = (struct weir_field){
        is_multipart ? WEIR_STR("content-type") : WEIR_STR("content-range"),
        text,
    };
    resp->fields = fields;
    resp->field_count = count;
    resp->own_count = 2;
    resp->fields_id = is_multipart ? 0 : file_partial_id(f);
}

bool partial_respond(struct weir_request *r, struct pieces *pieces, struct file *f,
                     const struct range *ranges, size_t count, uint64_t random)
{
    WEIR_ASSERT(count >= 1 && count <= RANGES_MAX);
    struct mem *mem = pieces->mem;
    struct partial *p = mem_take(mem, sizeof(*p));
    if (p == NULL)
        return false;
    uint64_t end = 0;
    p->pieces = pieces;
    p->is_from_map = false;
    p->heads = NULL;
    p->count = count;
    for (size_t i = 0; i < count; i++) {
        p->parts[i] = (struct part){.range = ranges[i]};
        if (ranges[i].first + ranges[i].len > end)
            end = ranges[i].first + ranges[i].len;
    }
    reader_init(&p->reader, f, r, end);
    struct weir_str text = {p->text, 0};
    bool is_multipart = count > 1;
    if (is_multipart) {
        char boundary[BOUNDARY_LEN + 1];
        snprintf(boundary, sizeof(boundary), "%016llx", (unsigned long long)random);
        text.len = (size_t)snprintf(p->text, sizeof(p->text), "multipart/byteranges; boundary=%s",
                                    boundary);
        if (!partial_write_heads(p, mem, boundary) || partial_len(p) >= f->id.size) {
            partial_release(p);
            return false;
        }
    } else {
        text.len = range_write(p->text, &ranges[0], f->says->fields[FILE_CONTENT_LENGTH].value);
    }
    struct weir_response resp = {
        .status = 206,
        .urgency = f->says->urgency,
        .source = &partial_source,
        .ctx = p,
        .body_len = partial_len(p),
    };
    partial_describe(p, is_multipart, text, &resp);
    weir_ignore(weir_respond(r, &resp)); /* the peer has gone, or the stream is reset */
    return true;
}
