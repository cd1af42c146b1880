/* See stats_json.h. */
#include "stats_json.h"

#include <assert.h>
#include <inttypes.h>

/* Both structs are nothing but counters of one type. */
static_assert(sizeof(struct stats) % sizeof(uint64_t) == 0, "counters only");
static_assert(sizeof(struct tls_stats) % sizeof(uint64_t) == 0, "counters only");

static void counters_add(uint64_t *to, const uint64_t *from, size_t len)
{
    for (size_t i = 0; i < len / sizeof(*to); i++)
        to[i] += from[i];
}

void stats_add(struct stats *a, const struct stats *b)
{
    uint64_t most = a->iovecs_max > b->iovecs_max ? a->iovecs_max : b->iovecs_max;
    counters_add((uint64_t *)a, (const uint64_t *)b, sizeof(*a));
    a->iovecs_max = most;
}

void tls_stats_add(struct tls_stats *a, const struct tls_stats *b)
{
    counters_add((uint64_t *)a, (const uint64_t *)b, sizeof(*a));
}

static void print_tls(const struct tls_stats *t, FILE *to)
{
    fprintf(to,
            ",\"tls\":{\"handshakes\":%" PRIu64 ",\"resumed\":%" PRIu64
            ",\"handshake_faults\":%" PRIu64 ",\"alerts_sent\":%" PRIu64
            ",\"alerts_received\":%" PRIu64 ",\"truncations\":%" PRIu64 ",\"key_updates\":%" PRIu64
            ",\"records_sealed\":%" PRIu64 ",\"records_opened\":%" PRIu64
            ",\"bytes_staged\":%" PRIu64 ",\"bytes_joined\":%" PRIu64 "}",
            t->handshakes, t->resumed, t->handshake_faults, t->alerts_sent, t->alerts_received,
            t->truncations, t->key_updates, t->records_sealed, t->records_opened, t->bytes_staged,
            t->bytes_joined);
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
    fprintf(to,
            "},\"streams\":{\"reset\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"lost\":%" PRIu64
            "},\"fetches\":%" PRIu64 ",\"changes\":%" PRIu64 ",",
            s->streams_reset, s->streams_refused, s->bodies_lost, s->fetches, s->changes);
    fprintf(to, "\"body\":{\"mapped\":%" PRIu64 ",\"pooled\":%" PRIu64 ",\"copied\":%" PRIu64 "},",
            s->body_mapped, s->body_pooled, s->body_copied);
    fprintf(to, "\"bytes\":{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 "},\"calls\":{",
            s->bytes_sent, s->bytes_received);
    print_calls(s, to);
    double mean = s->writes == 0 ? 0.0 : (double)s->iovecs / (double)s->writes;
    fprintf(to,
            "},\"writes\":{\"count\":%" PRIu64 ",\"iovecs_mean\":%.2f,\"iovecs_max\":%" PRIu64
            "},\"zero_copy\":{\"sends\":%" PRIu64 ",\"copied\":%" PRIu64 ",\"notices\":%" PRIu64
            ",\"fixed\":%" PRIu64 ",\"pinned\":%" PRIu64 ",\"unpinned\":%" PRIu64
            "},\"allocations_after_warmup\":",
            s->writes, mean, s->iovecs_max, s->zero_copy_sends, s->zero_copy_copied,
            s->zero_copy_notices, s->zero_copy_fixed, s->zero_copy_pinned, s->zero_copy_unpinned);
    if (r->has_allocations)
        fprintf(to, "%" PRIu64, r->allocations);
    else
        fprintf(to, "null");
    fprintf(to, ",\"blocks_referenced\":%zu", r->blocks_live);
    print_tls(&r->tls_stats, to);
    fprintf(to, "}\n");
}
