"""A row of the table: a request, and what must come back."""

import json
import re
import urllib.parse
from typing import NamedTuple

ANY = None  # a body that is not looked at


class Row(NamedTuple):
    title: str
    target: str
    ask: tuple  # fields of the request: (name, value)
    status: int
    fields: dict  # of the response: a value, a pattern, absent, or Not(value)
    body: object  # bytes, one of the forms below, or ANY
    method: str
    site: str


class Not(NamedTuple):
    """Any value but this one; the field is there."""
    value: str


absent = object()


def row(title, target, ask=(), status=200, fields=None, body=ANY, method="GET", site="main"):
    """`ask`: a dict, or pairs where a name comes twice.  "<name>" in a value, asked or expected,
    stands for an entity-tag of the site (see sites.py)."""
    pairs = tuple(ask.items()) if isinstance(ask, dict) else tuple(ask)
    return Row(title, target, pairs, status, fields or {}, body, method, site)


def of_site(site, rows):
    return [one._replace(site=site) for one in rows]


def complaint_about(expected, got):
    """What is wrong with a field's value, or None."""
    if expected is absent:
        return None if got is None else "should not be there"
    if got is None:
        return "is missing"
    if isinstance(expected, Not):
        return None if got != expected.value else "should be another one"
    if isinstance(expected, re.Pattern):
        return None if expected.fullmatch(got) else f"should look like {expected.pattern}"
    return None if got == expected else f"should be {expected!r}"


# ---- bodies that are not given by their bytes: called with body and fields, they raise ----


def page(status, title):
    """A small page of the server's own."""
    def check(body, fields):
        text = body.decode()
        assert fields["content-type"] == "text/html; charset=utf-8"
        assert text.lower().startswith("<!doctype html>")
        assert f"<title>{status} {title}</title>" in text
        assert len(body) < 512
    return check


def problem(status, title):
    """A problem report (RFC 9457 3.1)."""
    def check(body, fields):
        assert fields["content-type"] == "application/problem+json"
        report = json.loads(body)
        assert (report["type"], report["status"], report["title"]) == ("about:blank", status, title)
    return check


def parts(content, *ranges, kind="text/plain; charset=utf-8"):
    """multipart/byteranges (RFC 9110 14.6) with these first and last bytes, in this order."""
    def check(body, fields):
        match = re.fullmatch(r"multipart/byteranges; boundary=([\w'()+,./:=?-]{1,70})",
                             fields["content-type"])
        boundary = match[1].encode()
        assert boundary not in content, "the boundary occurs in the content"
        rest = body
        for first, last in ranges:
            head = (f"\r\n--{match[1]}\r\ncontent-type: {kind}\r\n"
                    f"content-range: bytes {first}-{last}/{len(content)}\r\n\r\n").encode()
            assert rest[:len(head)] == head, f"{rest[:len(head)]!r} is not {head!r}"
            rest = rest[len(head):]
            part = content[first:last + 1]
            assert rest[:len(part)] == part
            rest = rest[len(part):]
        assert rest == b"\r\n--" + boundary + b"--\r\n"
        assert len(body) < len(content)
    return check


def listing_page(*names, title):
    """A list as a page: these names, in this order, with links that lead to them."""
    def check(body, fields):
        text = body.decode()
        assert f"<title>{title}</title>" in text
        shown = re.findall(r'<tr><td><a href="([^"]*)">([^<]*)</a>', text)
        assert [pair for pair in shown if pair != ("../", "../")] == list(names)
    return check


def listing_json(*names, **members):
    """The same as JSON: name and type of each entry."""
    def check(body, fields):
        got = json.loads(body)
        assert [(e["name"], e["type"]) for e in got["entries"]] == list(names)
        for e in got["entries"]:
            slash = "/" if e["type"] == "directory" else ""
            assert urllib.parse.unquote(e["href"]) == f"./{e['name']}{slash}"
        for member, value in members.items():
            assert got[member] == value, f"{member} is {got[member]!r}"
    return check
