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

#include <stdio.h>

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

static enum weir_err partial_read(void *ctx, uint64_t offset, size_t max, struct weir_slice *out)
{
    struct partial *p = partial_from(ctx);
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

static int range_print(char *out, size_t cap, const struct range *range, uint64_t size)
{
    return snprintf(out, cap, "bytes %llu-%llu/%llu", (unsigned long long)range->first,
                    (unsigned long long)(range->first + range->len - 1), (unsigned long long)size);
}

/* Write heads and tail of a multipart body.  False: no block, or they do not fit. */
static bool partial_write_heads(struct partial *p, struct mem *mem, const char *boundary)
{
    const struct weir_str type = p->reader.file->fields[FILE_CONTENT_TYPE].value;
    p->heads = block_take(mem, BLOCK_SMALL);
    if (p->heads == NULL)
        return false;
    char *out = (char *)p->heads->base;
    size_t left = p->heads->cap;
    for (size_t i = 0; i < p->count; i++) {
        char range[80];
        range_print(range, sizeof(range), &p->parts[i].range, p->reader.file->size);
        int n = snprintf(out, left, "\r\n--%s\r\ncontent-type: %.*s\r\ncontent-range: %s\r\n\r\n",
                         boundary, (int)type.len, type.ptr, range);
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

/* The fields of the file, with those replaced that tell of the whole.  Gives their number. */
static size_t partial_describe(struct partial *p, bool is_multipart, int text_len, uint64_t len)
{
    const struct file *f = p->reader.file;
    struct weir_str text = {p->text, (size_t)text_len};
    struct weir_str length = {p->content_length, 0};
    length.len = (size_t)snprintf(p->content_length, sizeof(p->content_length), "%llu",
                                  (unsigned long long)len);
    size_t count = f->whole.field_count;
    for (size_t i = 0; i < count; i++)
        p->fields[i] = f->fields[i];
    p->fields[FILE_CONTENT_LENGTH].value = length;
    if (is_multipart)
        p->fields[FILE_CONTENT_TYPE].value = text;
    else
        p->fields[count++] = (struct weir_field){WEIR_STR("content-range"), text};
    return count;
}

bool partial_respond(struct weir_request *r, struct mem *mem, struct file *f,
                     const struct range *ranges, size_t count, uint64_t random)
{
    WEIR_ASSERT(count >= 1 && count <= RANGES_MAX);
    struct partial *p = mem_take_zeroed(mem, sizeof(*p));
    if (p == NULL)
        return false;
    uint64_t end = 0;
    p->count = count;
    for (size_t i = 0; i < count; i++) {
        p->parts[i].range = ranges[i];
        if (ranges[i].first + ranges[i].len > end)
            end = ranges[i].first + ranges[i].len;
    }
    reader_init(&p->reader, f, r, end);
    char boundary[BOUNDARY_LEN + 1];
    snprintf(boundary, sizeof(boundary), "%016llx", (unsigned long long)random);
    bool is_multipart = count > 1;
    int n = is_multipart
                ? snprintf(p->text, sizeof(p->text), "multipart/byteranges; boundary=%s", boundary)
                : range_print(p->text, sizeof(p->text), &ranges[0], f->size);
    if (is_multipart && (!partial_write_heads(p, mem, boundary) || partial_len(p) >= f->size)) {
        partial_release(p);
        return false;
    }
    struct weir_response resp = {
        .status = 206,
        .urgency = f->whole.urgency,
        .fields = p->fields,
        .source = &partial_source,
        .ctx = p,
        .body_len = partial_len(p),
    };
    resp.field_count = partial_describe(p, is_multipart, n, resp.body_len);
    weir_ignore(weir_respond(r, &resp)); /* the peer has gone, or the stream is reset */
    return true;
}
