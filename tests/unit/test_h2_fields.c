/*
 * The encoder of responses' fields: what a peer decodes is what was asked for, whether a block was
 * made or remembered.
 */
#include "cm.h"

#include <stdbool.h>
#include <string.h>

#include "clock.h"
#include "fields.h"
#include "memory.h"
#include "mem.h"

#define LEN_OF(array) (sizeof(array) / sizeof((array)[0]))

struct fixture {
    struct mem *mem;
    struct h2_memory memory;
    struct clock clock;
    struct fields_encoder encoder;
    nghttp2_hd_inflater *inflater;
    uint8_t scratch[FIELDS_ENCODED_MAX];
    const uint8_t *bytes; /* the last block */
    size_t len;
};

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.clock = {.date_s = 1796056917}};
    assert_int_equal(mem_new((size_t)16 * 1024 * 1024, &f->mem), WEIR_OK);
    assert_int_equal(h2_memory_init(&f->memory, f->mem), WEIR_OK);
    clock_format_date(f->clock.date_s, f->clock.date);
    assert_int_equal(fields_encoder_init(&f->encoder, &f->memory.ng), WEIR_OK);
    assert_int_equal(nghttp2_hd_inflate_new(&f->inflater), 0);
}

static void fixture_deinit(struct fixture *f)
{
    nghttp2_hd_inflate_del(f->inflater);
    fields_encoder_deinit(&f->encoder);
    h2_memory_deinit(&f->memory);
    assert_int_equal(mem_live(f->mem), 0);
    mem_free(f->mem);
}

static void pass_time(struct fixture *f, int64_t seconds)
{
    f->clock.date_s += seconds;
    clock_format_date(f->clock.date_s, f->clock.date);
}

/* The peer announces a size, and has it acknowledged. */
static void resize(struct fixture *f, uint32_t size)
{
    fields_encoder_note_size(&f->encoder, size);
    assert_int_equal(fields_encoder_apply_sizes(&f->encoder), WEIR_OK);
    assert_int_equal(nghttp2_hd_inflate_change_table_size(f->inflater, size), 0);
}

static enum weir_err encode(struct fixture *f, const struct weir_response *resp)
{
    return fields_encode(&f->encoder, f->mem, resp, &f->clock, f->scratch, &f->bytes, &f->len);
}

static void assert_field(const nghttp2_nv *nv, struct weir_str name, struct weir_str value)
{
    assert_int_equal(nv->namelen, name.len);
    assert_memory_equal(nv->name, name.ptr, name.len);
    assert_int_equal(nv->valuelen, value.len);
    assert_memory_equal(nv->value, value.ptr, value.len);
}

/* Decode the last block: :status, the common fields in order, date, the response's own. */
static void assert_decodes(struct fixture *f, const struct weir_response *resp)
{
    const uint8_t *in = f->bytes;
    size_t left = f->len;
    size_t common = resp->field_count - resp->own_count;
    size_t n = 0;
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(f->inflater, &nv, &flags, in, left, 1);
        assert_true(used >= 0);
        in += used;
        left -= (size_t)used;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            char status[8];
            snprintf(status, sizeof(status), "%u", resp->status);
            if (n == 0)
                assert_field(&nv, WEIR_STR(":status"), (struct weir_str){status, 3});
            else if (n <= common)
                assert_field(&nv, resp->fields[n - 1].name, resp->fields[n - 1].value);
            else if (n == common + 1)
                assert_field(&nv, WEIR_STR("date"),
                             (struct weir_str){f->clock.date, CLOCK_DATE_LEN});
            else
                assert_field(&nv, resp->fields[n - 2].name, resp->fields[n - 2].value);
            n++;
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL)
            break;
    }
    assert_int_equal(n, resp->field_count + 2);
    assert_int_equal(left, 0);
    nghttp2_hd_inflate_end_headers(f->inflater);
}

/* ---- random responses ---- */

#define LISTS 40
#define LIST_FIELDS 8

/* A list of fields that has an identity, as a cached file's has. */
struct list {
    char text[LIST_FIELDS][2][64];
    struct weir_field fields[LIST_FIELDS];
    size_t count;
    uint64_t id;
};

static void list_make(struct list *list, struct rng *rng, uint64_t id)
{
    static const char *const names[] = {
        "server", "content-type", "content-length", "etag", "last-modified", "cache-control",
        "vary",   "x-frame",      "set-cookie",     "age",  "location",      "accept-ranges"};
    list->count = rng_below(rng, LIST_FIELDS + 1);
    list->id = id;
    for (size_t i = 0; i < list->count; i++) {
        char *value = list->text[i][1];
        size_t len = rng_below(rng, rng_below(rng, 4) == 0 ? 60 : 12);
        for (size_t j = 0; j < len; j++)
            value[j] = (char)(' ' + 1 + rng_below(rng, 94));
        const char *name = names[rng_below(rng, LEN_OF(names))];
        list->fields[i] = (struct weir_field){{name, strlen(name)}, {value, len}};
    }
}

