"""Ranges (RFC 9110 14)."""

import re

from .row import absent, page, parts, row
from .sites import AFTER, BEFORE, BIG, DATE, LARGE, TEN

SIZE = len(BIG)


def part(title, value, first, last, **kwargs):
    """One range of /big.txt comes back."""
    return row(title, "/big.txt", {"range": value}, 206,
               {"content-range": f"bytes {first}-{last}/{SIZE}", "etag": "<big>",
                "last-modified": DATE, "cache-control": "max-age=0, must-revalidate",
                "content-type": "text/plain; charset=utf-8", "content-encoding": absent},
               BIG[first:last + 1], **kwargs)


def whole(title, value):
    return row(title, "/big.txt", {"range": value}, 200,
               {"content-range": absent, "accept-ranges": "bytes"}, BIG)


def none(title, value):
    return row(title, "/big.txt", {"range": value}, 416,
               {"content-range": f"bytes */{SIZE}", "cache-control": "no-store", "etag": absent},
               page(416, "Range Not Satisfiable"))


def several(title, value, *ranges):
    return row(title, "/big.txt", {"range": value}, 206,
               {"content-range": absent, "etag": "<big>", "last-modified": DATE},
               parts(BIG, *ranges))


def set_of(count, step=1000):
    return "bytes=" + ",".join(f"{i * step}-{i * step}" for i in range(count))


