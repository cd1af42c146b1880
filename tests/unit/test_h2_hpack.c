/*
 * The HPACK decoder: the examples of RFC 7541, what nghttp2 encodes, what no encoder makes, and the
 * memory that all this takes.
 */
#include "cm.h"

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <string.h>

#include "hpack_decode.h"
#include "hpack_huffman.h"
#include "mem.h"
#include "tls_hex.h"

#define LEN_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MEMORY ((size_t)16 * 1024 * 1024)

struct fixture {
    struct mem *mem;
    struct hpack_decoder decoder;
};

static void fixture_init(struct fixture *f)
{
    assert_int_equal(mem_new(MEMORY, &f->mem), WEIR_OK);
    hpack_decoder_init(&f->decoder, f->mem);
}

static void fixture_deinit(struct fixture *f)
{
    hpack_decoder_deinit(&f->decoder);
    assert_int_equal(mem_live(f->mem), 0);
    mem_free(f->mem);
}

/* Bytes of the items that are taken. */
static size_t bytes_live(const struct mem *mem)
{
    size_t n = 0;
    for (size_t i = 0; i < MEM_CLASSES; i++)
        n += mem->classes[i].live * mem->classes[i].item_len;
    return n;
}

/* Decode a block and write it as "name: value\n" for each field.  Gives the error that ended it. */
static enum weir_err decode(struct fixture *f, const uint8_t *bytes, size_t len, char *text,
                            size_t cap)
{
    const uint8_t *at = bytes;
    const struct hpack_entry *e;
    enum weir_err err;
    size_t used = 0;
    text[0] = '\0';
    hpack_decoder_begin(&f->decoder);
    while ((err = hpack_decode(&f->decoder, &at, bytes + len, &e)) == WEIR_OK) {
        int n = snprintf(text + used, cap - used, "%.*s: %.*s\n", (int)e->field.name.len,
                         e->field.name.ptr, (int)e->field.value.len, e->field.value.ptr);
        assert_in_range(n, 0, cap - used - 1);
        used += (size_t)n;
        hpack_entry_unref(e);
    }
    return err == WEIR_AGAIN && at < bytes + len ? WEIR_PROTO : err;
}

/* The same for one that is well-formed. */
static void assert_decodes(struct fixture *f, const char *hex, const char *fields, uint32_t size)
{
    static char text[8192];
    const struct hex block = hex_read(hex);
    assert_int_equal(decode(f, block.bytes, block.len, text, sizeof(text)), WEIR_AGAIN);
    assert_string_equal(text, fields);
    assert_int_equal(f->decoder.table.len, size);
}

/* ---- RFC 7541 appendix C ---- */

struct example {
    const char *hex;
    const char *fields;
    uint32_t size; /* of the table afterwards */
};

#define GET_EXAMPLE ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
#define GET_CUSTOM                                                                                 \
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n"              \
    "custom-key: custom-value\n"
#define FOUND(status, time)                                                                        \
    ":status: " status "\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:" time              \
    " GMT\nlocation: https://www.example.com\n"
#define COOKIE                                                                                     \
    "content-encoding: gzip\n"                                                                     \
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"

static const struct example single_fields[] = {
    {"400a637573746f6d2d6b65790d637573746f6d2d686561646572", "custom-key: custom-header\n", 55},
    {"040c2f73616d706c652f70617468", ":path: /sample/path\n", 55},
    {"100870617373776f726406736563726574", "password: secret\n", 55},
    {"82", ":method: GET\n", 55},
};

static const struct example requests_plain[] = {
    {"828684410f7777772e6578616d706c652e636f6d", GET_EXAMPLE, 57},
    {"828684be58086e6f2d6361636865", GET_EXAMPLE "cache-control: no-cache\n", 110},
    {"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565", GET_CUSTOM, 164},
};

static const struct example requests_huffman[] = {
    {"828684418cf1e3c2e5f23a6ba0ab90f4ff", GET_EXAMPLE, 57},
    {"828684be5886a8eb10649cbf", GET_EXAMPLE "cache-control: no-cache\n", 110},
    {"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", GET_CUSTOM, 164},
};

