/*
 * Where llhttp is driven: its callbacks, and the checks of a request that need all its fields
 * (RFC 9112 3.2, 6.1, 6.3, RFC 9110 10.1.1).
 *
 * The parser is given a head that the scan has found whole and sound, so each name and value comes
 * in one piece.  What it says about framing is believed only where the scan, or the guard of the
 * body, says the same.
 */
#include <strings.h>

#include "authority.h"
#include "internal/assert.h"
#include "internal/limits.h"
#include "http1_session.h"
#include "target.h"

/* ---- callbacks ---- */

static struct http1_exchange *parsing(llhttp_t *parser)
{
    return container_of(parser, struct http1, parser)->parsing;
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct http1_exchange *x = parsing(parser);
    x->request.path = (struct weir_str){at, len};
    return 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    struct http1_exchange *x = parsing(parser);
    if (x == NULL)
        return 0; /* a trailer: the guard has seen it, and nobody wants it */
    if (x->request.field_count == x->field_cap)
        return -1; /* the scan counted fewer: they disagree */
    x->fields[x->request.field_count++] = (struct weir_field){.name = {at, len}};
    return 0;
}

static int on_header_value(llhttp_t *parser, const char *at, size_t len)
{
    struct http1_exchange *x = parsing(parser);
    if (x == NULL)
        return 0;
    if (x->request.field_count == 0)
        return -1;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    x->fields[x->request.field_count - 1].value = (struct weir_str){at, len};
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct http1 *h = container_of(parser, struct http1, parser);
    h->persistent = llhttp_should_keep_alive(parser) != 0;
    h->parsing = NULL; /* fields from here on are trailers */
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    container_of(parser, struct http1, parser)->parser_complete = true;
    return HPE_PAUSED; /* so that it does not begin another message by itself */
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_message_complete = on_message_complete,
};

/* True if the parser took all bytes, and sees the message end behind them or not, as `is_end`. */
static bool parser_agrees(struct http1 *h, const char *bytes, size_t len, bool is_end)
{
    llhttp_errno_t err = llhttp_execute(&h->parser, bytes, len);
    if (!is_end)
        return err == HPE_OK && !h->parser_complete;
    return err == HPE_PAUSED && h->parser_complete &&
           llhttp_get_error_pos(&h->parser) == bytes + len;
}

/* ---- checks ---- */

static bool str_is(struct weir_str s, struct weir_str lower)
{
    return s.len == lower.len && strncasecmp(s.ptr, lower.ptr, s.len) == 0;
}

/* The fields that say how to read a request. */
struct framing {
    size_t hosts;
    struct weir_str host;
    size_t lengths;
    struct weir_str length;
    size_t codings;
    struct weir_str coding;
    size_t expectations;
    struct weir_str expectation;
};

static void framing_collect(struct framing *f, const struct weir_request *r)
{
    for (size_t i = 0; i < r->field_count; i++) {
        struct weir_str name = r->fields[i].name;
        struct weir_str value = r->fields[i].value;
        if (weir_str_eq(name, WEIR_STR("host"))) {
            f->hosts++;
            f->host = value;
        } else if (weir_str_eq(name, WEIR_STR("content-length"))) {
            f->lengths++;
            f->length = value;
        } else if (weir_str_eq(name, WEIR_STR("transfer-encoding"))) {
            f->codings++;
            f->coding = value;
        } else if (weir_str_eq(name, WEIR_STR("expect"))) {
            f->expectations++;
            f->expectation = value;
        }
    }
}

/* 1*DIGIT below 10^18, which fits whatever it is counted in. */
static bool length_parse(struct weir_str s, uint64_t *out)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(s.ptr[i] - '0');
    }
    *out = n;
    return s.len > 0 && s.len <= 18;
}

/* RFC 9112 6.1, 6.3: what frames the body.  Gives 0 or a status. */
static unsigned framing_check(const struct framing *f, bool is_http10, struct http1_body *body)
{
    if (f->codings > 0) {
        if (f->lengths > 0 || f->codings > 1 || is_http10)
            return 400;
        body->is_chunked = true;
        return str_is(f->coding, WEIR_STR("chunked")) ? 0 : 501;
    }
    if (f->lengths == 0)
        return 0;
    if (f->lengths > 1 || !length_parse(f->length, &body->left))
        return 400;
    return body->left > LIMIT_BODY_BYTES ? 413 : 0;
}

/* RFC 9110 10.1.1; an HTTP/1.0 client cannot expect anything. */
static unsigned expect_check(const struct framing *f, struct http1_exchange *x)
{
    if (f->expectations == 0 || x->is_http10)
        return 0;
    if (f->expectations > 1 || !str_is(f->expectation, WEIR_STR("100-continue")))
        return 417;
    x->expects_continue = true;
    return 0;
}

/* RFC 9112 3.2: exactly one Host; HTTP/1.0 may come without. */
static unsigned host_check(const struct framing *f, bool is_http10)
{
    if (f->hosts == 0)
        return is_http10 ? 0 : 400;
    return f->hosts == 1 && authority_is_valid(f->host) ? 0 : 400;
}

static unsigned request_check(struct http1 *h, struct http1_exchange *x)
{
    struct framing f = {0};
    framing_collect(&f, &x->request);
    h->body = (struct http1_body){0};
    unsigned status = host_check(&f, x->is_http10);
    if (status == 0)
        status = framing_check(&f, x->is_http10, &h->body);
    if (status == 0 && weir_str_eq(x->request.method, WEIR_STR("CONNECT")))
        status = 501; /* no tunnels */
    if (status == 0)
        status = target_parse(&x->request, x->request.path, f.host, h->host->is_tls);
    if (status == 0)
        status = expect_check(&f, x);
    return status;
}

/* ---- heads and bodies ---- */

/* The scan vouches for the rest of the request line: it is the method that the parser minds. */
static unsigned parser_status(const struct http1 *h)
{
    switch (llhttp_get_errno(&h->parser)) {
    case HPE_INVALID_METHOD:
    case HPE_INVALID_CONSTANT: return 501;
    default: return 400;
    }
}

unsigned http1_parse_head(struct http1 *h, struct http1_exchange *x, uint8_t *bytes)
{
    const struct head_scan *scan = &h->scan;
    const char *line = (const char *)bytes + scan->start;
    x->request.method = (struct weir_str){line, scan->method_len};
    x->is_head = weir_str_eq(x->request.method, WEIR_STR("HEAD"));

    llhttp_init(&h->parser, HTTP_REQUEST, &settings);
    h->parsing = x;
    h->parser_complete = false;
    llhttp_errno_t err = llhttp_execute(&h->parser, line, scan->pos - scan->start);
    bool is_read = h->parsing == NULL; /* on_headers_complete was called */
    h->parsing = NULL;
    if (!is_read)
        return parser_status(h);
    if (x->request.field_count != scan->fields)
        return 400;
    x->is_http10 = llhttp_get_http_minor(&h->parser) == 0;

    /* Our checks first: their answers are more to the point than the parser's. */
    unsigned status = request_check(h, x);
    if (status != 0)
        return status;
    bool has_body = h->body.is_chunked || h->body.left > 0;
    bool agrees =
        has_body ? err == HPE_OK && !h->parser_complete : err == HPE_PAUSED && h->parser_complete;
    return agrees ? 0 : 400;
}

bool http1_parse_body(struct http1 *h, const uint8_t *bytes, size_t len, bool is_end)
{
    return parser_agrees(h, (const char *)bytes, len, is_end);
}