static void decoded_fields_are_what_was_asked_for(void **state)
{
    (void)state;
    static const uint16_t statuses[] = {200, 200, 200, 204, 206, 304, 404, 418, 500, 599};
    static const uint32_t sizes[] = {0, 1, 31, 32, 64, 200, 1000, 4096, 4097, 65536};
    struct rng rng = rng_new(__func__);
    for (int round = 0; round < 50; round++) {
        struct fixture f;
        fixture_init(&f);
        static struct list lists[LISTS];
        uint64_t ids = 0;
        for (size_t i = 0; i < LISTS; i++)
            list_make(&lists[i], &rng, ++ids);
        size_t popular = 1 + rng_below(&rng, LISTS);
        for (int i = 0; i < 400; i++) {
            struct list *list = &lists[rng_below(&rng, popular)];
            if (rng_below(&rng, 60) == 0)
                list_make(list, &rng, ++ids); /* the file has changed */
            if (rng_below(&rng, 50) == 0)
                pass_time(&f, 1 + (int64_t)rng_below(&rng, 3));
            if (rng_below(&rng, 60) == 0)
                resize(&f, sizes[rng_below(&rng, LEN_OF(sizes))]);
            const struct weir_response resp = {
                .status = statuses[rng_below(&rng, LEN_OF(statuses))],
                .fields = list->fields,
                .field_count = list->count,
                .fields_id = rng_below(&rng, 10) == 0 ? 0 : list->id,
            };
            assert_int_equal(encode(&f, &resp), WEIR_OK);
            assert_decodes(&f, &resp);
        }
        fixture_deinit(&f);
    }
}

/* ---- remembered blocks ---- */

/* What server/http/files sends with a file at the most. */
static const struct weir_field file_fields[] = {
    {WEIR_STR_INIT("content-length"), WEIR_STR_INIT("10240")},
    {WEIR_STR_INIT("content-type"), WEIR_STR_INIT("text/html; charset=utf-8")},
    {WEIR_STR_INIT("accept-ranges"), WEIR_STR_INIT("bytes")},
    {WEIR_STR_INIT("x-content-type-options"), WEIR_STR_INIT("nosniff")},
    {WEIR_STR_INIT("content-encoding"), WEIR_STR_INIT("br")},
    {WEIR_STR_INIT("server"), WEIR_STR_INIT("weir")},
    {WEIR_STR_INIT("cache-control"), WEIR_STR_INIT("max-age=0, must-revalidate")},
    {WEIR_STR_INIT("vary"), WEIR_STR_INIT("accept-encoding")},
    {WEIR_STR_INIT("etag"), WEIR_STR_INIT("\"2800-18c3f1a2b4d5e6f7\"")},
    {WEIR_STR_INIT("last-modified"), WEIR_STR_INIT("Mon, 30 Nov 2026 16:21:57 GMT")},
};
static const struct weir_response file_response = {
    .status = 200, .fields = file_fields, .field_count = LEN_OF(file_fields), .fields_id = 7};

static void a_warm_response_is_short_and_remembered(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(encode(&f, &file_response), WEIR_OK);
        assert_decodes(&f, &file_response);
    }
    printf("a warm response takes %zu bytes\n", f.len);
    assert_true(f.len <= 40);
    assert_ptr_not_equal(f.bytes, f.scratch); /* it was not made anew */

    uint8_t warm[64];
    size_t warm_len = f.len;
    memcpy(warm, f.bytes, f.len);
    struct weir_response fresh = file_response;
    fresh.fields_id = 0;
    assert_int_equal(encode(&f, &fresh), WEIR_OK);
    assert_decodes(&f, &fresh);
    assert_ptr_equal(f.bytes, f.scratch);
    assert_int_equal(f.len, warm_len);
    assert_memory_equal(f.bytes, warm, warm_len);
    fixture_deinit(&f);
}

