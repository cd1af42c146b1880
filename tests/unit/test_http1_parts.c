/* The parts of HTTP/1.1 that stand alone: the parser's build, sniffing, targets, chunks, heads. */
#include "cm.h"

#include <string.h>

#include <llhttp.h>

#include "authority.h"
#include "chunked.h"
#include "head_scan.h"
#include "head_write.h"
#include "target.h"
#include "internal/limits.h"
#include "mem.h"
#include "sniff.h"

/* ---- llhttp ---- */

static llhttp_errno_t parse(const char *bytes)
{
    static llhttp_settings_t settings;
    llhttp_t parser;
    llhttp_settings_init(&settings);
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    return llhttp_execute(&parser, bytes, strlen(bytes));
}

#define CHUNKED_HEAD "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

static void the_parser_is_built_in_its_strict_mode(void **state)
{
    (void)state;
    assert_int_equal(parse(CHUNKED_HEAD "1\r\nx\r\n0\r\n\r\n"), HPE_OK);

    /* what a build without LLHTTP_STRICT_MODE lets through */
    assert_int_not_equal(parse(CHUNKED_HEAD "1\r\nxXX0\r\n\r\n"), HPE_OK);
    assert_int_not_equal(parse("GET / HTTP/1.1\r\nHost: a\r\n\rX"), HPE_OK);
}

/* ---- sniffing ---- */

static void the_preface_is_known_at_its_last_byte(void **state)
{
    (void)state;
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    size_t len = sizeof(preface) - 1;

    for (size_t n = 0; n < len; n++)
        assert_int_equal(sniff((const uint8_t *)preface, n), SNIFF_MORE);
    assert_int_equal(sniff((const uint8_t *)preface, len), SNIFF_H2);
    assert_int_equal(sniff((const uint8_t *)"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore", len + 4),
                     SNIFF_H2);
}

