"""Requests with bodies and trailers, and requests that are not right (RFC 9113 8)."""

import pytest

from harness import frames
from harness.frames import Error, Flag, Setting
from harness.tree import content
from harness.wire import Wire


def post(wire, body, extra=(), path="/small.txt", method="POST"):
    stream = wire.request(path, method=method, extra=extra, end_stream=False)
    wire.send_data(stream, body)
    return wire.response(stream)


# ---- bodies ----


@pytest.mark.parametrize("length", [0, 1, 1000, 60_000, 300_000])
def test_a_request_body_is_refused_and_the_connection_goes_on(wire, tree, length):
    for _ in range(3):
        response = post(wire, content(length))
        assert response.status == 405
        assert response.reset in (None, Error.NO_ERROR)
    assert wire.get("/small.txt").body == tree.files["small.txt"]


def test_refused_bodies_give_their_window_back(wire, tree):
    """Far more than the connection's window, in bodies that nobody reads."""
    for _ in range(60):
        assert post(wire, content(60_000)).status == 405

    wire.ping()
    assert wire.send_windows[0] > 65_535
    assert wire.get("/small.txt").body == tree.files["small.txt"]


def test_a_get_with_a_body_harms_nothing(wire, tree):
    for _ in range(5):
        response = post(wire, content(1000), method="GET")
        assert response.status in (200, 400, 413)
    assert wire.get("/small.txt").body == tree.files["small.txt"]


def test_a_body_that_ends_early_is_an_error_of_its_stream(wire, tree):
    response = post(wire, b"short", extra=[("content-length", "100")])

    assert response.status in (None, 405) and response.reset in (None, Error.PROTOCOL_ERROR,
                                                                 Error.NO_ERROR)
    assert wire.get("/small.txt").body == tree.files["small.txt"]


def test_an_unfinished_body_is_given_up_by_rst_stream(wire, tree):
    for _ in range(20):
        stream = wire.request("/small.txt", method="POST", end_stream=False)
        wire.send(frames.data(stream, b"x" * 100), frames.rst_stream(stream))

    assert wire.get("/small.txt").body == tree.files["small.txt"]


# ---- trailers ----


def test_trailers_of_a_request_are_taken(wire, tree):
    for method in ("GET", "POST"):
        stream = wire.request("/small.txt", method=method, end_stream=False)
        wire.send(frames.data(stream, b"body"),
                  frames.headers(stream, wire.encoder.encode([("checksum", "abc")])))
        response = wire.response(stream)
        assert response.status == (405 if method == "POST" else 200)
    assert wire.get("/small.txt").body == tree.files["small.txt"]


def test_trailers_may_follow_the_headers_at_once(wire):
    stream = wire.request("/small.txt", end_stream=False)
    wire.send(frames.headers(stream, wire.encoder.encode([("x-trailer", "1")])))

    assert wire.response(stream).status == 200


def test_trailers_may_come_in_continuations(wire):
    stream = wire.request("/small.txt", end_stream=False)
    block = wire.encoder.encode([("x-trailer", "1" * 100)])
    wire.send(frames.headers(stream, block[:10], end_headers=False),
              frames.continuation(stream, block[10:20], end_headers=False),
              frames.continuation(stream, block[20:]))

    assert wire.response(stream).status == 200


def test_late_trailers_on_a_stream_that_was_just_reset_are_tolerated(wire, tree):
    """The server resets a stream; the rest of the request was on its way already."""
    stream = wire.request("/small.txt", method="POST", end_stream=False)
    wire.send(frames.window_update(stream, frames.MAX_WINDOW))  # overflows: the server resets it
    wire.wait(lambda: stream in wire.responses and wire.responses[stream].reset is not None)
    wire.send(frames.data(stream, b"x" * 1000),
              frames.headers(stream, wire.encoder.encode([("x-trailer", "1")])),
              frames.window_update(stream, 1), frames.rst_stream(stream))

    assert wire.get("/small.txt").body == tree.files["small.txt"]
    assert not wire.goaways


@pytest.mark.parametrize("field", [("content-length", "4"), (":path", "/"), ("Upper", "x"),
                                   ("connection", "close")])
def test_bad_trailers_are_an_error_of_their_stream(wire, tree, field):
    stream = wire.request("/large.bin", method="POST", end_stream=False)
    wire.send(frames.data(stream, b"body"),
              frames.headers(stream, wire.encoder.encode([field])))

    response = wire.response(stream)
    assert response.reset == Error.PROTOCOL_ERROR or response.status == 405
    assert wire.get("/small.txt").body == tree.files["small.txt"]


# ---- what a request may look like ----


