/*
 * Raw requests and the answers that are due.
 *
 * Behind each row comes a canary, a sound request.  Where the connection goes on it must be
 * answered; where it is to be closed it must never reach the handler, however the bytes are cut.
 */
#include "cm.h"

#include "http1_peer.h"

#define CANARY "GET /canary HTTP/1.1\r\nHost: a\r\n\r\n"

enum fate { KEEP, CLOSE };

struct row {
    const char *name;
    unsigned status;
    enum fate fate;
    const char *bytes;
    size_t len;
};

#define ROW(name, status, fate, bytes)                                                             \
    {                                                                                              \
        name, status, fate, bytes, sizeof(bytes) - 1                                               \
    }

#define H "Host: a\r\n"
#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct row rows[] = {
    /* sound requests */
    ROW("plain", 200, KEEP, GET H "\r\n"),
    ROW("host with port", 200, KEEP, GET "Host: a.example:8080\r\n\r\n"),
    ROW("host with empty port", 200, KEEP, GET "Host: a:\r\n\r\n"),
    ROW("host is IPv6", 200, KEEP, GET "Host: [::1]:80\r\n\r\n"),
    ROW("host is IPv4", 200, KEEP, GET "Host: 127.0.0.1\r\n\r\n"),
    ROW("no blank behind the colon", 200, KEEP, GET "Host:a\r\n\r\n"),
    ROW("blanks around a value", 200, KEEP, GET "Host: \t a \t \r\n\r\n"),
    ROW("empty value", 200, KEEP, GET H "X:\r\n\r\n"),
    ROW("value of blanks", 200, KEEP, GET H "X: \t \r\n\r\n"),
    ROW("obs-text in a value", 200, KEEP, GET H "X: \xc3\xa4\xff\r\n\r\n"),
    ROW("every tchar in a name", 200, KEEP, GET H "!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n"),
    ROW("one empty line before", 200, KEEP, "\r\n" GET H "\r\n"),
    ROW("HEAD", 200, KEEP, "HEAD / HTTP/1.1\r\n" H "\r\n"),
    ROW("HEAD with a length", 200, KEEP, "HEAD /large?5000 HTTP/1.1\r\n" H "\r\n"),
    ROW("DELETE", 200, KEEP, "DELETE /x HTTP/1.1\r\n" H "\r\n"),
    ROW("OPTIONS of the server", 200, KEEP, "OPTIONS * HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form", 200, KEEP, "GET http://a/x HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, other case", 200, KEEP, "GET HTTP://A/x HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, default port", 200, KEEP, "GET http://a:80/x HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form without path", 200, KEEP, "GET http://a HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, only a query", 200, KEEP, "GET http://a?q HTTP/1.1\r\n" H "\r\n"),
    ROW("no content", 204, KEEP, "GET /none HTTP/1.1\r\n" H "\r\n"),
    ROW("not modified", 304, KEEP, "GET /unchanged HTTP/1.1\r\n" H "\r\n"),
    ROW("large answer", 200, KEEP, "GET /large?100000 HTTP/1.1\r\n" H "\r\n"),
    ROW("query and escapes", 200, KEEP, "GET /%41?a=b&c=%20 HTTP/1.1\r\n" H "\r\n"),

    /* persistence */
    ROW("close", 200, CLOSE, GET H "Connection: close\r\n\r\n"),
    ROW("close, other case", 200, CLOSE, GET H "Connection: CLOSE\r\n\r\n"),
    ROW("close in a list", 200, CLOSE, GET H "Connection: x, close\r\n\r\n"),
    ROW("keep-alive", 200, KEEP, GET H "Connection: keep-alive\r\n\r\n"),
    ROW("1.0", 200, CLOSE, "GET / HTTP/1.0\r\n\r\n"),
    ROW("1.0 with Host", 200, CLOSE, "GET / HTTP/1.0\r\n" H "\r\n"),
    ROW("1.0 keep-alive", 200, KEEP, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
    ROW("1.0 expecting", 200, CLOSE, "GET / HTTP/1.0\r\nExpect: x\r\n\r\n"),
    ROW("upgrade is ignored", 200, KEEP, GET H "Connection: upgrade\r\nUpgrade: x\r\n\r\n"),
    ROW("h2c upgrade is ignored", 200, KEEP,
        GET H "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
              "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"),

    /* bodies */
    ROW("length", 200, KEEP, POST "Content-Length: 5\r\n\r\nhello"),
    ROW("length 0", 200, KEEP, POST "Content-Length: 0\r\n\r\n"),
    ROW("length with zeros", 200, KEEP, POST "Content-Length: 0005\r\n\r\nhello"),
    ROW("a body that looks like a request", 200, KEEP,
        POST "Content-Length: 37\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a.b.c\r\n\r\n"),
    ROW("GET with a body", 200, KEEP, GET H "Content-Length: 5\r\n\r\nhello"),
    ROW("HEAD with a body", 200, KEEP, "HEAD / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello"),
    ROW("POST without a body", 200, KEEP, POST "\r\n"),
    ROW("upgrade with a body", 200, KEEP,
        POST "Connection: upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nhi"),
    ROW("close with a body", 200, CLOSE, POST "Connection: close\r\nContent-Length: 2\r\n\r\nhi"),
    ROW("chunked", 200, KEEP, CHUNKED "5\r\nhello\r\n0\r\n\r\n"),
    ROW("chunked, other case", 200, KEEP,
        POST "Transfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
    ROW("chunked and empty", 200, KEEP, CHUNKED "0\r\n\r\n"),
    ROW("last chunk of many zeros", 200, KEEP, CHUNKED "1\r\nx\r\n000000000000000\r\n\r\n"),
    ROW("chunk extension", 200, KEEP, CHUNKED "5;a=b\r\nhello\r\n0;c\r\n\r\n"),
    ROW("quoted chunk extension", 200, KEEP, CHUNKED "5;a=\"b c\"\r\nhello\r\n0\r\n\r\n"),
    ROW("trailers", 200, KEEP, CHUNKED "5\r\nhello\r\n0\r\nX-Sum: 1\r\nY: \r\n\r\n"),
    ROW("chunk data that looks like an end", 200, KEEP, CHUNKED "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"),
    ROW("expecting 100, body at once", 200, KEEP,
        POST "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello"),
    ROW("expecting 100, other case", 200, KEEP,
        POST "Expect: 100-Continue\r\nContent-Length: 5\r\n\r\nhello"),
    ROW("expecting something else", 417, CLOSE, GET H "Expect: 200-ok\r\n\r\n"),
    ROW("expecting nothing", 417, CLOSE, GET H "Expect:\r\n\r\n"),
    ROW("expecting twice", 417, CLOSE,
        GET H "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n"),
    ROW("a body that is too long", 413, CLOSE, POST "Content-Length: 1048577\r\n\r\n"),
    ROW("a chunk that is too long", 413, CLOSE, CHUNKED "100001\r\n"),
    ROW("a chunk that is too long by far", 413, CLOSE, CHUNKED "fffffffffffffff\r\n"),

    /* F1: length and coding */
    ROW("length and chunked", 400, CLOSE,
        POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked and length", 400, CLOSE,
        POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),

    /* F2: lengths */
    ROW("same length twice", 400, CLOSE, POST "Content-Length: 0\r\nContent-Length: 0\r\n\r\n"),
    ROW("two lengths", 400, CLOSE, POST "Content-Length: 0\r\nContent-Length: 5\r\n\r\n"),
    ROW("length list", 400, CLOSE, POST "Content-Length: 5, 5\r\n\r\nhello"),
    ROW("length list, no blank", 400, CLOSE, POST "Content-Length: 0,0\r\n\r\n"),
    ROW("length +", 400, CLOSE, POST "Content-Length: +5\r\n\r\nhello"),
    ROW("length -", 400, CLOSE, POST "Content-Length: -5\r\n\r\nhello"),
    ROW("length hex", 400, CLOSE, POST "Content-Length: 0x5\r\n\r\nhello"),
    ROW("length with letters", 400, CLOSE, POST "Content-Length: 5a\r\n\r\nhello"),
    ROW("length with a blank", 400, CLOSE, POST "Content-Length: 5 5\r\n\r\nhello"),
    ROW("length with a point", 400, CLOSE, POST "Content-Length: 5.0\r\n\r\nhello"),
    ROW("length quoted", 400, CLOSE, POST "Content-Length: \"5\"\r\n\r\nhello"),
    ROW("length empty", 400, CLOSE, POST "Content-Length:\r\n\r\n"),
    ROW("length blank", 400, CLOSE, POST "Content-Length: \r\n\r\n"),
    ROW("length of 2^64", 400, CLOSE, POST "Content-Length: 18446744073709551616\r\n\r\n"),
    ROW("length of 2^64 + 5", 400, CLOSE, POST "Content-Length: 18446744073709551621\r\n\r\nhello"),
    ROW("length with VT", 400, CLOSE, POST "Content-Length: \v5\r\n\r\nhello"),

    /* F3: codings */
    ROW("identity", 501, CLOSE, POST "Transfer-Encoding: identity\r\n\r\n"),
    ROW("gzip", 501, CLOSE, POST "Transfer-Encoding: gzip\r\n\r\n"),
    ROW("gzip, chunked", 501, CLOSE, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked, chunked", 400, CLOSE, POST "Transfer-Encoding: chunked, chunked\r\n\r\n"),
    ROW("xchunked", 501, CLOSE, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    ROW("chunkedx", 501, CLOSE, POST "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n"),
    ROW("chunked with a comma", 501, CLOSE, POST "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked with a parameter", 501, CLOSE, POST "Transfer-Encoding: chunked;q=1\r\n\r\n"),
    ROW("chunked quoted", 501, CLOSE, POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
    ROW("identity and chunked", 400, CLOSE,
        POST "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked twice", 400, CLOSE,
        POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked with VT", 400, CLOSE, POST "Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n"),
    ROW("folded chunked", 400, CLOSE, POST "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked, then a fold", 400, CLOSE, POST "Transfer-Encoding: chunked\r\n ,x\r\n\r\n"),
    ROW("chunked with a blank in the name", 400, CLOSE,
        POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    ROW("chunked in 1.0", 400, CLOSE,
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("empty coding", 501, CLOSE, POST "Transfer-Encoding:\r\n\r\n"),

    /* F4, F5: blanks where none may be */
    ROW("SP before the colon", 400, CLOSE, GET H "X : y\r\n\r\n"),
    ROW("HTAB before the colon", 400, CLOSE, GET H "X\t: y\r\n\r\n"),
    ROW("SP inside a name", 400, CLOSE, GET H "X Y: z\r\n\r\n"),
    ROW("fold with SP", 400, CLOSE, GET H "X: y\r\n z\r\n\r\n"),
    ROW("fold with HTAB", 400, CLOSE, GET H "X: y\r\n\tz\r\n\r\n"),
    ROW("fold of nothing", 400, CLOSE, GET H "X: y\r\n \r\n\r\n"),
    ROW("SP before the first field", 400, CLOSE, GET " " H "\r\n"),
    ROW("folded length", 400, CLOSE, POST " Content-Length: 0\r\n\r\n"),

    /* F6: line ends and control characters */
    ROW("LF behind the request line", 400, CLOSE, "GET / HTTP/1.1\n" H "\r\n"),
    ROW("LF behind a field", 400, CLOSE, GET "Host: a\nX: y\r\n\r\n"),
    ROW("LF at the end", 400, CLOSE, GET H "\n"),
    ROW("LF everywhere", 400, CLOSE, "GET / HTTP/1.1\nHost: a\n\n"),
    ROW("CR in a value", 400, CLOSE, GET H "X: a\rb\r\n\r\n"),
    ROW("CR CR LF", 400, CLOSE, GET H "X: a\r\r\n\r\n"),
    ROW("CR in a name", 400, CLOSE, GET H "X\rY: a\r\n\r\n"),
    ROW("CR LF CR X", 400, CLOSE, GET H "\rX"),
    ROW("CR in the target", 400, CLOSE, "GET /\rx HTTP/1.1\r\n" H "\r\n"),
    ROW("NUL in a value", 400, CLOSE, GET H "X: a\0b\r\n\r\n"),
    ROW("NUL in a name", 400, CLOSE, GET H "X\0: a\r\n\r\n"),
    ROW("NUL in the target", 400, CLOSE, "GET /\0 HTTP/1.1\r\n" H "\r\n"),
    ROW("NUL in the method", 400, CLOSE, "G\0T / HTTP/1.1\r\n" H "\r\n"),
    ROW("ESC in a value", 400, CLOSE, GET H "X: \x1b[0m\r\n\r\n"),
    ROW("DEL in a value", 400, CLOSE, GET H "X: \x7f\r\n\r\n"),
    ROW("VT in a value", 400, CLOSE, GET H "X: a\vb\r\n\r\n"),
    ROW("empty name", 400, CLOSE, GET H ": a\r\n\r\n"),
    ROW("no colon", 400, CLOSE, GET H "X\r\n\r\n"),
    ROW("obs-text in a name", 400, CLOSE, GET H "\xc3\xa4: x\r\n\r\n"),
    ROW("bracket in a name", 400, CLOSE, GET H "X(y): x\r\n\r\n"),

    /* F7: chunks */
    ROW("chunk: LF behind the size", 400, CLOSE, CHUNKED "5\nhello\r\n0\r\n\r\n"),
    ROW("chunk: LF behind the data", 400, CLOSE, CHUNKED "5\r\nhello\n0\r\n\r\n"),
    ROW("chunk: nothing behind the data", 400, CLOSE, CHUNKED "5\r\nhello0\r\n\r\n"),
    ROW("chunk: two bytes behind the data", 400, CLOSE, CHUNKED "5\r\nhelloXX0\r\n\r\n"),
    ROW("chunk: CR X behind the data", 400, CLOSE, CHUNKED "5\r\nhello\rX0\r\n\r\n"),
    ROW("chunk: CR X behind the size", 400, CLOSE, CHUNKED "5\rXhello\r\n0\r\n\r\n"),
    ROW("chunk: 0x", 400, CLOSE, CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: _", 400, CLOSE, CHUNKED "0_5\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: +", 400, CLOSE, CHUNKED "+5\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: -", 400, CLOSE, CHUNKED "-5\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: SP before the size", 400, CLOSE, CHUNKED " 5\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: SP behind the size", 400, CLOSE, CHUNKED "5 \r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: SP before the extension", 400, CLOSE, CHUNKED "5 ;a\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: no size", 400, CLOSE, CHUNKED "\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: no size but an extension", 400, CLOSE, CHUNKED ";a\r\n\r\n"),
    ROW("chunk: 16 digits", 400, CLOSE, CHUNKED "0000000000000005\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: overflow", 400, CLOSE, CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: LF in an extension", 400, CLOSE, CHUNKED "5;a\nb\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: CR in an extension", 400, CLOSE, CHUNKED "5;a\rb\r\nhello\r\n0\r\n\r\n"),
    ROW("chunk: NUL in an extension", 400, CLOSE, CHUNKED "5;a\0\r\nhello\r\n0\r\n\r\n"),
    ROW("trailer: LF", 400, CLOSE, CHUNKED "0\r\nX: y\n\r\n"),
    ROW("trailer: LF at the end", 400, CLOSE, CHUNKED "0\r\n\n"),
    ROW("trailer: fold", 400, CLOSE, CHUNKED "0\r\nX: y\r\n z\r\n\r\n"),
    ROW("trailer: blank before the colon", 400, CLOSE, CHUNKED "0\r\nX : y\r\n\r\n"),
    ROW("trailer: empty name", 400, CLOSE, CHUNKED "0\r\n: y\r\n\r\n"),
    ROW("trailer: NUL", 400, CLOSE, CHUNKED "0\r\nX: \0\r\n\r\n"),
    ROW("trailer: content-length", 400, CLOSE, CHUNKED "0\r\nContent-Length: 5\r\n\r\n"),
    ROW("trailer: transfer-encoding", 400, CLOSE,
        CHUNKED "0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    ROW("trailer: host", 400, CLOSE, CHUNKED "0\r\nHost: b\r\n\r\n"),
    ROW("trailer: CR X", 400, CLOSE, CHUNKED "0\r\n\rX"),

    /* F9: targets and hosts */
    ROW("no host", 400, CLOSE, GET "\r\n"),
    ROW("two hosts", 400, CLOSE, GET H "Host: b\r\n\r\n"),
    ROW("same host twice", 400, CLOSE, GET H H "\r\n"),
    ROW("two hosts in 1.0", 400, CLOSE, "GET / HTTP/1.0\r\n" H H "\r\n"),
    ROW("empty host", 400, CLOSE, GET "Host:\r\n\r\n"),
    ROW("host with a slash", 400, CLOSE, GET "Host: a/b\r\n\r\n"),
    ROW("host with userinfo", 400, CLOSE, GET "Host: u@a\r\n\r\n"),
    ROW("host with a blank", 400, CLOSE, GET "Host: a b\r\n\r\n"),
    ROW("host list", 400, CLOSE, GET "Host: a,b\r\n\r\n"),
    ROW("host with a bad port", 400, CLOSE, GET "Host: a:8x\r\n\r\n"),
    ROW("host with a large port", 400, CLOSE, GET "Host: a:65536\r\n\r\n"),
    ROW("host with a bad escape", 400, CLOSE, GET "Host: a%zz\r\n\r\n"),
    ROW("host of a port alone", 400, CLOSE, GET "Host: :80\r\n\r\n"),
    ROW("host with an open bracket", 400, CLOSE, GET "Host: [::1\r\n\r\n"),
    ROW("host with text behind brackets", 400, CLOSE, GET "Host: [::1]a\r\n\r\n"),
    ROW("host with obs-text", 400, CLOSE, GET "Host: \xc3\xa4\r\n\r\n"),
    ROW("absolute-form, other host", 400, CLOSE, "GET http://b/ HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, other port", 400, CLOSE, "GET http://a:81/ HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, no host", 400, CLOSE, "GET http://a/ HTTP/1.1\r\n\r\n"),
    ROW("absolute-form, userinfo", 400, CLOSE, "GET http://u@a/ HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, empty authority", 400, CLOSE, "GET http:///x HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, https without TLS", 421, CLOSE, "GET https://a/ HTTP/1.1\r\n" H "\r\n"),
    ROW("absolute-form, other scheme", 400, CLOSE, "GET ftp://a/ HTTP/1.1\r\n" H "\r\n"),
    ROW("target without a slash", 400, CLOSE, "GET x HTTP/1.1\r\n" H "\r\n"),
    ROW("asterisk for GET", 400, CLOSE, "GET * HTTP/1.1\r\n" H "\r\n"),

    /* F11 to F13: request lines */
    ROW("two empty lines before", 400, CLOSE, "\r\n\r\n" GET H "\r\n"),
    ROW("LF before", 400, CLOSE, "\n" GET H "\r\n"),
    ROW("SP before", 400, CLOSE, " " GET H "\r\n"),
    ROW("version 1.2", 505, CLOSE, "GET / HTTP/1.2\r\n" H "\r\n"),
    ROW("version 2.0", 505, CLOSE, "GET / HTTP/2.0\r\n" H "\r\n"),
    ROW("version 0.9", 505, CLOSE, "GET / HTTP/0.9\r\n" H "\r\n"),
    ROW("version 3.1", 505, CLOSE, "GET / HTTP/3.1\r\n" H "\r\n"),
    ROW("the preface of h2", 505, CLOSE, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ROW("lower case version", 400, CLOSE, "GET / http/1.1\r\n" H "\r\n"),
    ROW("version 1.10", 400, CLOSE, "GET / HTTP/1.10\r\n" H "\r\n"),
    ROW("version 1", 400, CLOSE, "GET / HTTP/1\r\n" H "\r\n"),
    ROW("version 01.1", 400, CLOSE, "GET / HTTP/01.1\r\n" H "\r\n"),
    ROW("no version", 400, CLOSE, "GET /\r\n" H "\r\n"),
    ROW("other protocol", 400, CLOSE, "GET / ICE/1.0\r\n" H "\r\n"),
    ROW("SP behind the version", 400, CLOSE, "GET / HTTP/1.1 \r\n" H "\r\n"),
    ROW("two SP behind the method", 400, CLOSE, "GET  / HTTP/1.1\r\n" H "\r\n"),
    ROW("two SP before the version", 400, CLOSE, "GET /  HTTP/1.1\r\n" H "\r\n"),
    ROW("SP in the target", 400, CLOSE, "GET /a b HTTP/1.1\r\n" H "\r\n"),
    ROW("HTAB behind the method", 400, CLOSE, "GET\t/ HTTP/1.1\r\n" H "\r\n"),
    ROW("HTAB before the version", 400, CLOSE, "GET /\tHTTP/1.1\r\n" H "\r\n"),
    ROW("fragment", 400, CLOSE, "GET /a#b HTTP/1.1\r\n" H "\r\n"),
    ROW("ESC in the target", 400, CLOSE, "GET /\x1b HTTP/1.1\r\n" H "\r\n"),
    ROW("obs-text in the target", 400, CLOSE, "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n"),
    ROW("no target", 400, CLOSE, "GET HTTP/1.1\r\n" H "\r\n"),
    ROW("bracket in the method", 400, CLOSE, "GE(T / HTTP/1.1\r\n" H "\r\n"),
    ROW("unknown method", 501, CLOSE, "BREW / HTTP/1.1\r\n" H "\r\n"),
    ROW("lower case method", 501, CLOSE, "get / HTTP/1.1\r\n" H "\r\n"),
    ROW("method of RTSP", 501, CLOSE, "DESCRIBE / HTTP/1.1\r\n" H "\r\n"),
    ROW("long method", 501, CLOSE, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n" H "\r\n"),
    ROW("CONNECT", 501, CLOSE, "CONNECT a:80 HTTP/1.1\r\n" H "\r\n"),
    ROW("bytes of TLS", 400, CLOSE, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),

    /* responses that cannot be sent */
    ROW("a body that fails at once", 500, KEEP, "GET /cut?1 HTTP/1.1\r\n" H "\r\n"),
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Where a row is cut: one feed per piece; with or without a pull behind each. */
struct cut {
    size_t first; /* bytes of the first piece; 0: all in one */
    size_t step;  /* bytes of each later piece; 0: all the rest */
    bool pulls;
};

static void run(struct peer *p, const char *bytes, size_t len, struct cut cut)
{
    assert_int_equal(peer_init(p), WEIR_OK);
    size_t piece = cut.first > 0 && cut.first < len ? cut.first : len;
    while (len > 0) {
        peer_feed_once(p, bytes, piece);
        if (cut.pulls)
            peer_pull(p);
        bytes += piece;
        len -= piece;
        piece = cut.step > 0 && cut.step < len ? cut.step : len;
    }
    peer_pull(p);
}

/* What must hold however the bytes were cut. */
static void check_fate(const struct row *row, const struct peer *p)
{
    if (p->saw_canary != (row->fate == KEEP) ||
        p->pulled != (row->fate == KEEP ? WEIR_OK : WEIR_CLOSED))
        fail_msg("%s: canary %d, pull %s\n%s", row->name, p->saw_canary, weir_err_name(p->pulled),
                 p->out);
}

static void check_answers(const struct row *row, const struct peer *p)
{
    size_t at = 0;
    struct answer a = {0};
    if (!peer_answer_next(p, &at, &a))
        fail_msg("%s: no answer", row->name);
    if (a.status != row->status || a.says_close != (row->fate == CLOSE) || !a.is_whole)
        fail_msg("%s: %u is due\n%s", row->name, row->status, p->out);
    bool has_second = peer_answer_next(p, &at, &a);
    if (has_second != (row->fate == KEEP))
        fail_msg("%s: what follows\n%s", row->name, p->out);
    if (has_second)
        assert_memory_equal(a.body, "GET a /canary\n", 14);
    assert_int_equal(at, p->out_len);
}

/* The row and its canary in one run of bytes. */
static char *row_bytes(const struct row *row, size_t *len)
{
    *len = row->len + sizeof(CANARY) - 1;
    char *bytes = malloc(*len);
    assert_non_null(bytes);
    memcpy(bytes, row->bytes, row->len);
    memcpy(bytes + row->len, CANARY, sizeof(CANARY) - 1);
    return bytes;
}

static void every_row_gets_its_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        size_t len;
        char *bytes = row_bytes(&rows[i], &len);
        struct peer p;

        run(&p, bytes, len, (struct cut){0});

        check_fate(&rows[i], &p);
        check_answers(&rows[i], &p);
        assert_true(peer_deinit(&p));
        free(bytes);
    }
}

static void a_cut_at_any_byte_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        size_t len;
        char *bytes = row_bytes(&rows[i], &len);
        struct peer whole;
        run(&whole, bytes, len, (struct cut){0});
        for (size_t at = 1; at < len; at++) {
            struct peer p;

            run(&p, bytes, len, (struct cut){.first = at});

            check_fate(&rows[i], &p);
            if (p.out_len != whole.out_len || memcmp(p.out, whole.out, p.out_len) != 0)
                fail_msg("%s: cut at %zu\n%s", rows[i].name, at, p.out);
            assert_true(peer_deinit(&p));
        }
        assert_true(peer_deinit(&whole));
        free(bytes);
    }
}

/* With answers under way the client may get one that a later error can no longer replace. */
static void byte_by_byte_the_canary_meets_the_same_fate(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        size_t len;
        char *bytes = row_bytes(&rows[i], &len);
        /* The answer says close, since the body was not there when it was written. */
        bool is_expecting = strstr(rows[i].name, "expecting 100") != NULL;
        for (int pulls = 0; pulls < 2; pulls++) {
            struct peer p;

            run(&p, bytes, len, (struct cut){.first = 1, .step = 1, .pulls = pulls == 1});

            if (pulls == 0 || !is_expecting)
                check_fate(&rows[i], &p);
            else
                assert_false(p.saw_canary);
            assert_true(peer_deinit(&p));
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_gets_its_answer),
        cmocka_unit_test(a_cut_at_any_byte_changes_nothing),
        cmocka_unit_test(byte_by_byte_the_canary_meets_the_same_fate),
    };
    printf("http1_table: %zu rows\n", ROWS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
