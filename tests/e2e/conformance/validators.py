"""Validators: the entity-tag and the date (RFC 9110 8.8)."""

import re

from .row import Not, absent, row
from .sites import DATE, LARGE, TEN

STRONG = re.compile(r'"[\x21\x23-\x7e]+"')  # RFC 9110 8.8.3: strong, and plain ASCII

ROWS = [
    row("a file has a strong tag and a date", "/a.txt",
        fields={"etag": STRONG, "last-modified": DATE}, body=TEN),
    row("the tag of a copy with the same time is the same, whatever its inode", "/copy/a.txt",
        fields={"etag": "<a>"}, body=TEN),
    row("a nanosecond makes another tag", "/other-bytes.txt",
        fields={"etag": Not("<a>"), "last-modified": DATE}),
    row("a second makes another tag", "/other-second.txt", fields={"etag": Not("<a>")}),
    row("a byte more makes another tag", "/longer.txt", fields={"etag": Not("<a>")}),
    row("an empty file has both", "/empty.txt", fields={"etag": STRONG, "last-modified": DATE},
        body=b""),
    row("a large file has both", "/large.txt", fields={"etag": STRONG, "last-modified": DATE},
        body=LARGE),
    row("no date in the future is sent (8.8.2.1)", "/future.txt",
        fields={"etag": STRONG, "last-modified": absent}),
    row("a date in the future is not compared", "/future.txt",
        {"if-modified-since": "Fri, 31 Dec 2199 23:59:59 GMT"}, 200),

    # times that a build set say nothing
    row("time 0: no date", "/build/zero.txt", fields={"etag": STRONG, "last-modified": absent}),
    row("time -1: no date", "/build/before-1970.txt",
        fields={"etag": STRONG, "last-modified": absent}),
    row("1980-01-01: no date", "/build/zip.txt", fields={"etag": STRONG, "last-modified": absent}),
    row("a second after 1980-01-01 is a time", "/build/after.txt",
        fields={"etag": Not("<zero>"), "last-modified": "Tue, 01 Jan 1980 00:00:01 GMT"}),
    row("same size, other content: another tag", "/build/zero-again.txt",
        fields={"etag": Not("<zero>")}),
    row("same content, other build time: the same tag", "/build/zip.txt",
        fields={"etag": "<zero>"}),
    row("same content, time -1: the same tag", "/build/before-1970.txt",
        fields={"etag": "<zero>"}),
    row("the content's tag gives a 304", "/build/zero.txt", {"if-none-match": "<zero>"}, 304,
        {"etag": "<zero>", "last-modified": absent}),
    row("the tag of a build before gives the new bytes", "/build/zero-again.txt",
        {"if-none-match": "<zero>"}, 200, body=b"built more"),
    row("if-modified-since is ignored without a date", "/build/zero.txt",
        {"if-modified-since": DATE}, 200),
    row("if-unmodified-since is ignored without a date", "/build/zero.txt",
        {"if-unmodified-since": "Mon, 01 Jan 1968 00:00:00 GMT"}, 200),
    row("if-range by date does not hold without a date", "/build/zero.txt",
        {"range": "bytes=0-1", "if-range": "Thu, 01 Jan 1970 00:00:00 GMT"}, 200),
    row("if-range by the content's tag holds", "/build/zero.txt",
        {"range": "bytes=0-4", "if-range": "<zero>"}, 206, body=b"built"),
    row("a large file of a build has its content's tag", "/build/large-copy.txt",
        fields={"etag": "<build-large>", "last-modified": absent}),
    row("the last byte of a large file counts", "/build/large-again.txt",
        {"if-none-match": "<build-large>"}, 200, {"etag": Not("<build-large>")}),
    row("a sibling of a build has a tag of its own", "/build/app.js", {"accept-encoding": "gzip"},
        fields={"etag": Not("<build-app>"), "content-encoding": "gzip", "last-modified": absent}),
    row("and gives a 304", "/build/app.js",
        {"accept-encoding": "gzip", "if-none-match": "<build-app-gz>"}, 304,
        {"etag": "<build-app-gz>", "vary": "accept-encoding"}),
]