/* The first ones begin by making the table 256 bytes large. */
static const struct example responses_plain[] = {
    {"3fe101"
     "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54"
     "6e1768747470733a2f2f7777772e6578616d706c652e636f6d",
     FOUND("302", "21"), 222},
    {"4803333037c1c0bf", FOUND("307", "21"), 222},
    {"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d"
     "4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b20766572"
     "73696f6e3d31",
     FOUND("200", "22") COOKIE, 215},
};

static const struct example responses_huffman[] = {
    {"3fe101"
     "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b"
     "97c8e9ae82ae43d3",
     FOUND("302", "21"), 222},
    {"4883640effc1c0bf", FOUND("307", "21"), 222},
    {"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdf"
     "cd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
     FOUND("200", "22") COOKIE, 215},
};

static void assert_examples(const struct example *examples, size_t count)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < count; i++)
        assert_decodes(&f, examples[i].hex, examples[i].fields, examples[i].size);
    fixture_deinit(&f);
}

static void the_examples_of_the_rfc_are_decoded(void **state)
{
    (void)state;
    assert_examples(single_fields, LEN_OF(single_fields));
    assert_examples(requests_plain, LEN_OF(requests_plain));
    assert_examples(requests_huffman, LEN_OF(requests_huffman));
    assert_examples(responses_plain, LEN_OF(responses_plain));
    assert_examples(responses_huffman, LEN_OF(responses_huffman));
}

/* ---- what no encoder makes ---- */

struct fault {
    const char *name;
    const char *hex;
    enum weir_err err;
};

static const struct fault faults[] = {
    {"index 0", "80", WEIR_PROTO},
    {"the first index beyond an empty table", "be", WEIR_PROTO},
    {"an index far beyond", "ffffffff7f", WEIR_PROTO},
    {"an index of more than 32 bits", "ffffffffffff7f", WEIR_PROTO},
    {"an integer that goes on after it could end", "ff8080808080800001", WEIR_PROTO},
    {"a name index beyond the table", "7e0161", WEIR_PROTO},
    {"the end within an index", "ff80", WEIR_PROTO},
    {"the end behind a literal's first byte", "40", WEIR_PROTO},
    {"the end within a name", "40036162", WEIR_PROTO},
    {"the end in front of a value", "400161", WEIR_PROTO},
    {"the end within a value",
     "40016102"
     "61",
     WEIR_PROTO},
    {"EOS", "00016184ffffffff", WEIR_PROTO},
    {"EOS behind a symbol", "000161851fffffffff", WEIR_PROTO},
    {"padding of zeros", "0001618118", WEIR_PROTO},
    {"padding of a whole byte", "000161821fff", WEIR_PROTO},
    {"a code that is cut", "00016181fe", WEIR_PROTO},
    {"a table larger than the setting", "3fe21f82", WEIR_PROTO},
    {"a table of more than 32 bits", "3fffffffffff7f", WEIR_PROTO},
    {"a size update behind a field", "8220", WEIR_PROTO},
    {"a value of 65,537 bytes", "0001617f82ff03", WEIR_LIMIT},
    {"a name of 65,537 bytes", "007f82ff03", WEIR_LIMIT},
    {"a value of 4 GiB", "0001617f80ffffff0f", WEIR_LIMIT},
    {"a value of more than 4 GiB", "0001617fffffffff7f", WEIR_PROTO},
};

static void faults_are_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN_OF(faults); i++) {
        struct fixture f;
        char text[256];
        fixture_init(&f);
        const struct hex block = hex_read(faults[i].hex);
        enum weir_err err = decode(&f, block.bytes, block.len, text, sizeof(text));
        if (err != faults[i].err)
            fail_msg("%s: %s", faults[i].name, weir_err_name(err));
        fixture_deinit(&f);
    }
}

static void sizes_change_at_the_start_of_a_block_alone(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_decodes(&f, "4001610162", "a: b\n", 34);
    assert_decodes(&f, "203fe11f82", ":method: GET\n", 0); /* to nothing and back */
    assert_decodes(&f, "4001610162", "a: b\n", 34);
    assert_decodes(&f, "3f03be", "a: b\n", 34);
    assert_decodes(&f, "3f0282", ":method: GET\n", 0); /* 33 bytes hold it no more */
    fixture_deinit(&f);
}