static void a_byte_that_is_not_of_the_preface_means_http1(void **state)
{
    (void)state;
    char bytes[24];
    for (size_t at = 0; at < sizeof(bytes); at++) {
        memcpy(bytes, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", sizeof(bytes));
        bytes[at] ^= 0x20;
        assert_int_equal(sniff((const uint8_t *)bytes, at), SNIFF_MORE);
        assert_int_equal(sniff((const uint8_t *)bytes, at + 1), SNIFF_HTTP1);
    }
    assert_int_equal(sniff((const uint8_t *)"P", 1), SNIFF_MORE);
    assert_int_equal(sniff((const uint8_t *)"PO", 2), SNIFF_HTTP1);
    assert_int_equal(sniff((const uint8_t *)"\r\n", 2), SNIFF_HTTP1);
}

/* ---- targets ---- */

/* Alone, as a hexadecimal digit behind '%', within brackets, and in a port. */
static void each_byte_has_its_place_in_an_authority(void **state)
{
    (void)state;
    static const char hex[] = "0123456789abcdefABCDEF";
    static const char letters[] = "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ";
    for (int c = 0; c < 256; c++) {
        char byte = (char)c;
        bool is_hex = c != 0 && strchr(hex, c) != NULL;
        bool is_letter = c != 0 && strchr(letters, c) != NULL;
        bool is_mark = c != 0 && strchr("-._~!$&'()*+;=", c) != NULL;
        const char escaped[] = {'%', byte, byte};
        const char literal[] = {'[', byte, ']'};
        const char port[] = {'a', ':', byte};
        assert_int_equal(authority_is_valid((struct weir_str){&byte, 1}),
                         is_hex || is_letter || is_mark);
        assert_int_equal(authority_is_valid((struct weir_str){escaped, 3}), is_hex);
        assert_int_equal(authority_is_valid((struct weir_str){literal, 3}),
                         is_hex || c == ':' || c == '.');
        assert_int_equal(authority_is_valid((struct weir_str){port, 3}), c >= '0' && c <= '9');
    }
}

static void targets_give_authority_and_path(void **state)
{
    (void)state;
    static const struct {
        const char *target, *host, *authority, *path;
    } rows[] = {
        {"/", "a", "a", "/"},
        {"/x?y", "a:80", "a:80", "/x?y"},
        {"//b/x", "a", "a", "//b/x"},
        {"http://b/x", "", "b", "/x"},
        {"http://B:80/x", "b", "B:80", "/x"},
        {"http://b", "b:", "b", "/"},
        {"http://b?q=/", "b", "b", "/?q=/"},
        {"http://[::1]:8080?", "[::1]:8080", "[::1]:8080", "/?"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char target[64];
        snprintf(target, sizeof(target), "%s", rows[i].target);
        struct weir_request r = {.method = WEIR_STR("GET")};

        unsigned status =
            target_parse(&r, (struct weir_str){target, strlen(target)},
                         (struct weir_str){rows[i].host, strlen(rows[i].host)}, false);

        assert_int_equal(status, 0);
        assert_int_equal(r.authority.len, strlen(rows[i].authority));
        assert_memory_equal(r.authority.ptr, rows[i].authority, r.authority.len);
        assert_int_equal(r.path.len, strlen(rows[i].path));
        assert_memory_equal(r.path.ptr, rows[i].path, r.path.len);
        assert_true(weir_str_eq(r.scheme, WEIR_STR("http")));
    }
}

static void https_needs_tls(void **state)
{
    (void)state;
    struct weir_request r = {.method = WEIR_STR("GET")};
    struct weir_str target = WEIR_STR("https://a:443/");

    assert_int_equal(target_parse(&r, target, WEIR_STR("a"), false), 421);
    assert_int_equal(target_parse(&r, target, WEIR_STR("a"), true), 0);
    assert_true(weir_str_eq(r.scheme, WEIR_STR("https")));
    assert_int_equal(target_parse(&r, WEIR_STR("/"), WEIR_STR("a"), true), 0);
    assert_true(weir_str_eq(r.scheme, WEIR_STR("https")));
}

/* ---- chunks ---- */

/* Feed all of it in pieces of `step` bytes. */
static enum chunked_result chunks(struct chunked *c, const char *bytes, size_t len, size_t step,
                                  size_t *used)
{
    enum chunked_result result = CHUNKED_MORE;
    *c = (struct chunked){0};
    *used = 0;
    while (len > 0 && result == CHUNKED_MORE) {
        size_t n = 0;
        result = chunked_feed(c, (const uint8_t *)bytes, len < step ? len : step, &n);
        bytes += n;
        len -= n;
        *used += n;
    }
    return result;
}

static void a_chunked_body_ends_where_it_ends(void **state)
{
    (void)state;
    static const char body[] = "5;x=y\r\nhello\r\n00A\r\n0123456789\r\n0\r\nA: b\r\n\r\nGET /";
    for (size_t step = 1; step < sizeof(body); step++) {
        struct chunked c;
        size_t used;

        assert_int_equal(chunks(&c, body, sizeof(body) - 1, step, &used), CHUNKED_DONE);

        assert_int_equal(used, sizeof(body) - 1 - 5);
        assert_int_equal(c.body, 15);
        assert_int_equal(c.total, used);
    }
}

/* A body of `count` chunks of one byte, each with an extension of `ext` bytes. */
static enum chunked_result tiny_chunks(size_t count, size_t ext, uint16_t *status)
{
    struct chunked c = {0};
    char line[LIMIT_CHUNK_EXT + 16];
    size_t len = 0;
    line[len++] = '1';
    if (ext > 0) {
        line[len++] = ';';
        memset(line + len, 'x', ext);
        len += ext;
    }
    for (const char *rest = "\r\ny\r\n"; *rest != '\0'; rest++)
        line[len++] = *rest;
    enum chunked_result result = CHUNKED_MORE;
    for (size_t i = 0; i < count && result == CHUNKED_MORE; i++) {
        size_t used;
        result = chunked_feed(&c, (const uint8_t *)line, len, &used);
    }
    *status = c.status;
    return result;
}

static void extensions_are_limited(void **state)
{
    (void)state;
    uint16_t status;
    assert_int_equal(tiny_chunks(1, LIMIT_CHUNK_EXT, &status), CHUNKED_MORE);
    assert_int_equal(tiny_chunks(1, LIMIT_CHUNK_EXT + 1, &status), CHUNKED_BAD);
    assert_int_equal(status, 400);

    size_t most = LIMIT_CHUNK_EXT_TOTAL / LIMIT_CHUNK_EXT;
    assert_int_equal(tiny_chunks(most, LIMIT_CHUNK_EXT, &status), CHUNKED_MORE);
    assert_int_equal(tiny_chunks(most + 1, LIMIT_CHUNK_EXT, &status), CHUNKED_BAD);
    assert_int_equal(status, 400);
}

static void a_body_that_is_mostly_framing_is_refused(void **state)
{
    (void)state;
    uint16_t status;
    size_t per_chunk = 5; /* "1\r\n" and "\r\n" around a byte: 5/6 are framing */
    size_t few = LIMIT_CHUNK_OVERHEAD / per_chunk;
    assert_int_equal(tiny_chunks(few, 0, &status), CHUNKED_MORE);
    assert_int_equal(tiny_chunks(few + 2, 0, &status), CHUNKED_BAD);
    assert_int_equal(status, 400);

    /* 5 of 7 are below the line, however long it goes on */
    struct chunked c = {0};
    enum chunked_result result = CHUNKED_MORE;
    for (size_t i = 0; i < LIMIT_BODY_BYTES / 2; i++) {
        size_t used;
        result = chunked_feed(&c, (const uint8_t *)"2\r\nyy\r\n", 7, &used);
        assert_int_equal(result, CHUNKED_MORE);
    }
    assert_int_equal(c.body, LIMIT_BODY_BYTES);
}

static void a_chunked_body_is_limited_as_a_whole(void **state)
{
    (void)state;
    struct chunked c = {0};
    size_t used;
    c.body = LIMIT_BODY_BYTES - 4;
    c.total = c.body;
    assert_int_equal(chunked_feed(&c, (const uint8_t *)"4\r\nabcd\r\n", 9, &used), CHUNKED_MORE);
    assert_int_equal(chunked_feed(&c, (const uint8_t *)"1\r\n", 3, &used), CHUNKED_BAD);
    assert_int_equal(c.status, 413);
}

static void a_trailer_section_is_limited(void **state)
{
    (void)state;
    static const char field[] = "abcdefg: 12345678901234567890\r\n";
    struct chunked c = {0};
    size_t used;
    assert_int_equal(chunked_feed(&c, (const uint8_t *)"0\r\n", 3, &used), CHUNKED_MORE);
    for (size_t i = 0; i < LIMIT_FIELDS; i++)
        assert_int_equal(chunked_feed(&c, (const uint8_t *)field, sizeof(field) - 1, &used),
                         CHUNKED_MORE);
    assert_int_equal(chunked_feed(&c, (const uint8_t *)field, 1, &used), CHUNKED_BAD);
    assert_int_equal(c.status, 431);

    c = (struct chunked){.state = CHUNKED_TRAILER};
    assert_int_equal(chunked_feed(&c, (const uint8_t *)"a:", 2, &used), CHUNKED_MORE);
    for (size_t i = 2; i < LIMIT_TRAILER_BYTES; i++)
        assert_int_equal(chunked_feed(&c, (const uint8_t *)"x", 1, &used), CHUNKED_MORE);
    assert_int_equal(chunked_feed(&c, (const uint8_t *)"x", 1, &used), CHUNKED_BAD);
    assert_int_equal(c.status, 431);
}

/* ---- heads of responses ---- */

static void fields_that_would_break_a_head_are_found(void **state)
{
    (void)state;
    char value[40];
    struct weir_field f = {WEIR_STR("x"), {value, sizeof(value)}};
    struct weir_response resp = {.status = 200, .fields = &f, .field_count = 1};
    for (unsigned byte = 0; byte < 256; byte++) {
        bool is_text = byte == '\t' || (byte >= ' ' && byte != 0x7f);
        for (size_t at = 0; at < sizeof(value); at++) {
            memset(value, 'v', sizeof(value));
            value[at] = (char)byte;
            assert_int_equal(response_is_sound(&resp, false), is_text);
        }
    }
    f.value = WEIR_STR("1");
    static const char *const names[] = {"",
                                        "a b",
                                        "a:",
                                        "a\r",
                                        "connection",
                                        "keep-alive",
                                        "transfer-encoding",
                                        "upgrade",
                                        "proxy-connection"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        f.name = (struct weir_str){names[i], strlen(names[i])};
        assert_false(response_is_sound(&resp, false));
    }
}

static void a_content_length_has_to_be_true(void **state)
{
    (void)state;
    static const struct weir_source source = {
        .read = (enum weir_err(*)(void *, uint64_t, size_t, struct weir_slice *))(uintptr_t)1};
    struct weir_field f[2] = {{WEIR_STR("content-length"), WEIR_STR("5")},
                              {WEIR_STR("content-length"), WEIR_STR("5")}};
    struct weir_response resp = {
        .status = 200, .fields = f, .field_count = 1, .source = &source, .body_len = 5};
    assert_true(response_is_sound(&resp, false));

    resp.body_len = 4;
    assert_false(response_is_sound(&resp, false));
    assert_true(response_is_sound(&resp, true)); /* what GET would give */
    resp.status = 304;
    assert_true(response_is_sound(&resp, false));
    resp.status = 200;
    resp.body_len = 5;
    f[0].value = WEIR_STR("+5");
    assert_false(response_is_sound(&resp, false));
    f[0].value = WEIR_STR("5");
    resp.field_count = 2;
    assert_false(response_is_sound(&resp, false));
    resp.field_count = 1;
    resp.source = NULL;
    assert_false(response_is_sound(&resp, false)); /* a body from nowhere */
    resp.body_len = 0;
    f[0].value = WEIR_STR("0");
    resp.status = 199;
    assert_false(response_is_sound(&resp, false));
    resp.status = 600;
    assert_false(response_is_sound(&resp, false));
}

static void expect_head(const struct weir_response *resp, bool is_head,
                        enum head_connection connection, const char *want)
{
    struct mem *mem;
    assert_int_equal(mem_new((size_t)4 * 1024 * 1024, &mem), WEIR_OK);
    struct weir_gather g;
    weir_gather_init(&g, mem);

    const struct head_context context = {
        .is_head = is_head,
        .is_chunked = !is_head && resp->body_len == WEIR_LENGTH_UNKNOWN,
        .connection = connection,
        .date = "Mon, 30 Nov 2026 16:41:57 GMT",
    };
    assert_int_equal(head_write(&g, resp, &context), WEIR_OK);

    assert_int_equal(g.count, 1); /* one iovec entry per head */
    const struct weir_slice *s = weir_gather_front(&g);
    assert_int_equal(s->len, strlen(want));
    assert_memory_equal(s->ptr, want, s->len);
    weir_gather_deinit(&g);
    assert_int_equal(mem_live(mem), 0);
    mem_free(mem);
}

#define DATE "date: Mon, 30 Nov 2026 16:41:57 GMT\r\n"

static void heads_say_what_is_due(void **state)
{
    (void)state;
    static const struct weir_field fields[] = {
        {WEIR_STR_INIT("etag"), WEIR_STR_INIT("\"x\"")},
        {WEIR_STR_INIT("content-length"), WEIR_STR_INIT("7")}};
    struct weir_response resp = {.status = 200, .fields = fields, .field_count = 2, .body_len = 7};
    expect_head(&resp, false, CONNECTION_UNSAID,
                "HTTP/1.1 200 OK\r\netag: \"x\"\r\ncontent-length: 7\r\n" DATE "\r\n");
    resp.field_count = 1;
    expect_head(&resp, false, CONNECTION_CLOSE,
                "HTTP/1.1 200 OK\r\netag: \"x\"\r\ncontent-length: 7\r\n" DATE
                "connection: close\r\n\r\n");
    expect_head(&resp, false, CONNECTION_KEEP_ALIVE,
                "HTTP/1.1 200 OK\r\netag: \"x\"\r\ncontent-length: 7\r\n" DATE
                "connection: keep-alive\r\n\r\n");
    resp.body_len = 0;
    expect_head(&resp, true, CONNECTION_UNSAID, "HTTP/1.1 200 OK\r\netag: \"x\"\r\n" DATE "\r\n");
    resp.status = 404;
    expect_head(&resp, false, CONNECTION_UNSAID,
                "HTTP/1.1 404 Not Found\r\netag: \"x\"\r\ncontent-length: 0\r\n" DATE "\r\n");
    resp.status = 299;
    resp.field_count = 0;
    expect_head(&resp, false, CONNECTION_UNSAID,
                "HTTP/1.1 299 \r\ncontent-length: 0\r\n" DATE "\r\n");
    resp.status = 304;
    resp.field_count = 2;
    expect_head(&resp, false, CONNECTION_UNSAID,
                "HTTP/1.1 304 Not Modified\r\netag: \"x\"\r\ncontent-length: 7\r\n" DATE "\r\n");
    resp.status = 204;
    expect_head(&resp, false, CONNECTION_UNSAID,
                "HTTP/1.1 204 No Content\r\netag: \"x\"\r\n" DATE "\r\n");
}

static void a_head_does_not_tell_a_length_that_is_not_known(void **state)
{
    (void)state;
    const struct weir_response resp = {.status = 200, .body_len = WEIR_LENGTH_UNKNOWN};
    expect_head(&resp, false, CONNECTION_UNSAID,
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n" DATE "\r\n");
    expect_head(&resp, true, CONNECTION_UNSAID, "HTTP/1.1 200 OK\r\n" DATE "\r\n");
}

static void a_scan_does_not_depend_on_cuts(void **state)
{
    (void)state;
    static const char head[] = "\r\nGET /x HTTP/1.1\r\nHOST: a\r\nX-Y:\tz\r\n\r\nrest";
    for (size_t at = 0; at < sizeof(head) - 1; at++) {
        uint8_t bytes[sizeof(head)];
        memcpy(bytes, head, sizeof(head));
        struct head_scan scan = {0};
        enum head_result first = head_scan(&scan, bytes, at);
        enum head_result last =
            first == HEAD_MORE ? head_scan(&scan, bytes, sizeof(head) - 1) : first;

        assert_int_equal(last, HEAD_DONE);
        assert_int_equal(scan.pos, sizeof(head) - 1 - 4);
        assert_int_equal(scan.start, 2);
        assert_int_equal(scan.method_len, 3);
        assert_int_equal(scan.fields, 2);
        assert_memory_equal(bytes, "\r\nGET /x HTTP/1.1\r\nhost: a\r\nx-y:\tz\r\n\r\n", scan.pos);
    }
}

/* The scan alone, without the parser that would catch some of these behind it. */
static void a_scan_rejects_what_is_not_sound(void **state)
{
    (void)state;
#define BAD(status, bytes)                                                                         \
    {                                                                                              \
        status, bytes, sizeof(bytes) - 1                                                           \
    }
#define LINE "GET / HTTP/1.1\r\n"
    static const struct {
        unsigned status;
        const char *bytes;
        size_t len;
    } rows[] = {
        BAD(400, "\n"),
        BAD(400, "\rX"),
        BAD(400, "\r\n\r"),
        BAD(400, " "),
        BAD(400, "\x80"),
        BAD(400, "GET\r"),
        BAD(400, "GET\t"),
        BAD(400, "GET  "),
        BAD(400, "GET /\r"),
        BAD(400, "GET /\n"),
        BAD(400, "GET /\t"),
        BAD(400, "GET /#"),
        BAD(400, "GET /\0"),
        BAD(400, "GET /\x7f"),
        BAD(400, "GET /\x80"),
        BAD(400, "GET / h"),
        BAD(400, "GET /  "),
        BAD(400, "GET / HTTP/x"),
        BAD(400, "GET / HTTP/1,"),
        BAD(400, "GET / HTTP/1.1 "),
        BAD(400, "GET / HTTP/1.1\n"),
        BAD(400, "GET / HTTP/1.10"),
        BAD(400, "GET / HTTP/1.1\rX"),
        BAD(505, "GET / HTTP/1.2\r"),
        BAD(505, "GET / HTTP/2.0\r"),
        BAD(505, "GET / HTTP/0.9\r"),
        BAD(400, LINE "\n"),
        BAD(400, LINE "\rX"),
        BAD(400, LINE " "),
        BAD(400, LINE "\t"),
        BAD(400, LINE ":"),
        BAD(400, LINE "a "),
        BAD(400, LINE "a\t"),
        BAD(400, LINE "a\r"),
        BAD(400, LINE "a\n"),
        BAD(400, LINE "a\0"),
        BAD(400, LINE "a\x80"),
        BAD(400, LINE "a:\n"),
        BAD(400, LINE "a:\0"),
        BAD(400, LINE "a:\x7f"),
        BAD(400, LINE "a:\v"),
        BAD(400, LINE "a:\rX"),
        BAD(400, LINE "a:\r\r"),
        BAD(400, LINE "a:b\r\n "),
        BAD(400, LINE "a:b\r\n\rX"),
        BAD(400, LINE "a:12345678\n"),
        BAD(400, LINE "a:1234567\0"),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[64];
        memcpy(bytes, rows[i].bytes, rows[i].len);
        struct head_scan scan = {0};

        /* up to the last byte nothing is wrong with it */
        assert_int_equal(head_scan(&scan, bytes, rows[i].len - 1), HEAD_MORE);
        assert_int_equal(head_scan(&scan, bytes, rows[i].len), HEAD_BAD);
        assert_int_equal(scan.status, rows[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parser_is_built_in_its_strict_mode),
        cmocka_unit_test(the_preface_is_known_at_its_last_byte),
        cmocka_unit_test(a_byte_that_is_not_of_the_preface_means_http1),
        cmocka_unit_test(each_byte_has_its_place_in_an_authority),
        cmocka_unit_test(targets_give_authority_and_path),
        cmocka_unit_test(https_needs_tls),
        cmocka_unit_test(a_chunked_body_ends_where_it_ends),
        cmocka_unit_test(extensions_are_limited),
        cmocka_unit_test(a_body_that_is_mostly_framing_is_refused),
        cmocka_unit_test(a_chunked_body_is_limited_as_a_whole),
        cmocka_unit_test(a_trailer_section_is_limited),
        cmocka_unit_test(fields_that_would_break_a_head_are_found),
        cmocka_unit_test(a_content_length_has_to_be_true),
        cmocka_unit_test(heads_say_what_is_due),
        cmocka_unit_test(a_head_does_not_tell_a_length_that_is_not_known),
        cmocka_unit_test(a_scan_does_not_depend_on_cuts),
        cmocka_unit_test(a_scan_rejects_what_is_not_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
