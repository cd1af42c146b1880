/*
 * What makes a request malformed (RFC 9113 8.1-8.3, 8.5), each rule by a message that breaks it
 * alone and by one that just keeps it.
 */
#include "cm.h"

#include "h2_peer.h"
#include "priority.h"

#define LEN_OF(array) (sizeof(array) / sizeof((array)[0]))
#define END NGHTTP2_FLAG_END_STREAM
#define FIELDS_CAP 8

/* A field whose strings may hold any byte. */
#define NV(n, v)                                                                                   \
    {                                                                                              \
        .name = (uint8_t *)(uintptr_t)(n), .value = (uint8_t *)(uintptr_t)(v),                     \
        .namelen = sizeof(n) - 1, .valuelen = sizeof(v) - 1                                        \
    }
#define METHOD NV(":method", "GET")
#define SCHEME NV(":scheme", "http")
#define AUTHORITY NV(":authority", "localhost")
#define PATH NV(":path", "/none")
#define USUAL METHOD, SCHEME, AUTHORITY, PATH

enum verdict { MALFORMED, FINE };

struct message_case {
    const char *name;
    enum verdict verdict;
    nghttp2_nv fields[FIELDS_CAP];
};

static const struct message_case cases[] = {
    {"the usual four", FINE, {USUAL}},
    {"in any order", FINE, {PATH, METHOD, AUTHORITY, SCHEME}},
    {"host in place of :authority", FINE, {METHOD, SCHEME, PATH, NV("host", "a")}},
    {"host beside :authority", FINE, {USUAL, NV("host", "localhost")}},

    {"no :method", MALFORMED, {SCHEME, AUTHORITY, PATH}},
    {"no :scheme", MALFORMED, {METHOD, AUTHORITY, PATH}},
    {"no :path", MALFORMED, {METHOD, SCHEME, AUTHORITY}},
    {"neither :authority nor host", MALFORMED, {METHOD, SCHEME, PATH}},
    {"no field at all", MALFORMED, {{0}}},
    {"two :method", MALFORMED, {USUAL, METHOD}},
    {"two :scheme", MALFORMED, {USUAL, SCHEME}},
    {"two :authority", MALFORMED, {USUAL, AUTHORITY}},
    {"two :path", MALFORMED, {USUAL, PATH}},
    {"two host", MALFORMED, {USUAL, NV("host", "a"), NV("host", "a")}},
    {"a pseudo-header field behind another",
     MALFORMED,
     {METHOD, SCHEME, AUTHORITY, NV("x", "y"), PATH}},
    {"a pseudo-header field behind host", MALFORMED, {METHOD, SCHEME, NV("host", "a"), PATH}},
    {"a pseudo-header field behind content-length",
     MALFORMED,
     {METHOD, SCHEME, AUTHORITY, NV("content-length", "0"), PATH}},
    {"one that is not known", MALFORMED, {NV(":proto", "x"), USUAL}},
    {"one of responses", MALFORMED, {NV(":status", "200"), USUAL}},
    {":protocol", MALFORMED, {NV(":protocol", "websocket"), USUAL}},
    {"a colon alone", MALFORMED, {NV(":", "x"), USUAL}},

    {"empty :method", MALFORMED, {NV(":method", ""), SCHEME, AUTHORITY, PATH}},
    {"empty :scheme", MALFORMED, {METHOD, NV(":scheme", ""), AUTHORITY, PATH}},
    {"empty :authority", MALFORMED, {METHOD, SCHEME, NV(":authority", ""), PATH}},
    {"empty :path", MALFORMED, {METHOD, SCHEME, AUTHORITY, NV(":path", "")}},
    {"empty host", MALFORMED, {METHOD, SCHEME, PATH, NV("host", "")}},
    {":method of any token", FINE, {NV(":method", "x-!#|~9"), SCHEME, AUTHORITY, PATH}},
    {":method with space", MALFORMED, {NV(":method", "GE T"), SCHEME, AUTHORITY, PATH}},
    {":method with colon", MALFORMED, {NV(":method", "GET:"), SCHEME, AUTHORITY, PATH}},
    {":scheme of another kind", FINE, {METHOD, NV(":scheme", "a+b-c.9"), AUTHORITY, PATH}},
    {":scheme that starts with a digit", MALFORMED, {METHOD, NV(":scheme", "9p"), AUTHORITY, PATH}},
    {":scheme with colon", MALFORMED, {METHOD, NV(":scheme", "http:"), AUTHORITY, PATH}},
    {":authority with port", FINE, {METHOD, SCHEME, NV(":authority", "[::1]:80"), PATH}},
    {":authority with user", MALFORMED, {METHOD, SCHEME, NV(":authority", "u@[::1]:80"), PATH}},
    {":authority with a port of letters",
     MALFORMED,
     {METHOD, SCHEME, NV(":authority", "a:http"), PATH}},
    {":authority with a port that is none",
     MALFORMED,
     {METHOD, SCHEME, NV(":authority", "a:65536"), PATH}},
    {"host with user", MALFORMED, {METHOD, SCHEME, PATH, NV("host", "u@a")}},
    {"host with comma", MALFORMED, {METHOD, SCHEME, PATH, NV("host", "a,b")}},
    {"host of another case", FINE, {USUAL, NV("host", "LocalHost")}},
    {"host with the port of the scheme", FINE, {USUAL, NV("host", "localhost:80")}},
    {"host with the port of another scheme", MALFORMED, {USUAL, NV("host", "localhost:443")}},
    {"host other than :authority", MALFORMED, {USUAL, NV("host", "other")}},
    {":authority with slash", MALFORMED, {METHOD, SCHEME, NV(":authority", "a/b"), PATH}},
    {":authority with space", MALFORMED, {METHOD, SCHEME, NV(":authority", "a b"), PATH}},
    {"host with question mark", MALFORMED, {USUAL, NV("host", "a?b")}},

    {":path with any visible byte",
     FINE,
     {METHOD, SCHEME, AUTHORITY, NV(":path", "/none!\"#$%&'()*+,-./09:;<=>?@[\\]^_`{|}~\x80\xff")}},
    {":path with space", MALFORMED, {METHOD, SCHEME, AUTHORITY, NV(":path", "/a b")}},
    {":path with NUL", MALFORMED, {METHOD, SCHEME, AUTHORITY, NV(":path", "/a\0b")}},
    {":path with DEL", MALFORMED, {METHOD, SCHEME, AUTHORITY, NV(":path", "/\x7f")}},
    {":path without slash", MALFORMED, {METHOD, SCHEME, AUTHORITY, NV(":path", "none")}},
    {"the same over HTTPS",
     MALFORMED,
     {METHOD, NV(":scheme", "HttpS"), AUTHORITY, NV(":path", "none")}},
    {"the same over something else",
     FINE,
     {METHOD, NV(":scheme", "httpx"), AUTHORITY, NV(":path", "none")}},
    {"an asterisk", MALFORMED, {METHOD, SCHEME, AUTHORITY, NV(":path", "*")}},
    {"an asterisk for OPTIONS",
     FINE,
     {NV(":method", "OPTIONS"), SCHEME, AUTHORITY, NV(":path", "*")}},
    {"more than an asterisk for OPTIONS",
     MALFORMED,
     {NV(":method", "OPTIONS"), SCHEME, AUTHORITY, NV(":path", "*a")}},

    {"CONNECT", FINE, {NV(":method", "CONNECT"), AUTHORITY}},
    {"CONNECT without :authority", MALFORMED, {NV(":method", "CONNECT"), NV("host", "a")}},
    {"CONNECT with :scheme", MALFORMED, {NV(":method", "CONNECT"), SCHEME, AUTHORITY}},
    {"CONNECT with :path", MALFORMED, {NV(":method", "CONNECT"), AUTHORITY, PATH}},
    {"CONNECT with the length of nothing",
     FINE,
     {NV(":method", "CONNECT"), AUTHORITY, NV("content-length", "5")}},

    {"an empty name", MALFORMED, {USUAL, NV("", "y")}},
    {"a name of all that is a token", FINE, {USUAL, NV("!#$%&'*+-.^_`|~09azxyz", "y")}},
    {"a name with upper case", MALFORMED, {USUAL, NV("x-Upper", "y")}},
    {"a name with space", MALFORMED, {USUAL, NV("a b", "y")}},
    {"a name with colon", MALFORMED, {USUAL, NV("a:b", "y")}},
    {"a name with NUL", MALFORMED, {USUAL, NV("a\0b", "y")}},
    {"a name beyond ASCII", MALFORMED, {USUAL, NV("\xc3\xa9", "y")}},

    {"an empty value", FINE, {USUAL, NV("x", "")}},
    {"a value with all that it may hold", FINE, {USUAL, NV("x", "!\t \x7e\x80\xff~")}},
    {"a value with NUL", MALFORMED, {USUAL, NV("x", "a\0b")}},
    {"a value with CR", MALFORMED, {USUAL, NV("x", "a\rb")}},
    {"a value with LF", MALFORMED, {USUAL, NV("x", "a\nb")}},
    {"a value with another control byte", MALFORMED, {USUAL, NV("x", "a\x1f")}},
    {"a value with DEL", MALFORMED, {USUAL, NV("x", "a\x7f")}},
    {"a value that starts with space", MALFORMED, {USUAL, NV("x", " a")}},
    {"a value that ends with tab", MALFORMED, {USUAL, NV("x", "a\t")}},
    {"a value of space", MALFORMED, {USUAL, NV("x", " ")}},

    {"connection", MALFORMED, {USUAL, NV("connection", "close")}},
    {"keep-alive", MALFORMED, {USUAL, NV("keep-alive", "1")}},
    {"proxy-connection", MALFORMED, {USUAL, NV("proxy-connection", "x")}},
    {"transfer-encoding", MALFORMED, {USUAL, NV("transfer-encoding", "chunked")}},
    {"upgrade", MALFORMED, {USUAL, NV("upgrade", "h2c")}},
    {"te: trailers", FINE, {USUAL, NV("te", "Trailers")}},
    {"te: gzip", MALFORMED, {USUAL, NV("te", "gzip")}},
    {"te: trailers and more", MALFORMED, {USUAL, NV("te", "trailers, gzip")}},
    {"empty te", MALFORMED, {USUAL, NV("te", "")}},

    {"content-length of nothing", FINE, {USUAL, NV("content-length", "00")}},
    {"content-length of something", MALFORMED, {USUAL, NV("content-length", "1")}},
    {"two content-length",
     MALFORMED,
     {USUAL, NV("content-length", "0"), NV("content-length", "0")}},
    {"empty content-length", MALFORMED, {USUAL, NV("content-length", "")}},
    {"content-length with sign", MALFORMED, {USUAL, NV("content-length", "+0")}},
    {"content-length list", MALFORMED, {USUAL, NV("content-length", "0,0")}},
    {"content-length beyond 64 bits",
     MALFORMED,
     {USUAL, NV("content-length", "18446744073709551616")}},
};