/* Each thing that a block depends on makes it be made anew. */
static void what_has_changed_is_not_remembered(void **state)
{
    (void)state;
    for (int change = 0; change < 6; change++) {
        struct fixture f;
        fixture_init(&f);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(encode(&f, &file_response), WEIR_OK);
            assert_decodes(&f, &file_response);
        }
        assert_ptr_not_equal(f.bytes, f.scratch);

        struct weir_response resp = file_response;
        struct weir_field fields[LEN_OF(file_fields)];
        memcpy(fields, file_fields, sizeof(fields));
        resp.fields = fields;
        switch (change) {
        case 0: resp.status = 206; break;
        case 1: pass_time(&f, 1); break;
        case 2: resize(&f, 4096); break;
        case 3: resize(&f, 0); break;
        case 4: /* another list, of the same place in the memory of blocks */
            resp.fields_id += 16;
            fields[5].value = WEIR_STR("w");
            break;
        default: { /* one that enters the table of the peer */
            const struct weir_field other = {WEIR_STR("x-other"), WEIR_STR("1")};
            const struct weir_response between = {
                .status = 200, .fields = &other, .field_count = 1};
            assert_int_equal(encode(&f, &between), WEIR_OK);
            assert_decodes(&f, &between);
            break;
        }
        }
        assert_int_equal(encode(&f, &resp), WEIR_OK);
        assert_ptr_equal(f.bytes, f.scratch);
        assert_decodes(&f, &resp);
        fixture_deinit(&f);
    }
}

/* RFC 7541 4.2: between two sections the smallest size that was announced has to be told. */
static void sizes_are_told_with_the_smallest(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_int_equal(encode(&f, &file_response), WEIR_OK);
    assert_decodes(&f, &file_response);

    fields_encoder_note_size(&f.encoder, 4096);
    fields_encoder_note_size(&f.encoder, 30);
    fields_encoder_note_size(&f.encoder, 2000);
    assert_int_equal(encode(&f, &file_response), WEIR_OK); /* before the acknowledgement */
    assert_int_not_equal(f.bytes[0] & 0xe0, 0x20);
    assert_decodes(&f, &file_response);
    assert_int_equal(fields_encoder_apply_sizes(&f.encoder), WEIR_OK);
    assert_int_equal(encode(&f, &file_response), WEIR_OK);
    static const uint8_t updates[] = {0x20 | 30, 0x3f, 0xb1, 0x0f}; /* 30, 2000 */
    assert_memory_equal(f.bytes, updates, sizeof(updates));
    assert_int_equal(nghttp2_hd_inflate_change_table_size(f.inflater, 30), 0);
    assert_int_equal(nghttp2_hd_inflate_change_table_size(f.inflater, 2000), 0);
    assert_decodes(&f, &file_response);
    assert_int_equal(encode(&f, &file_response), WEIR_OK);
    assert_int_not_equal(f.bytes[0] & 0xe0, 0x20); /* told once */
    assert_decodes(&f, &file_response);
    fixture_deinit(&f);
}

/* ---- limits ---- */

static void sections_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static char value[FIELDS_ENCODED_MAX + 1];
    memset(value, '\t', sizeof(value)); /* Huffman coding makes that longer: it is sent as it is */
    size_t fits = 0;
    for (size_t len = sizeof(value) - 100; len <= sizeof(value); len++) {
        struct fixture f;
        fixture_init(&f);
        const struct weir_field field = {WEIR_STR("x"), {value, len}};
        const struct weir_response resp = {.status = 200, .fields = &field, .field_count = 1};
        enum weir_err err = encode(&f, &resp);
        if (err == WEIR_OK) {
            assert_int_equal(fits, len - 1 == fits ? fits : 0); /* one border, not two */
            assert_true(f.len <= FIELDS_ENCODED_MAX);
            assert_decodes(&f, &resp);
            fits = len;
        } else {
            assert_int_equal(err, WEIR_STREAM);
        }
        fixture_deinit(&f);
    }
    assert_true(fits > sizeof(value) - 60 && fits < sizeof(value));
}

static void as_many_fields_as_are_allowed_fit(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    struct weir_field fields[FIELDS_MAX];
    for (size_t i = 0; i < FIELDS_MAX; i++)
        fields[i] = (struct weir_field){WEIR_STR("x"), WEIR_STR("y")};
    const struct weir_response resp = {
        .status = 200, .fields = fields, .field_count = FIELDS_MAX, .fields_id = 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(encode(&f, &resp), WEIR_OK);
        assert_decodes(&f, &resp);
    }
    fixture_deinit(&f);
}

/* ---- fields_is_stable ---- */

/* An integer with a prefix of `bits` bits (RFC 7541 5.1). */
static size_t slow_integer(const uint8_t *bytes, size_t *at, unsigned bits)
{
    size_t mask = ((size_t)1 << bits) - 1;
    size_t value = bytes[(*at)++] & mask;
    if (value < mask)
        return value;
    unsigned shift = 0;
    uint8_t b = 0;
    do {
        b = bytes[(*at)++];
        value += (size_t)(b & 0x7f) << shift;
        shift += 7;
    } while ((b & 0x80) != 0);
    return value;
}

