"""The table of conformance/, row by row, over every way to the server."""

import contextlib
import email.utils
import re

import pytest

from conformance import (caching, conditions, encodings, failures, pages, paths, ranges, types,
                         validators)
from conformance.complaints import COMPLAINTS
from conformance.row import Not, complaint_about
from conformance.sites import SITES, TAGS, Site
from harness import frames
from harness import transport as transports
from harness.line import Line
from harness.server import Server
from harness.wire import Wire

CHAPTERS = (validators, conditions, ranges, encodings, types, paths, failures, caching, pages)
ROWS = [row for chapter in CHAPTERS for row in chapter.ROWS]
ROWS_MIN = 250


class Http2:
    """One connection for many rows."""

    def __init__(self, server, transport):
        self.scheme = transport.scheme
        port = int(server.addresses[transport.scheme == "https"].rstrip("/").rpartition(":")[2])
        self.wire = Wire(transport.wrap(transports.open_tcp(port)))
        self.wire.send(frames.PREFACE, frames.settings())

    def ask(self, method, target, fields):
        stream = self.wire.request(target, method, fields, scheme=self.scheme)
        response = self.wire.response(stream)
        assert response.reset is None, f"reset: {response.reset}"
        return int(response.fields[0][1]), response.fields[1:], bytes(response.body)

    def close(self):
        self.wire.close()


class Http1:
    """One connection for many rows, and another one where a response ended it."""

    def __init__(self, server, transport):
        self.port = int(server.addresses[transport.scheme == "https"].rstrip("/").rpartition(":")[2])
        self.transport = transport
        self.line = None

    def ask(self, method, target, fields):
        if self.line is None:
            sock = transports.open_tcp(self.port)
            if self.transport.scheme == "https":
                sock = transports.tls_context(["http/1.1"]).wrap_socket(sock)
            self.line = Line(sock)
        answer = self.line.ask(method, target, fields)
        if dict(answer[1]).get("connection") == "close":
            self.close()
        return answer

    def close(self):
        if self.line is not None:
            self.line.close()
        self.line = None


WAYS = {
    "h2c": (Http2, transports.Cleartext()),
    "h2-tls": (Http2, transports.Tls()),
    "h1": (Http1, transports.Cleartext()),
    "h1-tls": (Http1, transports.Tls()),
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """servers(site): the server of that site, started when it is first asked for."""
    running = {}

    def of(name):
        if name not in running:
            site = Site(tmp_path_factory.mktemp(name))
            build, options = SITES[name]
            build(site)
            running[name] = Server(site.root, transports.Cleartext(), ("-w", "1", *options),
                                   listen=("-l", "127.0.0.1:0", "-s", "127.0.0.1:0"))
        return running[name]

    with contextlib.ExitStack() as stack:  # each is stopped, even if another one did not end well
        yield of
        for server in running.values():
            stack.callback(server.stop)


@pytest.fixture(scope="module")
def clients(servers):
    """clients(site, way): a client with its connection, made when it is first asked for."""
    made = {}

    def of(site, way):
        if (site, way) not in made:
            kind, transport = WAYS[way]
            made[site, way] = kind(servers(site), transport)
        return made[site, way]

    yield of
    for client in made.values():
        client.close()


def fill(text, client, tags):
    """Put entity-tags where "<name>" stands; `tags` keeps those that are known."""
    def tag(match):
        name = match[1]
        if name not in TAGS:
            return match[0]
        if name not in tags:
            target, coding = TAGS[name]
            ask = [] if coding is None else [("accept-encoding", coding)]
            _, fields, _ = client.ask("GET", target, ask)
            tags[name] = dict(fields)["etag"]
        return tags[name]

    return re.sub(r"<([a-z-]+)>", tag, text)


@pytest.fixture(scope="module")
def known_tags():
    return {}


def check_always(method, status, pairs, body):
    """What holds for every response."""
    fields = dict(pairs)
    assert len(fields) == len(pairs), f"a field comes twice: {pairs}"
    assert all(name == name.lower() for name in fields)
    assert email.utils.format_datetime(email.utils.parsedate_to_datetime(fields["date"]),
                                       usegmt=True) == fields["date"]
    if method == "HEAD" or status in (204, 304):
        assert body == b""
    else:
        assert int(fields["content-length"]) == len(body)
    if status in (204, 304):
        assert "content-length" not in fields and "content-type" not in fields
    else:
        assert fields["x-content-type-options"] == "nosniff"
    if "etag" in fields:
        assert re.fullmatch(r'"[\x21\x23-\x7e]+"', fields["etag"])
    if status >= 400:
        assert fields["cache-control"] == "no-store"
    if "content-encoding" in fields:
        assert "accept-encoding" in fields["vary"]


def check_row(row, answer, filled):
    status, pairs, body = answer
    fields = dict(pairs)
    assert status == row.status, f"{status}: {pairs}"
    check_always(row.method, status, pairs, body)
    for name, expected in row.fields.items():
        if isinstance(expected, Not):
            expected = Not(filled(expected.value))
        elif isinstance(expected, str):
            expected = filled(expected)
        complaint = complaint_about(expected, fields.get(name))
        assert complaint is None, f"{name}: {fields.get(name)!r} {complaint}"
    if callable(row.body):
        row.body(body, fields)
    elif row.body is not None:
        assert body == row.body


def test_the_table_is_large_enough_and_each_row_has_its_title():
    assert len(ROWS) >= ROWS_MIN
    for chapter in CHAPTERS:
        titles = [(row.site, row.title) for row in chapter.ROWS]
        assert len(set(titles)) == len(titles), [t for t in titles if titles.count(t) > 1]


@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_each_complaint_has_its_rows(complaint):
    there = {(row.site, row.title) for row in ROWS}
    assert [named for named in COMPLAINTS[complaint] if named not in there] == []


def ids(rows):
    return [f"{row.site}: {row.title}".encode("ascii", "backslashreplace").decode()
            for row in rows]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", ROWS, ids=ids(ROWS))
def test_row(row, way, clients, known_tags):
    client = clients(row.site, way)
    tags = known_tags.setdefault(row.site, {})

    def filled(text):
        return fill(text, client, tags)

    ask = [(name, filled(value)) for name, value in row.ask]
    answer = client.ask(row.method, row.target, ask)

    check_row(row, answer, filled)


GETS = [row for row in ROWS if row.method == "GET" and row.status not in (206, 416)
        and not any(name == "range" for name, _ in row.ask)]


@pytest.mark.parametrize("way", ["h2c", "h1"])
@pytest.mark.parametrize("row", GETS, ids=ids(GETS))
def test_head_says_what_get_says(row, way, clients, known_tags):
    client = clients(row.site, way)
    tags = known_tags.setdefault(row.site, {})
    ask = [(name, fill(value, client, tags)) for name, value in row.ask]

    get = client.ask("GET", row.target, ask)
    head = client.ask("HEAD", row.target, ask)

    assert head[0] == get[0] and head[2] == b""
    assert [f for f in head[1] if f[0] != "date"] == [f for f in get[1] if f[0] != "date"]