/* A request of its own connection, twice: the second time its fields come by their indices. */
static void say_twice_and_assert(const struct message_case *c)
{
    struct peer p;
    peer_start(&p);
    size_t count = 0;
    while (count < FIELDS_CAP && c->fields[count].name != NULL)
        count++;
    for (uint32_t id = 1; id <= 3; id += 2) {
        peer_fields(&p, id, END, c->fields, count, 16384);
        peer_turn(&p);
        const struct seen *s = peer_seen(&p, id);
        bool is_refused = s->is_reset && s->rst_code == NGHTTP2_PROTOCOL_ERROR && s->status == 0;
        bool is_served = s->has_ended && s->status != 0 && !s->is_reset;
        if (c->verdict == FINE ? !is_served : !is_refused)
            fail_msg("%s, stream %u: status=%u reset=%u", c->name, id, s->status, s->rst_code);
    }
    assert_int_equal(p.requests, c->verdict == FINE ? 2 : 0);
    peer_get(&p, 5, "/none");
    peer_turn(&p);
    assert_int_equal(peer_seen(&p, 5)->status, 204);
    assert_int_equal(p.goaways, 0);
    assert_true(peer_deinit(&p));
}

static void fields_make_a_request_malformed_or_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN_OF(cases); i++)
        say_twice_and_assert(&cases[i]);
}