/* The same, by reading every representation (RFC 7541 6). */
static bool slow_is_stable(const uint8_t *bytes, size_t len)
{
    size_t at = 0;
    while (at < len) {
        uint8_t first = bytes[at];
        if ((first & 0xc0) == 0x40 || (first & 0xe0) == 0x20)
            return false;
        if ((first & 0x80) != 0) {
            slow_integer(bytes, &at, 7);
            continue;
        }
        int strings = slow_integer(bytes, &at, 4) == 0 ? 2 : 1; /* the name, and the value */
        for (int i = 0; i < strings; i++) {
            size_t string_len = slow_integer(bytes, &at, 7);
            at += string_len;
        }
    }
    assert_int_equal(at, len);
    return true;
}

static void stable_sections_are_told_apart(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    unsigned stable = 0;
    for (int round = 0; round < 3000; round++) {
        nghttp2_hd_deflater *deflater;
        assert_int_equal(nghttp2_hd_deflate_new(&deflater, 4096), 0);
        static const char *const names[] = {"etag", "x-long-name-of-a-field", "server", ":status"};
        nghttp2_nv nva[6];
        static uint8_t value[40000];
        memset(value, 'v', sizeof(value));
        size_t n = 1 + rng_below(&rng, 6);
        for (size_t i = 0; i < n; i++) {
            const char *name = names[rng_below(&rng, LEN_OF(names))];
            bool is_status = name[0] == ':';
            nva[i] = (nghttp2_nv){
                .name = (uint8_t *)(uintptr_t)name,
                .namelen = strlen(name),
                .value = is_status ? (uint8_t *)(uintptr_t) "200" : value,
                .valuelen = is_status ? 3 : rng_below(&rng, rng_below(&rng, 9) == 0 ? 40000 : 300),
                .flags = rng_below(&rng, 12) == 0 ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX,
            };
        }
        if (rng_below(&rng, 8) == 0)
            assert_int_equal(nghttp2_hd_deflate_change_table_size(deflater, 100), 0);
        static uint8_t block[300000];
        ssize_t len = nghttp2_hd_deflate_hd(deflater, block, sizeof(block), nva, n);
        assert_true(len > 0);
        bool expected = slow_is_stable(block, (size_t)len);
        assert_int_equal(fields_is_stable(block, (size_t)len), expected);
        stable += expected;
        nghttp2_hd_deflate_del(deflater);
    }
    assert_true(stable > 300 && stable < 2700); /* both kinds were seen */
}

#define OWN_MAX 3

static void a_responses_own_fields_are_not_remembered(void **state)
{
    (void)state;
    struct fixture f;
    struct rng rng = rng_new(__func__);
    fixture_init(&f);
    static char text[OWN_MAX][400];
    for (size_t i = 0; i < OWN_MAX; i++)
        memset(text[i], 'a' + (int)i, sizeof(text[i]));
    struct weir_field fields[2 + OWN_MAX] = {
        {WEIR_STR("etag"), WEIR_STR("\"1oua=d.t5oub1\"")},
        {WEIR_STR("accept-ranges"), WEIR_STR("bytes")},
    };
    static const struct weir_str names[] = {WEIR_STR_INIT("content-length"),
                                            WEIR_STR_INIT("content-range")};
    uint64_t generation = 0;
    for (int i = 0; i < 2000; i++) {
        struct weir_response resp = {.status = 206, .fields = fields, .fields_id = 7};
        resp.own_count = rng_below(&rng, OWN_MAX + 1);
        resp.field_count = 2 + resp.own_count;
        for (size_t n = 0; n < resp.own_count; n++) {
            size_t name = rng_below(&rng, 3);
            fields[2 + n].name =
                name < 2 ? names[name] : (struct weir_str){text[n], 1 + rng_below(&rng, 399)};
            fields[2 + n].value = (struct weir_str){text[n], rng_below(&rng, 400)};
        }
        assert_int_equal(encode(&f, &resp), WEIR_OK);
        assert_decodes(&f, &resp);
        if (i == 0)
            generation = f.encoder.generation;
        assert_int_equal(f.encoder.generation, generation);
    }
    struct weir_response resp = {.status = 206, .fields = fields, .field_count = 3, .own_count = 1};
    static char large[FIELDS_ENCODED_MAX];
    memset(large, 'x', sizeof(large));
    fields[2].value = (struct weir_str){large, sizeof(large)};
    assert_int_equal(encode(&f, &resp), WEIR_STREAM);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoded_fields_are_what_was_asked_for),
        cmocka_unit_test(a_warm_response_is_short_and_remembered),
        cmocka_unit_test(what_has_changed_is_not_remembered),
        cmocka_unit_test(sizes_are_told_with_the_smallest),
        cmocka_unit_test(sections_that_do_not_fit_are_refused),
        cmocka_unit_test(as_many_fields_as_are_allowed_fit),
        cmocka_unit_test(stable_sections_are_told_apart),
        cmocka_unit_test(a_responses_own_fields_are_not_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
