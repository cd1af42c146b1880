"""Preconditions, in the order of RFC 9110 13.2.2."""

from .row import absent, page, row
from .sites import AFTER, BEFORE, DATE, TEN

# what a 304 has, and what it has not (15.4.5)
NOT_MODIFIED = {"etag": "<a>", "cache-control": "max-age=0, must-revalidate",
                "content-length": absent, "content-type": absent, "content-encoding": absent,
                "last-modified": absent, "accept-ranges": absent, "content-range": absent}
FAILED = {"etag": "<a>", "cache-control": "no-store", "last-modified": absent}


def met(title, ask, **kwargs):
    return row(title, "/a.txt", ask, 200, {"etag": "<a>"}, TEN, **kwargs)


def not_modified(title, ask, **kwargs):
    return row(title, "/a.txt", ask, 304, NOT_MODIFIED, b"", **kwargs)


def failed(title, ask, **kwargs):
    body = None if kwargs else page(412, "Precondition Failed")
    return row(title, "/a.txt", ask, 412, FAILED, body, **kwargs)


ROWS = [
    # ---- if-none-match: 13.1.2 ----
    not_modified("if-none-match: the tag", {"if-none-match": "<a>"}),
    not_modified("if-none-match: *", {"if-none-match": "*"}),
    not_modified("if-none-match: compared weakly", {"if-none-match": "W/<a>"}),
    not_modified("if-none-match: last of a list", {"if-none-match": '"x", "y", <a>'}),
    not_modified("if-none-match: first of a list", {"if-none-match": '<a>, "x"'}),
    not_modified("if-none-match: list without blanks", {"if-none-match": '"x",W/<a>,"y"'}),
    not_modified("if-none-match: list with empty elements", {"if-none-match": ', ,"x",, <a>'}),
    not_modified("if-none-match: a comma in a tag", {"if-none-match": '"x,y", <a>'}),
    not_modified("if-none-match: in two lines",
                 (("if-none-match", '"x"'), ("if-none-match", "<a>"))),
    not_modified("if-none-match: HEAD", {"if-none-match": "<a>"}, method="HEAD"),
    met("if-none-match: another tag", {"if-none-match": '"x"'}),
    met("if-none-match: another weak tag", {"if-none-match": 'W/"x"'}),
    met("if-none-match: the tag without quotes", {"if-none-match": "x"}),
    met("if-none-match: empty", {"if-none-match": ""}),
    met("if-none-match: the empty tag", {"if-none-match": '""'}),
    met("if-none-match: * in quotes is a tag", {"if-none-match": '"*"'}),
    met("if-none-match: HEAD, another tag", {"if-none-match": '"x"'})._replace(
        method="HEAD", body=b""),
    row("if-none-match: an empty file", "/empty.txt", {"if-none-match": "<empty>"}, 304),
    row("if-none-match: a large file", "/large.txt", {"if-none-match": "<large>"}, 304),
    not_modified("if-none-match matches: if-modified-since is ignored",
                 {"if-none-match": "<a>", "if-modified-since": BEFORE}),
    met("if-none-match does not match: if-modified-since is ignored",
        {"if-none-match": '"x"', "if-modified-since": AFTER}),

    # ---- if-modified-since: 13.1.3 ----
    not_modified("if-modified-since: the date", {"if-modified-since": DATE}),
    not_modified("if-modified-since: a second later", {"if-modified-since": AFTER}),
    not_modified("if-modified-since: RFC 850", {
        "if-modified-since": "Sunday, 06-Nov-94 08:49:37 GMT"}),
    not_modified("if-modified-since: asctime", {"if-modified-since": "Sun Nov  6 08:49:37 1994"}),
    not_modified("if-modified-since: HEAD", {"if-modified-since": DATE}, method="HEAD"),
    met("if-modified-since: a second before", {"if-modified-since": BEFORE}),
    met("if-modified-since: no date", {"if-modified-since": "yesterday"}),
    met("if-modified-since: empty", {"if-modified-since": ""}),
    met("if-modified-since: another zone", {
        "if-modified-since": "Sun, 06 Nov 1994 08:49:37 CET"}),
    met("if-modified-since: no such day", {"if-modified-since": "Sun, 31 Feb 1995 08:49:37 GMT"}),
    met("if-modified-since: something behind it", {"if-modified-since": DATE + "; length=10"}),

    # ---- if-match: 13.1.1 ----
    met("if-match: the tag", {"if-match": "<a>"}),
    met("if-match: *", {"if-match": "*"}),
    met("if-match: one of a list", {"if-match": '"x", <a>'}),
    met("if-match: in two lines", (("if-match", '"x"'), ("if-match", "<a>"))),
    failed("if-match: another tag", {"if-match": '"x"'}),
    failed("if-match: a weak tag never matches", {"if-match": "W/<a>"}),
    failed("if-match: empty", {"if-match": ""}),
    failed("if-match: no tag", {"if-match": "x"}),
    failed("if-match: HEAD", {"if-match": '"x"'}, method="HEAD"),
    met("if-match holds: if-unmodified-since is ignored",
        {"if-match": "<a>", "if-unmodified-since": BEFORE}),
    failed("if-match fails: if-unmodified-since is ignored",
           {"if-match": '"x"', "if-unmodified-since": AFTER}),

    # ---- if-unmodified-since: 13.1.4 ----
    met("if-unmodified-since: the date", {"if-unmodified-since": DATE}),
    met("if-unmodified-since: a second later", {"if-unmodified-since": AFTER}),
    met("if-unmodified-since: no date", {"if-unmodified-since": "never"}),
    failed("if-unmodified-since: a second before", {"if-unmodified-since": BEFORE}),
    failed("if-unmodified-since: asctime", {"if-unmodified-since": "Sun Nov  6 08:49:36 1994"}),

    # ---- what comes first ----
    failed("if-match comes before if-none-match", {"if-match": '"x"', "if-none-match": "<a>"}),
    failed("if-unmodified-since comes before if-none-match",
           {"if-none-match": "<a>", "if-unmodified-since": BEFORE}),
    failed("if-match comes before if-modified-since",
           {"if-modified-since": DATE, "if-match": '"x"'}),
    not_modified("if-match holds, if-none-match too", {"if-match": "<a>", "if-none-match": "<a>"}),
    not_modified("if-match holds, not modified since",
                 {"if-match": "<a>", "if-modified-since": DATE}),
    not_modified("unmodified and not modified",
                 {"if-unmodified-since": DATE, "if-none-match": "*"}),
    not_modified("a 304 comes before a range", {"if-none-match": "<a>", "range": "bytes=0-1"}),
    not_modified("a 304 comes before a range that is not there",
                 {"if-none-match": "<a>", "range": "bytes=99-"}),
    failed("a 412 comes before a range", {"if-match": '"x"', "range": "bytes=0-1"}),
    row("if-match holds: the range", "/a.txt", {"if-match": "<a>", "range": "bytes=2-4"}, 206,
        {"etag": "<a>"}, b"234"),
    row("nothing says not modified: the range", "/a.txt",
        {"if-none-match": '"x"', "range": "bytes=2-4"}, 206, {"etag": "<a>"}, b"234"),
    row("all five at once", "/a.txt",
        {"if-match": "<a>", "if-unmodified-since": BEFORE, "if-none-match": '"x"',
         "if-modified-since": AFTER, "if-range": "<a>", "range": "bytes=9-"}, 206, body=b"9"),

    # ---- answers that are no 2xx anyway: preconditions are ignored (13.2.1) ----
    row("if-match: * does not make a 404 a 412", "/none.txt", {"if-match": "*"}, 404),
    row("if-none-match: * does not make a 404 a 304", "/none.txt", {"if-none-match": "*"}, 404),
    row("no precondition on a redirect", "/dir", {"if-none-match": "*"}, 308),
    row("no precondition on a 405", "/a.txt", {"if-match": '"x"'}, 405, method="DELETE"),
    row("no precondition on OPTIONS", "/a.txt", {"if-none-match": "*"}, 204, method="OPTIONS"),
]