/* RFC 7541 4.4: it is no error, and nothing stays. */
static void an_entry_larger_than_the_table_empties_it(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_decodes(&f, "3f034001610162", "a: b\n", 34);
    assert_decodes(&f,
                   "40016102"
                   "6263",
                   "a: bc\n", 0);
    assert_decodes(&f, "4001610162be", "a: b\na: b\n", 34);
    fixture_deinit(&f);
}

/* RFC 7541 4.4: the name of a new entry may be that of one that goes for it. */
static void a_name_may_be_of_the_entry_that_is_evicted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    assert_decodes(&f, "3f09400561626364650131", "abcde: 1\n", 38);
    assert_decodes(&f, "7e0132", "abcde: 2\n", 38);
    assert_decodes(&f, "be", "abcde: 2\n", 38);
    fixture_deinit(&f);
}

/* ---- against nghttp2 ---- */

static void strings_of_any_bits_decode_as_nghttp2_decodes_them(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    unsigned right = 0;
    for (unsigned run = 0; run < 60000; run++) {
        uint8_t block[64] = {0x00, 0x01, 'a'};
        size_t len = rng_below(&rng, 24);
        block[3] = (uint8_t)(0x80 | len);
        for (size_t i = 0; i < len; i++) /* ones begin the codes that are long */
            block[4 + i] = (uint8_t)(rng_next(&rng) | (run % 2 == 0 ? rng_next(&rng) : 0));
        if (len > 0 && run % 3 == 0) /* often a right end */
            block[3 + len] |= (uint8_t)(0xff >> rng_below(&rng, 8));

        nghttp2_hd_inflater *inflater;
        assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
        nghttp2_nv nv;
        int flags = 0;
        ssize_t used = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, block, 4 + len, 1);
        uint8_t out[64];
        size_t out_len = 0;
        bool is_right = huffman_decode(block + 4, len, out, &out_len);
        assert_int_equal(is_right, used >= 0);
        if (is_right) {
            right++;
            assert_int_equal(out_len, nv.valuelen);
            if (out_len > 0)
                assert_memory_equal(out, nv.value, out_len);
            assert_true(out_len <= huffman_bound(len));
        }
        nghttp2_hd_inflate_del(inflater);
    }
    assert_true(right > 5000);
}

#define BLOCK_FIELDS 12

/* Fields that repeat, and some that do not. */
static size_t make_fields(struct rng *rng, nghttp2_nv *nva, char text[BLOCK_FIELDS][2][256])
{
    static const char *const names[] = {":path", "cookie", "accept", "x-a", "x-bb", "x-ccc"};
    size_t count = rng_below(rng, BLOCK_FIELDS + 1);
    for (size_t i = 0; i < count; i++) {
        char *name = text[i][0];
        char *value = text[i][1];
        snprintf(name, 256, "%s", names[rng_below(rng, LEN_OF(names))]);
        size_t len = rng_below(rng, rng_below(rng, 6) == 0 ? 250 : 8);
        for (size_t j = 0; j < len; j++)
            value[j] = (char)rng_below(rng, len < 8 ? 3 : 256);
        nva[i] = (nghttp2_nv){
            .name = (uint8_t *)name,
            .namelen = strlen(name),
            .value = (uint8_t *)value,
            .valuelen = len,
            .flags = rng_below(rng, 8) == 0 ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
        };
    }
    return count;
}

