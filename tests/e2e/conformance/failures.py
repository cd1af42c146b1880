"""Methods, failures and their bodies (RFC 9110 9, 15; RFC 9457), and the field `server`."""

import re

from .row import absent, of_site, page, problem, row
from .sites import TEN

ALLOW = "GET, HEAD, OPTIONS"


def refused(method):
    return row(f"{method} is not allowed", "/a.txt", {}, 405,
               {"allow": ALLOW, "cache-control": "no-store"}, page(405, "Method Not Allowed"),
               method=method)


def report(title, accept, target="/none.txt", status=404, name="Not Found", method="GET"):
    return row(title, target, {"accept": accept}, status, {"cache-control": "no-store"},
               problem(status, name), method=method)


def paged(title, accept):
    return row(title, "/none.txt", {"accept": accept}, 404, {"cache-control": "no-store"},
               page(404, "Not Found"))


MAIN = [
    # ---- methods ----
    refused("POST"), refused("PUT"), refused("DELETE"), refused("PATCH"), refused("PROPFIND"),
    row("POST to what is missing", "/none.txt", {}, 405, {"allow": ALLOW}, method="POST"),
    row("OPTIONS", "/a.txt", {}, 204, {"allow": ALLOW, "content-length": absent}, b"",
        method="OPTIONS"),
    row("OPTIONS of the server", "*", {}, 204, {"allow": ALLOW}, b"", method="OPTIONS"),
    row("OPTIONS of a directory", "/dir", {}, 204, {"allow": ALLOW}, b"", method="OPTIONS"),

    # ---- a page or a report ----
    row("without a wish a page", "/none.txt", {}, 404, {}, page(404, "Not Found")),
    paged("what a browser accepts",
          "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"),
    paged("anything", "*/*"),
    paged("any text", "text/*"),
    paged("both alike", "text/html, application/json"),
    paged("a page rather", "application/json;q=0.5, text/html"),
    paged("neither", "image/png"),
    paged("no JSON", "application/json;q=0"),
    report("application/json", "application/json"),
    report("application/problem+json", "application/problem+json"),
    report("JSON in capitals", "Application/JSON"),
    report("JSON rather", "text/html;q=0.5, application/json"),
    report("JSON or anything else", "application/json, */*;q=0.1"),
    report("any application", "application/*"),
    report("of a 405", "application/json", "/a.txt", 405, "Method Not Allowed", "POST"),
    report("of a 400", "application/json", "/%00", 400, "Bad Request"),
    row("of a 412", "/a.txt", {"accept": "application/json", "if-match": '"x"'}, 412, {},
        problem(412, "Precondition Failed")),
    row("of a 308", "/dir", {"accept": "application/json"}, 308, {"location": "dir/"}),
    row("too many fields", "/a.txt", [(f"x-{i}", "b") for i in range(110)], 431, {},
        page(431, "Request Header Fields Too Large")),
    row("HEAD of a failure tells the length", "/none.txt", {}, 404,
        {"content-length": re.compile("[1-9][0-9]*"), "content-type": "text/html; charset=utf-8"},
        b"", method="HEAD"),
    row("the server is named without a version", "/a.txt", {}, 200, {"server": "weir"}),
    row("on failures too", "/none.txt", {}, 404, {"server": "weir"}),
]

# an operator's page: /404.html
CUSTOM = of_site("custom", [
    row("the operator's page", "/none.txt", {}, 404,
        {"cache-control": "no-store", "content-type": "text/html; charset=utf-8", "etag": absent,
         "last-modified": absent, "accept-ranges": absent, "x-content-type-options": "nosniff"},
        b"<p>not here"),
    row("the operator's page: HEAD", "/none.txt", {}, 404, {"content-length": "11"}, b"",
        method="HEAD"),
    row("the operator's page, packed", "/none.txt", {"accept-encoding": "gzip"}, 404,
        {"content-encoding": "gzip", "vary": "accept-encoding", "cache-control": "no-store"},
        b"packed: not here"),
    row("no condition on it", "/none.txt", {"if-none-match": "*"}, 404, {}, b"<p>not here"),
    row("no range of it", "/none.txt", {"range": "bytes=0-1"}, 404, {"content-range": absent},
        b"<p>not here"),
    row("who prefers JSON gets a report", "/none.txt", {"accept": "application/json"}, 404, {},
        problem(404, "Not Found")),
    row("it is of the root alone", "/dir/none.txt", {}, 404, {}, b"<p>not here"),
    row("a dotfile is as missing as all else", "/.env", {}, 404, {}, b"<p>not here"),
    row("other failures keep theirs", "/a.txt", {}, 405, {"allow": ALLOW},
        page(405, "Method Not Allowed"), method="POST"),
    row("by its own name it is a file", "/404.html", {}, 200,
        {"cache-control": "no-cache", "vary": "accept-encoding"}, b"<p>not here"),
    row("what is there is there", "/a.txt", {}, 200, {}, TEN),
])

SERVER = [
    row("no field server", "/a.css", {}, 200, {"server": absent}, site="rules"),
    row("nor in a 304", "/a.css", {"if-none-match": "*"}, 304, {"server": absent}, site="rules"),
    row("nor in a failure", "/none", {}, 404, {"server": absent}, site="rules"),
    row("nor in a redirect", "/sub", {}, 308, {"server": absent}, site="rules"),
    row("nor for OPTIONS", "/", {}, 204, {"server": absent}, method="OPTIONS", site="rules"),
    row("a name of the operator's", "/app.js", {}, 200, {"server": "a server/1.0"}, site="bare"),
    row("and on failures", "/none", {}, 404, {"server": "a server/1.0"}, site="bare"),
]

ROWS = MAIN + CUSTOM + SERVER
