/*
 * See head_write.h.  A head is put together on the stack and copied once, behind what was copied
 * into the gather list before.
 */
#include "head_write.h"

#include <stdint.h>
#include <string.h>

#include "clock.h"
#include "head_scan.h"
#include "internal/assert.h"

/* status, reason phrase; the frequent ones first */
#define STATUS_MAP(X)                                                                              \
    X(200, "OK")                                                                                   \
    X(304, "Not Modified")                                                                         \
    X(206, "Partial Content")                                                                      \
    X(404, "Not Found")                                                                            \
    X(301, "Moved Permanently")                                                                    \
    X(400, "Bad Request")                                                                          \
    X(405, "Method Not Allowed")                                                                   \
    X(416, "Range Not Satisfiable")                                                                \
    X(201, "Created")                                                                              \
    X(202, "Accepted")                                                                             \
    X(203, "Non-Authoritative Information")                                                        \
    X(204, "No Content")                                                                           \
    X(205, "Reset Content")                                                                        \
    X(300, "Multiple Choices")                                                                     \
    X(302, "Found")                                                                                \
    X(303, "See Other")                                                                            \
    X(307, "Temporary Redirect")                                                                   \
    X(308, "Permanent Redirect")                                                                   \
    X(401, "Unauthorized")                                                                         \
    X(403, "Forbidden")                                                                            \
    X(406, "Not Acceptable")                                                                       \
    X(408, "Request Timeout")                                                                      \
    X(409, "Conflict")                                                                             \
    X(410, "Gone")                                                                                 \
    X(411, "Length Required")                                                                      \
    X(412, "Precondition Failed")                                                                  \
    X(413, "Content Too Large")                                                                    \
    X(414, "URI Too Long")                                                                         \
    X(415, "Unsupported Media Type")                                                               \
    X(417, "Expectation Failed")                                                                   \
    X(421, "Misdirected Request")                                                                  \
    X(422, "Unprocessable Content")                                                                \
    X(425, "Too Early")                                                                            \
    X(426, "Upgrade Required")                                                                     \
    X(428, "Precondition Required")                                                                \
    X(429, "Too Many Requests")                                                                    \
    X(431, "Request Header Fields Too Large")                                                      \
    X(500, "Internal Server Error")                                                                \
    X(501, "Not Implemented")                                                                      \
    X(502, "Bad Gateway")                                                                          \
    X(503, "Service Unavailable")                                                                  \
    X(504, "Gateway Timeout")                                                                      \
    X(505, "HTTP Version Not Supported")                                                           \
    X(507, "Insufficient Storage")

struct status {
    unsigned code;
    struct weir_str line; /* "HTTP/1.1 200 OK\r\n" */
    struct weir_str text; /* "200 OK\n" */
};

static const struct status statuses[] = {
#define STATUS_ENTRY(code, reason)                                                                 \
    {code, WEIR_STR_INIT("HTTP/1.1 " #code " " reason "\r\n"),                                     \
     WEIR_STR_INIT(#code " " reason "\n")},
    STATUS_MAP(STATUS_ENTRY)
#undef STATUS_ENTRY
};

static const struct status *status_find(unsigned code)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i].code == code)
            return &statuses[i];
    }
    return NULL;
}

struct weir_str status_text(unsigned code)
{
    const struct status *status = status_find(code);
    return status != NULL ? status->text : WEIR_STR("Error\n");
}

bool status_has_content(unsigned status)
{
    return status >= 200 && status != 204 && status != 304;
}

/* ---- what a handler may say ---- */

static bool text_is_clean(struct weir_str s)
{
    return head_text_len((const uint8_t *)s.ptr, s.len) == s.len;
}

static bool name_is_clean(struct weir_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!head_is_tchar((uint8_t)s.ptr[i]))
            return false;
    }
    return s.len > 0;
}

/* Fields of the connection, not of the response (RFC 9110 7.6.1): they are ours. */
static bool name_is_ours(struct weir_str s)
{
    switch (s.len) {
    case 7: return weir_str_eq(s, WEIR_STR("upgrade"));
    case 10:
        return weir_str_eq(s, WEIR_STR("connection")) || weir_str_eq(s, WEIR_STR("keep-alive"));
    case 16: return weir_str_eq(s, WEIR_STR("proxy-connection"));
    case 17: return weir_str_eq(s, WEIR_STR("transfer-encoding"));
    default: return false;
    }
}

static bool name_is_length(struct weir_str s)
{
    return weir_str_eq(s, WEIR_STR("content-length"));
}