/* Decode in pieces of at most `step` more bytes each; the fields are what was encoded. */
static void assert_same_fields(struct fixture *f, const uint8_t *block, size_t len, size_t step,
                               const nghttp2_nv *nva, size_t count)
{
    const uint8_t *at = block;
    size_t shown = 0;
    size_t n = 0;
    hpack_decoder_begin(&f->decoder);
    while (shown < len) {
        shown = len - shown < step ? len : shown + step;
        const struct hpack_entry *e;
        enum weir_err err;
        while ((err = hpack_decode(&f->decoder, &at, block + shown, &e)) == WEIR_OK) {
            assert_true(n < count);
            assert_int_equal(e->field.name.len, nva[n].namelen);
            assert_memory_equal(e->field.name.ptr, nva[n].name, nva[n].namelen);
            assert_int_equal(e->field.value.len, nva[n].valuelen);
            if (nva[n].valuelen > 0)
                assert_memory_equal(e->field.value.ptr, nva[n].value, nva[n].valuelen);
            assert_int_equal(e->name_kind, field_kind_of_name(e->field.name));
            assert_int_equal(e->kind, field_kind_of(e->name_kind, e->field.value));
            hpack_entry_unref(e);
            n++;
        }
        assert_int_equal(err, WEIR_AGAIN);
    }
    assert_int_equal(n, count);
    assert_ptr_equal(at, block + len);
}

static void blocks_of_an_encoder_give_its_fields_in_any_pieces(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    struct fixture f;
    fixture_init(&f);
    nghttp2_hd_deflater *deflater;
    assert_int_equal(nghttp2_hd_deflate_new(&deflater, LIMIT_HPACK_TABLE), 0);
    for (unsigned run = 0; run < 4000; run++) {
        static char text[BLOCK_FIELDS][2][256];
        static uint8_t block[16384];
        nghttp2_nv nva[BLOCK_FIELDS];
        if (rng_below(&rng, 10) == 0)
            assert_int_equal(nghttp2_hd_deflate_change_table_size(
                                 deflater, rng_below(&rng, LIMIT_HPACK_TABLE + 1)),
                             0);
        size_t count = make_fields(&rng, nva, text);
        ssize_t len = nghttp2_hd_deflate_hd(deflater, block, sizeof(block), nva, count);
        assert_true(len >= 0);
        size_t step = rng_below(&rng, 2) == 0 ? sizeof(block) : 1 + rng_below(&rng, 40);
        assert_same_fields(&f, block, (size_t)len, step, nva, count);
        assert_int_equal(f.decoder.table.len, nghttp2_hd_deflate_get_dynamic_table_size(deflater));
    }
    nghttp2_hd_deflate_del(deflater);
    fixture_deinit(&f);
}

/* ---- what is held ---- */

static void entries_live_on_for_those_who_hold_them(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    const struct hex block = hex_read("400161016220");
    const uint8_t *at = block.bytes;
    const struct hpack_entry *first;
    const struct hpack_entry *again;
    hpack_decoder_begin(&f.decoder);
    assert_int_equal(hpack_decode(&f.decoder, &at, block.bytes + 5, &first), WEIR_OK);
    const uint8_t index[] = {0xbe, 0x20};
    at = index;
    hpack_decoder_begin(&f.decoder);
    assert_int_equal(hpack_decode(&f.decoder, &at, index + 1, &again), WEIR_OK);
    assert_ptr_equal(first, again);
    hpack_entry_unref(again);

    hpack_decoder_begin(&f.decoder);
    assert_int_equal(hpack_decode(&f.decoder, &at, index + 2, &again), WEIR_AGAIN);
    assert_int_equal(f.decoder.table.count, 0);
    hpack_decoder_deinit(&f.decoder);
    assert_int_equal(first->field.value.ptr[0], 'b');
    hpack_entry_unref(first);
    fixture_deinit(&f);
}

/* The entry of a block of one field. */
static const struct hpack_entry *decode_one(struct fixture *f, const char *hex)
{
    const struct hex block = hex_read(hex);
    const uint8_t *at = block.bytes;
    const struct hpack_entry *e;
    hpack_decoder_begin(&f->decoder);
    assert_int_equal(hpack_decode(&f->decoder, &at, block.bytes + block.len, &e), WEIR_OK);
    assert_ptr_equal(at, block.bytes + block.len);
    return e;
}