ROWS = [
    row("what can be asked for in parts says so", "/a.txt", fields={"accept-ranges": "bytes"}),

    # ---- one ----
    part("the first byte", "bytes=0-0", 0, 0),
    part("some bytes", "bytes=100-199", 100, 199),
    part("the last byte", "bytes=1999-1999", 1999, 1999),
    part("all bytes", "bytes=0-1999", 0, 1999),
    part("open at the end", "bytes=1990-", 1990, 1999),
    part("open, from the start", "bytes=0-", 0, 1999),
    part("a suffix", "bytes=-10", 1990, 1999),
    part("a suffix of all", "bytes=-2000", 0, 1999),
    part("a suffix longer than the file", "bytes=-5000", 0, 1999),
    part("an end beyond the file", "bytes=1990-5000", 1990, 1999),
    part("an end beyond 64 bits", "bytes=1990-99999999999999999999999", 1990, 1999),
    part("a suffix beyond 64 bits", "bytes=-99999999999999999999999", 0, 1999),
    part("leading zeros", "bytes=0000100-0000199", 100, 199),
    part("the unit in capitals (14.1)", "BYTES=0-9", 0, 9),
    part("blanks around", "bytes= 0-9 ,", 0, 9),
    part("empty elements", "bytes=,,0-9,,5-9", 0, 9),

    # ---- none of the file ----
    none("from its end", "bytes=2000-"),
    none("beyond its end", "bytes=5000-6000"),
    none("a suffix of nothing", "bytes=-0"),
    none("beyond 64 bits", "bytes=99999999999999999999999-"),
    none("several, none of them there", "bytes=2000-2001,3000-"),
    row("problem report for a 416", "/big.txt",
        {"range": "bytes=2000-", "accept": "application/problem+json"}, 416,
        {"content-range": f"bytes */{SIZE}", "content-type": "application/problem+json"}),
    row("an empty file has no first byte", "/empty.txt", {"range": "bytes=0-0"}, 416,
        {"content-range": "bytes */0"}),
    row("an empty file has no bytes from 0", "/empty.txt", {"range": "bytes=0-"}, 416,
        {"content-range": "bytes */0"}),
    row("an empty file has all of any suffix", "/empty.txt", {"range": "bytes=-5"}, 200, body=b""),

    # ---- not to be taken as ranges ----
    whole("another unit", "items=0-9"),
    whole("no unit", "0-9"),
    whole("a blank for the equals sign", "bytes 0-9"),
    whole("no range", "bytes="),
    whole("only commas", "bytes=,,"),
    whole("a lone dash", "bytes=-"),
    whole("the end before the start", "bytes=9-0"),
    whole("words", "bytes=first-last"),
    whole("a sign", "bytes=+1-5"),
    whole("hex", "bytes=0x0-0x9"),
    whole("one good and one malformed", "bytes=0-9,x"),
    whole("something behind it", "bytes=0-9;"),
    whole("two dashes", "bytes=0--9"),

    # ---- several ----
    several("two parts", "bytes=0-9,1000-1009", (0, 9), (1000, 1009)),
    several("parts are sorted", "bytes=1000-1009,0-9", (0, 9), (1000, 1009)),
    several("suffix and start", "bytes=-10,0-9", (0, 9), (1990, 1999)),
    several("three", "bytes=500-504, 1000-1004, 0-4", (0, 4), (500, 504), (1000, 1004)),
    several("a gap of 80 bytes is kept", "bytes=0-9,90-99", (0, 9), (90, 99)),
    several("two of three merge", "bytes=0-9,1000-1009,5-20", (0, 20), (1000, 1009)),
    several("one of three is not there", "bytes=0-9,1000-1009,9000-", (0, 9), (1000, 1009)),
    part("a gap of 79 bytes is sent too", "bytes=0-9,89-99", 0, 99),
    part("two that overlap are one", "bytes=0-99,50-149", 0, 149),
    part("two that touch are one", "bytes=0-99,100-199", 0, 199),
    part("one within the other", "bytes=0-99,10-20", 0, 99),
    part("the same twice", "bytes=5-5,5-5", 5, 5),
    part("one there, one not", "bytes=0-9,5000-", 0, 9),
    part("many that are one", "bytes=" + ",".join(f"{i}-{i}" for i in range(0, 60, 2)), 0, 58),
    whole("more bytes than the file", "bytes=0-999,1100-1999"),
    row("sixteen are served", "/large.txt", {"range": set_of(16)}, 206,
        body=parts(LARGE, *((i * 1000, i * 1000) for i in range(16)))),
    row("seventeen are not", "/large.txt", {"range": set_of(17)}, 200, body=LARGE),
    row("three hundred are not", "/large.txt", {"range": set_of(300, 100)}, 200, body=LARGE),
    row("long parts of a large file", "/large.txt", {"range": "bytes=0-30000,50000-90000"}, 206,
        body=parts(LARGE, (0, 30000), (50000, 90000))),
    row("a range of a large file", "/large.txt", {"range": "bytes=20000-36383"}, 206,
        {"content-range": f"bytes 20000-36383/{len(LARGE)}"}, LARGE[20000:36384]),
    row("parts of another type", "/build/large.txt", {"range": "bytes=0-1,9000-9001"}, 206,
        {"content-type": re.compile("multipart/byteranges; boundary=.+")},
        parts(LARGE, (0, 1), (9000, 9001))),

    # ---- HEAD and others ----
    row("HEAD has no ranges (14.2)", "/big.txt", {"range": "bytes=0-9"}, 200,
        {"content-length": str(SIZE), "content-range": absent}, b"", method="HEAD"),
    row("HEAD and a range that is not there", "/big.txt", {"range": "bytes=9000-"}, 200,
        {"content-length": str(SIZE)}, b"", method="HEAD"),
    row("no range of a 404", "/none.txt", {"range": "bytes=0-9"}, 404, {"content-range": absent}),
    row("no range of a redirect", "/dir", {"range": "bytes=0-9"}, 308, {"content-range": absent}),
    row("a page in parts", "/dir/", {"range": "bytes=0-2"}, 206,
        {"content-type": "text/html; charset=utf-8", "cache-control": "no-cache"}, b"<p>"),

    # ---- if-range (13.1.5) ----
    row("if-range: the tag", "/a.txt", {"range": "bytes=0-3", "if-range": "<a>"}, 206, body=b"0123"),
    row("if-range: the date, which lies back", "/a.txt",
        {"range": "bytes=0-3", "if-range": DATE}, 206, body=b"0123"),
    row("if-range: several", "/big.txt", {"range": "bytes=0-9,1000-1009", "if-range": "<big>"}, 206,
        body=parts(BIG, (0, 9), (1000, 1009))),
    row("if-range: the tag, nothing there", "/a.txt",
        {"range": "bytes=10-", "if-range": "<a>"}, 416, {"content-range": "bytes */10"}),
    row("if-range: another tag", "/a.txt", {"range": "bytes=0-3", "if-range": '"x"'}, 200, body=TEN),
    row("if-range: a weak tag never holds", "/a.txt",
        {"range": "bytes=0-3", "if-range": "W/<a>"}, 200, body=TEN),
    row("if-range: no list", "/a.txt", {"range": "bytes=0-3", "if-range": '<a>, "x"'}, 200,
        body=TEN),
    row("if-range: no star", "/a.txt", {"range": "bytes=0-3", "if-range": "*"}, 200, body=TEN),
    row("if-range: a later date is another one", "/a.txt",
        {"range": "bytes=0-3", "if-range": AFTER}, 200, body=TEN),
    row("if-range: an earlier date", "/a.txt", {"range": "bytes=0-3", "if-range": BEFORE}, 200,
        body=TEN),
    row("if-range: neither", "/a.txt", {"range": "bytes=0-3", "if-range": "x"}, 200, body=TEN),
    row("if-range fails: all, although the range is not there", "/a.txt",
        {"range": "bytes=10-", "if-range": '"x"'}, 200, body=TEN),
    row("if-range without range", "/a.txt", {"if-range": "<a>"}, 200, body=TEN),
    row("if-range: HEAD", "/a.txt", {"range": "bytes=0-3", "if-range": "<a>"}, 200,
        {"content-length": "10"}, b"", method="HEAD"),
]