static bool length_is(struct weir_str value, uint64_t len)
{
    uint64_t n = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < '0' || value.ptr[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(value.ptr[i] - '0');
    }
    return value.len > 0 && value.len < 20 && n == len;
}

bool response_is_sound(const struct weir_response *resp, bool is_head)
{
    if (resp->status < 200 || resp->status > 599)
        return false;
    if (resp->body_len > 0 && (resp->source == NULL || resp->source->read == NULL))
        return false;
    bool has_content = status_has_content(resp->status) && !is_head;
    size_t lengths = 0;
    for (size_t i = 0; i < resp->field_count; i++) {
        const struct weir_field *f = &resp->fields[i];
        if (!name_is_clean(f->name) || !text_is_clean(f->value) || name_is_ours(f->name))
            return false;
        if (!name_is_length(f->name))
            continue;
        if (++lengths > 1 || (has_content && !length_is(f->value, resp->body_len)))
            return false;
    }
    return true;
}

/* ---- writing ---- */

#define WRITER_CAP 2048 /* bytes; the usual head has 200 to 400 */

struct writer {
    struct weir_gather *out;
    enum weir_err err; /* the first failure */
    size_t len;
    char bytes[WRITER_CAP];
};

static void writer_flush(struct writer *w)
{
    if (w->err == WEIR_OK)
        w->err = weir_gather_append_copy(w->out, w->bytes, w->len);
    w->len = 0;
}

static void write_bytes(struct writer *w, const char *bytes, size_t len)
{
    while (len > WRITER_CAP - w->len) {
        size_t part = WRITER_CAP - w->len;
        memcpy(w->bytes + w->len, bytes, part);
        w->len += part;
        bytes += part;
        len -= part;
        writer_flush(w);
    }
    if (len > 0)
        memcpy(w->bytes + w->len, bytes, len);
    w->len += len;
}

static void write_str(struct writer *w, struct weir_str s)
{
    write_bytes(w, s.ptr, s.len);
}

static void write_number(struct writer *w, uint64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    write_bytes(w, digits + at, sizeof(digits) - at);
}

static void write_status_line(struct writer *w, unsigned code)
{
    const struct status *status = status_find(code);
    if (status != NULL) {
        write_str(w, status->line);
        return;
    }
    write_str(w, WEIR_STR("HTTP/1.1 "));
    write_number(w, code);
    write_str(w, WEIR_STR(" \r\n")); /* RFC 9112 4: the space stays when there is no phrase */
}

/* The handler's fields.  True if there was a content-length among them. */
static bool write_fields(struct writer *w, const struct weir_response *resp)
{
    bool has_length = false;
    for (size_t i = 0; i < resp->field_count; i++) {
        const struct weir_field *f = &resp->fields[i];
        if (name_is_length(f->name)) {
            if (resp->status == 204)
                continue; /* RFC 9110 8.6 */
            has_length = true;
        }
        write_str(w, f->name);
        write_bytes(w, ": ", 2);
        write_str(w, f->value);
        write_bytes(w, "\r\n", 2);
    }
    return has_length;
}

/* What frames the content, unless a field of the handler's has said it already. */
static void write_framing(struct writer *w, const struct weir_response *resp,
                          const struct head_context *context)
{
    if (context->is_chunked) {
        write_str(w, WEIR_STR("transfer-encoding: chunked\r\n"));
        return;
    }
    /* The length that GET would give is not known when HEAD comes with neither field nor body. */
    bool knows_length =
        resp->body_len != WEIR_LENGTH_UNKNOWN && (!context->is_head || resp->body_len > 0);
    if (!knows_length || !status_has_content(resp->status))
        return;
    write_str(w, WEIR_STR("content-length: "));
    write_number(w, resp->body_len);
    write_bytes(w, "\r\n", 2);
}

enum weir_err head_write(struct weir_gather *out, const struct weir_response *resp,
                         const struct head_context *context)
{
    struct writer w;
    w.out = out;
    w.err = WEIR_OK;
    w.len = 0;
    write_status_line(&w, resp->status);
    if (!write_fields(&w, resp))
        write_framing(&w, resp, context);
    write_str(&w, WEIR_STR("date: "));
    write_bytes(&w, context->date, CLOCK_DATE_LEN);
    switch (context->connection) {
    case CONNECTION_UNSAID: write_str(&w, WEIR_STR("\r\n\r\n")); break;
    case CONNECTION_KEEP_ALIVE:
        write_str(&w, WEIR_STR("\r\nconnection: keep-alive\r\n\r\n"));
        break;
    case CONNECTION_CLOSE: write_str(&w, WEIR_STR("\r\nconnection: close\r\n\r\n")); break;
    }
    writer_flush(&w);
    return w.err;
}
