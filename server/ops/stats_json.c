/* See stats_json.h. */
#include "stats_json.h"

#include <assert.h>
#include <inttypes.h>

void stats_add(struct stats *a, const struct stats *b)
{
    /* All fields are counters of one type; the maximum is the only one that is not summed up. */
    static_assert(sizeof(*a) % sizeof(uint64_t) == 0, "counters only");
    uint64_t most = a->iovecs_max > b->iovecs_max ? a->iovecs_max : b->iovecs_max;
    uint64_t *to = (uint64_t *)a;
    const uint64_t *from = (const uint64_t *)b;
    for (size_t i = 0; i < sizeof(*a) / sizeof(uint64_t); i++)
        to[i] += from[i];
    a->iovecs_max = most;
}

static void print_calls(const struct stats *s, FILE *to)
{
    const char *comma = "";
#define STATS_CALL_PRINT(name)                                                                     \
    fprintf(to, "%s\"%s\":%" PRIu64, comma, #name, s->calls.name);                                 \
    comma = ",";
    STATS_CALL_MAP(STATS_CALL_PRINT)
#undef STATS_CALL_PRINT
}

void stats_print(const struct stats_report *r, FILE *to)
{
    const struct stats *s = &r->stats;
    fprintf(to,
            "{\"connections\":{\"accepted\":%" PRIu64 ",\"closed\":%" PRIu64
            ",\"accept_pauses\":%" PRIu64 ",\"limit_breaches\":%" PRIu64
            ",\"protocol_errors\":%" PRIu64 "},",
            s->accepted, s->closed, s->accept_pauses, s->limit_breaches, s->protocol_errors);
    fprintf(to, "\"requests\":%" PRIu64 ",\"responses\":{", s->requests);
    for (int i = 2; i <= 5; i++)
        fprintf(to, "%s\"%dxx\":%" PRIu64, i > 2 ? "," : "", i, s->responses[i]);
    fprintf(to, "},\"streams\":{\"reset\":%" PRIu64 ",\"refused\":%" PRIu64 "},", s->streams_reset,
            s->streams_refused);
    fprintf(to, "\"body\":{\"mapped\":%" PRIu64 ",\"pooled\":%" PRIu64 ",\"copied\":%" PRIu64 "},",
            s->body_mapped, s->body_pooled, s->body_copied);
    fprintf(to, "\"bytes\":{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 "},\"calls\":{",
            s->bytes_sent, s->bytes_received);
    print_calls(s, to);
    double mean = s->writes == 0 ? 0.0 : (double)s->iovecs / (double)s->writes;
    fprintf(to,
            "},\"writes\":{\"count\":%" PRIu64 ",\"iovecs_mean\":%.2f,\"iovecs_max\":%" PRIu64
            "},\"allocations_after_warmup\":",
            s->writes, mean, s->iovecs_max);
    if (r->has_allocations)
        fprintf(to, "%" PRIu64, r->allocations);
    else
        fprintf(to, "null");
    fprintf(to, ",\"blocks_referenced\":%zu}\n", r->blocks_live);
}