def test_padding_and_priority_are_skipped(wire, tree):
    for pad in (0, 1, 255):
        stream = wire.open_id()
        block = wire.request_block("/small.txt")
        wire.send(frames.frame(frames.Type.HEADERS,
                               Flag.END_STREAM | Flag.END_HEADERS | Flag.PADDED | Flag.PRIORITY,
                               stream, bytes([pad]) + bytes(4) + b"\x10" + block + bytes(pad)))
        assert wire.response(stream).body == tree.files["small.txt"]


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_a_field_section_may_come_in_continuations(wire, tree, parts):
    block = wire.request_block("/small.txt", extra=[("x-long", "y" * 200)])
    cuts = [len(block) * i // parts for i in range(parts + 1)]
    pieces = [block[a:b] for a, b in zip(cuts, cuts[1:])]
    stream = wire.open_id()

    wire.send(frames.headers(stream, pieces[0], end_headers=False),
              *(frames.continuation(stream, piece, end_headers=False) for piece in pieces[1:-1]),
              frames.continuation(stream, pieces[-1]))

    assert wire.response(stream).body == tree.files["small.txt"]


BASE = {":method": "GET", ":scheme": "http", ":authority": "localhost", ":path": "/small.txt"}


def variant(remove=(), before=(), after=(), **changes):
    fields = [(k, changes.get(k.strip(":"), v)) for k, v in BASE.items() if k not in remove]
    return [*before, *fields, *after]


MALFORMED = {
    "no :method": variant(remove=[":method"]),
    "no :scheme": variant(remove=[":scheme"]),
    "no :path": variant(remove=[":path"]),
    "empty :path": variant(path=""),
    "relative :path": variant(path="small.txt"),
    "two :method": variant(after=[(":method", "GET")]),
    "two :path": variant(before=[(":path", "/")]),
    "pseudo-header field after a field": [("x", "y"), *variant()],
    "unknown pseudo-header field": variant(before=[(":proto", "x")]),
    "response pseudo-header field": variant(before=[(":status", "200")]),
    ":protocol without CONNECT": variant(before=[(":protocol", "websocket")]),
    "upper case name": variant(after=[("X-Upper", "y")]),
    "empty name": variant(after=[("", "y")]),
    "name with space": variant(after=[("a b", "y")]),
    "name with colon": variant(after=[("a:b", "y")]),
    "name with NUL": variant(after=[("a\0b", "y")]),
    "value with NUL": variant(after=[("a", "x\0y")]),
    "value with CR": variant(after=[("a", "x\ry")]),
    "value with LF": variant(after=[("a", "x\ny")]),
    "value with leading space": variant(after=[("a", " y")]),
    "value with trailing tab": variant(after=[("a", "y\t")]),
    "connection": variant(after=[("connection", "keep-alive")]),
    "keep-alive": variant(after=[("keep-alive", "1")]),
    "proxy-connection": variant(after=[("proxy-connection", "x")]),
    "transfer-encoding": variant(after=[("transfer-encoding", "chunked")]),
    "upgrade": variant(after=[("upgrade", "h2c")]),
    "te other than trailers": variant(after=[("te", "gzip")]),
    "content-length not a number": variant(after=[("content-length", "x")]),
    "negative content-length": variant(after=[("content-length", "-1")]),
    "two content-length": variant(after=[("content-length", "0"), ("content-length", "0")]),
    "content-length without a body": variant(after=[("content-length", "5")]),
    ":path with NUL": variant(path="/a\0b"),
    ":path with space": variant(path="/a b"),
    "neither :authority nor host": variant(remove=[":authority"]),
    "host other than :authority": variant(after=[("host", "other")]),
    ":authority with user": variant(authority="user@localhost"),
    "CONNECT with :path": variant(method="CONNECT"),
}


@pytest.mark.parametrize("fields", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_request_is_refused_and_harms_no_other(wire, tree, fields):
    stream = wire.open_id()
    wire.send(frames.headers(stream, wire.encoder.encode(fields)))
    response = wire.response(stream)

    assert response.reset == Error.PROTOCOL_ERROR or response.status == 400
    assert wire.get("/small.txt").body == tree.files["small.txt"]
    assert not wire.goaways


WELL_FORMED = {
    "te: trailers": variant(after=[("te", "trailers")]),
    "host instead of :authority": variant(remove=[":authority"], after=[("host", "localhost")]),
    "host like :authority": variant(after=[("host", "localhost")]),
    "empty value": variant(after=[("x-empty", "")]),
    "value with tab and 8-bit bytes": variant(after=[("x", "a\tbé")]),
    "cookie crumbs": variant(after=[("cookie", "a=1"), ("cookie", "b=2")]),
    "content-length 0": variant(after=[("content-length", "0")]),
    "90 fields": variant(after=[(f"x-{i}", "y") for i in range(90)]),
    "scheme https": variant(scheme="https"),
}


@pytest.mark.parametrize("fields", WELL_FORMED.values(), ids=WELL_FORMED.keys())
def test_a_well_formed_request_is_served(wire, tree, fields):
    stream = wire.open_id()
    wire.send(frames.headers(stream, wire.encoder.encode(fields)))

    assert wire.response(stream).body == tree.files["small.txt"]


def test_connect_is_not_for_files(wire, tree):
    stream = wire.open_id()
    wire.send(frames.headers(stream, wire.encoder.encode(
        [(":method", "CONNECT"), (":authority", "localhost:80")]), end_stream=False))
    response = wire.response(stream)

    assert response.status in (400, 405, 501) or response.reset is not None
    assert wire.get("/small.txt").body == tree.files["small.txt"]


def test_a_push_is_never_promised(server, tree):
    with Wire.connect(server, {Setting.ENABLE_PUSH: 1}) as wire:
        wire.get("/")
        wire.ping()
        assert not [f for f in wire.history if f.type == frames.Type.PUSH_PROMISE]