/* ---- bodies and trailers ---- */

#define POST_FIELDS                                                                                \
    NV(":method", "POST"), NV(":scheme", "http"), NV(":authority", "a"), NV(":path", "/late?10")

struct body_case {
    const char *name;
    enum verdict verdict;
    nghttp2_nv length;  /* a field of the request, if any */
    size_t frames[3];   /* lengths of DATA frames; 0 for none */
    nghttp2_nv trailer; /* what follows them, if anything: else the last DATA ends the stream */
    unsigned trailer_flags;
};

#define LENGTH(value) NV("content-length", value)
#define NONE                                                                                       \
    {                                                                                              \
        0                                                                                          \
    }

static const struct body_case body_cases[] = {
    {"no length", FINE, NONE, {5, 7}, NONE, 0},
    {"the length", FINE, LENGTH("12"), {5, 7}, NONE, 0},
    {"less", MALFORMED, LENGTH("13"), {5, 7}, NONE, 0},
    {"more", MALFORMED, LENGTH("11"), {5, 7}, NONE, 0},
    {"more at once", MALFORMED, LENGTH("4"), {5, 7, 9}, NONE, 0},
    {"trailers behind the length", FINE, LENGTH("5"), {5}, NV("x", "y"), END},
    {"trailers behind less", MALFORMED, LENGTH("6"), {5}, NV("x", "y"), END},
    {"trailers without an end", MALFORMED, NONE, {5}, NV("x", "y"), 0},
    {"trailers with a pseudo-header field", MALFORMED, NONE, {5}, NV(":path", "/"), END},
    {"trailers with content-length", MALFORMED, NONE, {5}, LENGTH("5"), END},
    {"trailers with host", MALFORMED, NONE, {5}, NV("host", "a"), END},
    {"trailers of a connection", MALFORMED, NONE, {5}, NV("connection", "close"), END},
    {"trailers with upper case", MALFORMED, NONE, {5}, NV("X", "y"), END},
};

