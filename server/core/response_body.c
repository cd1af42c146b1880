/* See response_body.h. */
#include "response_body.h"

#include "internal/assert.h"
#include "internal/stats.h"

enum weir_err response_body_read(struct weir_response *resp, uint64_t sent, size_t max,
                                 struct weir_slice *out)
{
    bool is_known = resp->body_len != WEIR_LENGTH_UNKNOWN;
    uint64_t left = resp->body_len - sent;
    if (left == 0)
        return WEIR_CLOSED;
    if (left < max)
        max = (size_t)left;
    enum weir_err err = resp->source->read(resp->ctx, resp->body_offset + sent, max, out);
    switch (err) {
    case WEIR_OK: WEIR_ASSERT(out->len > 0 && out->len <= max); return WEIR_OK;
    case WEIR_AGAIN:
    case WEIR_NOMEM: return err;
    case WEIR_CLOSED:
        if (!is_known)
            resp->body_len = sent;
        return is_known ? WEIR_STREAM : WEIR_CLOSED; /* fewer than were promised */
    default: return WEIR_STREAM;
    }
}

enum weir_err response_body_append(struct weir_gather *out, struct weir_slice s,
                                   struct stats *stats)
{
    bool is_mapped = s.buf->origin == WEIR_ORIGIN_MAPPED;
    uint64_t len = s.len;
    uint64_t copied = out->copied;
    enum weir_err err = weir_gather_append(out, s);
    if (err != WEIR_OK)
        return err;
    copied = out->copied - copied;
    stats->body_copied += copied;
    if (is_mapped)
        stats->body_mapped += len - copied;
    else
        stats->body_pooled += len - copied;
    return WEIR_OK;
}
