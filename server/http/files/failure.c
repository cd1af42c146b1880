/* See failure.h. */
#include "failure.h"

#include "internal/assert.h"
#include "weir/response.h"

static const unsigned statuses[FAILURE_KINDS] = {400, 403, 404, 405, 414, 500, 503};

void failures_init(struct failures *f, struct weir_str server)
{
    *f = (struct failures){0};
    for (size_t i = 0; i < FAILURE_KINDS; i++) {
        struct weir_field *fields = f->kinds[i].fields;
        size_t n = 0;
        if (server.len > 0)
            fields[n++] = (struct weir_field){WEIR_STR("server"), server};
        if (statuses[i] == 405)
            fields[n++] = (struct weir_field){WEIR_STR("allow"), WEIR_STR(FAILURE_ALLOW)};
        if (statuses[i] == 503)
            fields[n++] = (struct weir_field){WEIR_STR("retry-after"), WEIR_STR("1")};
        fields[n++] = (struct weir_field){WEIR_STR("content-length"), WEIR_STR("0")};
        f->kinds[i].field_count = n;
    }
}

void failures_answer(const struct failures *f, struct weir_request *r, unsigned status)
{
    size_t kind = 0;
    while (kind < FAILURE_KINDS && statuses[kind] != status)
        kind++;
    WEIR_ASSERT(kind < FAILURE_KINDS);
    struct weir_response resp = {
        .status = (uint16_t)status,
        .fields = f->kinds[kind].fields,
        .field_count = f->kinds[kind].field_count,
    };
    weir_ignore(weir_respond(r, &resp)); /* the peer has gone, or the stream is reset */
}