static void say_body(struct peer *p, const struct body_case *c)
{
    static const uint8_t bytes[16];
    const nghttp2_nv fields[] = {POST_FIELDS, c->length};
    bool has_trailer = c->trailer.name != NULL;
    peer_fields(p, 1, 0, fields, c->length.name != NULL ? 5 : 4, 16384);
    for (size_t i = 0; i < 3 && c->frames[i] > 0; i++) {
        bool is_last = i == 2 || c->frames[i + 1] == 0;
        peer_frame(p, NGHTTP2_DATA, is_last && !has_trailer ? END : 0, 1, bytes, c->frames[i]);
    }
    if (has_trailer)
        peer_fields(p, 1, c->trailer_flags, &c->trailer, 1, 16384);
}

static void bodies_keep_to_their_length_and_trailers_to_their_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN_OF(body_cases); i++) {
        const struct body_case *c = &body_cases[i];
        struct peer p;
        peer_start(&p);
        say_body(&p, c);
        peer_turn(&p);
        const struct seen *s = peer_seen(&p, 1);
        if (s->is_reset != (c->verdict == MALFORMED) ||
            (s->is_reset && s->rst_code != NGHTTP2_PROTOCOL_ERROR))
            fail_msg("%s: reset=%d code=%u", c->name, s->is_reset, s->rst_code);
        enum weir_err err = peer_answer(&p);
        assert_int_equal(err, c->verdict == FINE ? WEIR_OK : WEIR_CLOSED);
        peer_get(&p, 3, "/none");
        peer_turn(&p);
        assert_int_equal(s->has_ended, c->verdict == FINE);
        assert_int_equal(peer_seen(&p, 3)->status, 204);
        assert_int_equal(p.goaways, 0);
        assert_true(peer_deinit(&p));
    }
}

/* A tunnel has no length (RFC 9113 8.5). */
static void the_length_of_a_tunnel_is_not_counted(void **state)
{
    (void)state;
    static const nghttp2_nv fields[] = {NV(":method", "CONNECT"), AUTHORITY, LENGTH("1")};
    struct peer p;
    peer_start(&p);
    peer_fields(&p, 1, 0, fields, 3, 16384);
    peer_frame(&p, NGHTTP2_DATA, END, 1, "more", 4);
    peer_turn(&p);

    assert_int_equal(p.requests, 1);
    assert_int_equal(peer_seen(&p, 1)->status, 404);
    assert_false(peer_seen(&p, 1)->is_reset);
    assert_true(peer_deinit(&p));
}

/* ---- the priority field ---- */

struct priority_case {
    const char *value;
    unsigned urgency; /* 9: nothing was taken */
    bool is_incremental;
};

static const struct priority_case priorities[] = {
    {"u=0", 0, false},
    {"u=7, i", 7, true},
    {"i", 3, true},
    {"i=?1,u=1", 1, true},
    {"u=1;x=2 , i=?0", 1, false},
    {"", 3, false},
    {"x, y=\"a,u=0\"", 3, false},
    {" u=5\t", 5, false},
    {"u=1,u=2", 2, false},
    {"u=8", 9, false},
    {"u=-1", 9, false},
    {"u", 9, false},
    {"u=", 9, false},
    {"i=1", 9, false},
    {"u=12", 9, false},
    {"u=1,", 9, false},
    {"u=1,,i", 9, false},
    {"\"u=1", 9, false},
    {"x=\"u\\", 9, false},
    {"U=1", 9, false},
    {"urgent=1", 3, false},
    {"incremental", 3, false},
};

static void priorities_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < LEN_OF(priorities); i++) {
        const struct priority_case *c = &priorities[i];
        struct priority p = {.urgency = PRIORITY_URGENCY_DEFAULT};
        priority_parse(&p, (struct weir_str){c->value, strlen(c->value)});
        unsigned urgency = c->urgency == 9 ? PRIORITY_URGENCY_DEFAULT : c->urgency;
        bool is_right = p.is_given && p.urgency == urgency;
        if (!is_right || p.is_incremental != c->is_incremental)
            fail_msg("%s: u=%u i=%d", c->value, p.urgency, p.is_incremental);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_make_a_request_malformed_or_not),
        cmocka_unit_test(bodies_keep_to_their_length_and_trailers_to_their_place),
        cmocka_unit_test(the_length_of_a_tunnel_is_not_counted),
        cmocka_unit_test(priorities_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
