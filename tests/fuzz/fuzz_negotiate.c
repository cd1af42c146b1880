/*
 * Accept and Accept-Encoding: weights stay in bounds, and what is said first counts.
 * Covers: server/http/files/negotiate.c
 */
#include "fuzz.h"

#include "internal/assert.h"
#include "negotiate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct weir_str value = {(const char *)data, len};
    struct weir_field fields[] = {
        {WEIR_STR("accept-encoding"), WEIR_STR("br;q=0.123")},
        {WEIR_STR("accept-encoding"), value},
        {WEIR_STR("accept"), value},
    };
    struct weir_request r = {.fields = fields, .field_count = 3};
    unsigned weights[CODINGS];
    negotiate_codings(&r, weights);
    for (size_t i = 0; i < CODINGS; i++)
        WEIR_ASSERT(weights[i] <= WEIGHT_MAX);
    WEIR_ASSERT(weights[CODING_BR] == 123);
    WEIR_ASSERT(negotiate_type(&r, WEIR_STR("text/html")) <= WEIGHT_MAX);
    return 0;
}