/* Clients do not add :path to the table: a path that comes again is the same entry all the same. */
static void literals_that_come_again_are_one_entry(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        bool is_remembered;
    } cases[] = {
        {"04042f616263", true},    /* :path, as it is */
        {"0483609d29", true},      /* :path, in Huffman code */
        {"14042f616263", false},   /* never to be added */
        {"0f190461626364", true},  /* if-modified-since: an index of two bytes */
        {"0f2e0461626364", true},  /* www-authenticate, the last of the static table */
        {"1f190461626364", false}, /* never to be added */
        {"0f1903616263", false},   /* too short */
        {"0001610162", false},     /* a name of its own */
        {"040161", false},         /* too short to be worth it */
        {"04372f616263646566676869"
         "2f616263646566676869"
         "2f616263646566676869"
         "2f616263646566676869"
         "2f616263646566676869"
         "2f61626364",
         false}, /* too long */
    };
    for (size_t i = 0; i < LEN_OF(cases); i++) {
        struct fixture f;
        fixture_init(&f);
        const struct hpack_entry *first = decode_one(&f, cases[i].hex);
        const struct hpack_entry *again = decode_one(&f, cases[i].hex);
        if ((first == again) != cases[i].is_remembered)
            fail_msg("%s", cases[i].hex);
        assert_true(weir_str_eq(first->field.value, again->field.value));
        assert_true(weir_str_eq(first->field.name, again->field.name));
        hpack_entry_unref(first);
        hpack_entry_unref(again);
        fixture_deinit(&f);
    }
}

/* What an index of the dynamic table means changes. */
static void literals_named_by_the_dynamic_table_are_not_remembered(void **state)
{
    (void)state;
    static const char *const adding = "400178027979"; /* x: yy, at 62 */
    static const char *const literal = "0f2f0461626364";
    struct fixture f;
    fixture_init(&f);
    hpack_entry_unref(decode_one(&f, adding));
    const struct hpack_entry *first = decode_one(&f, literal);
    const struct hpack_entry *again = decode_one(&f, literal);
    assert_ptr_not_equal(first, again);
    assert_true(weir_str_eq(again->field.name, WEIR_STR("x")));
    hpack_entry_unref(first);
    hpack_entry_unref(again);
    fixture_deinit(&f);
}

/* However the entries are cut, the table takes no more than a small multiple of its size. */
static void the_table_takes_bounded_memory(void **state)
{
    (void)state;
    struct rng rng = rng_new(__func__);
    struct fixture f;
    fixture_init(&f);
    size_t most = 0;
    for (unsigned run = 0; run < 20000; run++) {
        uint8_t block[5000] = {0x40};
        static char text[8192];
        size_t lens[] = {0, 1, 2, 20, 60};
        size_t len = run < 5000 ? lens[run / 1000] : rng_below(&rng, 126);
        block[1] = (uint8_t)(run % 2 == 0 ? len : 0);
        memset(block + 2, 'a', len);
        size_t at = 2U + block[1];
        block[at] = (uint8_t)(run % 2 == 0 ? 0 : len);
        memset(block + at + 1, 'a', len);
        assert_int_equal(decode(&f, block, at + 1 + block[at], text, sizeof(text)), WEIR_AGAIN);
        most = bytes_live(f.mem) > most ? bytes_live(f.mem) : most;
    }
    assert_in_range(most, LIMIT_HPACK_TABLE, 3 * LIMIT_HPACK_TABLE);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_the_rfc_are_decoded),
        cmocka_unit_test(faults_are_seen),
        cmocka_unit_test(sizes_change_at_the_start_of_a_block_alone),
        cmocka_unit_test(an_entry_larger_than_the_table_empties_it),
        cmocka_unit_test(a_name_may_be_of_the_entry_that_is_evicted),
        cmocka_unit_test(strings_of_any_bits_decode_as_nghttp2_decodes_them),
        cmocka_unit_test(blocks_of_an_encoder_give_its_fields_in_any_pieces),
        cmocka_unit_test(entries_live_on_for_those_who_hold_them),
        cmocka_unit_test(literals_that_come_again_are_one_entry),
        cmocka_unit_test(literals_named_by_the_dynamic_table_are_not_remembered),
        cmocka_unit_test(the_table_takes_bounded_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
