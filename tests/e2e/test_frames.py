"""Frames that are wrong, strange, or right though they look wrong (RFC 9113 4-6; RFC 9218 7.1).

Each case sends frames on a fresh connection whose stream windows are closed, and names what may
come of it: a connection error with its code, a stream error with its code, or nothing.  Where the
RFC leaves a choice the case lists it.
"""

import struct

import pytest

from harness import frames
from harness.frames import DEFAULT_WINDOW, MAX_WINDOW, Error, Flag, Setting, Type
from harness.wire import Wire

FINE = ("fine",)
ANY = frames.frame


def dies(*codes):
    return {("goaway", code) for code in codes}


def resets(*codes):
    return {("reset", code) for code in codes}


PROTOCOL = dies(Error.PROTOCOL_ERROR)
SIZE = dies(Error.FRAME_SIZE_ERROR)
COMPRESSION = dies(Error.COMPRESSION_ERROR)
FLOW = dies(Error.FLOW_CONTROL_ERROR)
CLOSED = dies(Error.STREAM_CLOSED) | resets(Error.STREAM_CLOSED)
IGNORED = {FINE}


class Bench:
    """A connection under test, and the stream that the case is about."""

    def __init__(self, wire):
        self.wire = wire
        self.stream = None
        self.unused = wire.next_stream  # an id that no stream has had

    def send(self, *chunks):
        self.wire.send(*chunks)

    def block(self, path="/small.txt", **kwargs):
        return self.wire.request_block(path, **kwargs)

    def held(self):
        """A stream that is half-closed (remote): complete request, response waiting for window."""
        self.stream = self.wire.request("/small.txt")
        self.wire.wait(lambda: self.stream in self.wire.responses)
        return self.stream

    def uploading(self):
        """A stream whose request is still open."""
        self.stream = self.wire.request("/small.txt", end_stream=False)
        return self.stream

    def finished(self):
        """A stream that is closed, each side having ended it."""
        self.stream = self.wire.request("/one.bin", method="HEAD")
        self.wire.response(self.stream)
        return self.stream

    def cancelled(self):
        """A stream that is closed by our RST_STREAM."""
        stream = self.held()
        self.send(frames.rst_stream(stream))
        return stream

    def fresh(self):
        self.stream = self.wire.open_id()
        return self.stream

    def outcome(self):
        probe = None
        try:
            probe = self.wire.request("/one.bin", method="HEAD")
            self.wire.ping(b"what-now")
            assert self.wire.response(probe).status == 200
        except (AssertionError, OSError):
            self.wire.wait_end()
            if not self.wire.goaways:
                raise
        if self.wire.goaways:
            assert self.wire.wait_end() == "fin"
            return ("goaway", self.wire.goaways[-1].error)
        response = self.wire.responses.get(self.stream)
        if response is not None and response.reset is not None:
            return ("reset", response.reset)
        return FINE


CASES = []


def case(name, expected):
    def register(function):
        CASES.append(pytest.param(function, expected, id=name))
        return function
    return register


def simple(name, expected, *chunks):
    """A case that needs no stream."""
    case(name, expected)(lambda b: b.send(*chunks))


# ---- frame format and size (4.1, 4.2) ----

simple("unknown type", IGNORED, ANY(0xBB, 0xFF, 0, b"x" * 100))
simple("unknown type on an idle stream", IGNORED, ANY(0xBB, 0, 99, b"x"))
simple("unknown type of most length", IGNORED, ANY(0xBB, 0, 0, bytes(16384)))
simple("unknown type beyond the length", SIZE, ANY(0xBB, 0, 0, bytes(16385)))
simple("undefined flags", IGNORED, ANY(Type.PING, 0xFE, 0, bytes(8)))
simple("reserved bit of the stream id", IGNORED, ANY(Type.PING, 0, 1 << 31, bytes(8)))
simple("ALTSVC from a client", IGNORED, ANY(0xA, 0, 0, b"\0\0"))
simple("ORIGIN from a client", IGNORED, ANY(0xC, 0, 0, b""))


@case("DATA beyond the length", SIZE | resets(Error.FRAME_SIZE_ERROR))
def _(b):
    b.send(frames.data(b.uploading(), bytes(16385)))


@case("HEADERS beyond the length", SIZE)
def _(b):
    b.send(frames.headers(b.fresh(), b.block(extra=[("x", "y" * 30000)])[:16385]))


simple("SETTINGS beyond the length", SIZE | dies(Error.ENHANCE_YOUR_CALM),
       ANY(Type.SETTINGS, 0, 0, struct.pack("!HI", 0x99, 0) * 2731))

# ---- field sections (4.3; RFC 7541) ----

BAD_BLOCKS = {
    "index 0": b"\x80",
    "index beyond the tables": b"\xff\x80\x01",
    "name index beyond the tables": b"\x7f\x80\x01\x01x",
    "truncated string": b"\x40\x0aab",
    "truncated integer": b"\xff\xff",
    "integer that never ends": b"\xff" * 12 + b"\x7f",
    "Huffman padding of zeros": b"\x40\x01a\x81\x18",
    "Huffman padding beyond 7 bits": b"\x40\x01a\x82\x1f\xff",
    "Huffman EOS": b"\x40\x01a\x84\xff\xff\xff\xff",
    "table size beyond the limit": b"\x3f\xe2\x1f\x82",
    "table size behind a field": b"\x82\x20",
}
for _name, _block in BAD_BLOCKS.items():
    case(f"HPACK: {_name}", COMPRESSION)(
        lambda b, block=_block: b.send(frames.headers(b.fresh(), block)))


@case("HPACK: error within trailers", COMPRESSION)
def _(b):
    b.send(frames.headers(b.uploading(), b"\x80"))


def interrupted(name, *chunks):
    """A field section may be interrupted by nothing (6.10)."""
    @case(f"{name} within a field section", PROTOCOL)
    def _(b):
        stream = b.fresh()
        b.send(frames.headers(stream, b.block(), end_headers=False), *chunks)


interrupted("PING", frames.ping())
interrupted("SETTINGS", frames.settings())
interrupted("DATA", frames.data(1, b"x"))
interrupted("HEADERS", frames.headers(3, b"\x82"))
interrupted("PRIORITY", frames.priority(1))
interrupted("RST_STREAM", frames.rst_stream(1))
interrupted("WINDOW_UPDATE", frames.window_update(0, 1))
interrupted("unknown type", ANY(0xBB, 0, 0, b""))
interrupted("CONTINUATION of another stream", frames.continuation(3, b""))

# ---- stream states (5.1) ----


@case("idle: DATA", PROTOCOL)
def _(b):
    b.send(frames.data(b.unused, b"x"))


@case("idle: RST_STREAM", PROTOCOL)
def _(b):
    b.send(frames.rst_stream(b.unused))


@case("idle: WINDOW_UPDATE", PROTOCOL)
def _(b):
    b.send(frames.window_update(b.unused, 1))


@case("idle: CONTINUATION", PROTOCOL)
def _(b):
    b.send(frames.continuation(b.unused, b.block()))


@case("idle: PRIORITY", IGNORED)
def _(b):
    b.send(frames.priority(b.unused + 100))


@case("half-closed: DATA", CLOSED)
def _(b):
    b.send(frames.data(b.held(), b"x"))


@case("half-closed: empty DATA", CLOSED)
def _(b):
    b.send(frames.data(b.held(), b"", end_stream=True))


@case("half-closed: HEADERS", CLOSED)
def _(b):
    b.send(frames.headers(b.held(), b.block()))


@case("half-closed: CONTINUATION", PROTOCOL)
def _(b):
    b.send(frames.continuation(b.held(), b.block()))


@case("half-closed: PRIORITY, WINDOW_UPDATE", IGNORED)
def _(b):
    stream = b.held()
    b.send(frames.priority(stream), frames.window_update(stream, 1))


@case("closed: DATA", CLOSED | IGNORED)
def _(b):
    b.send(frames.data(b.finished(), b"x"))


@case("closed: HEADERS", CLOSED | PROTOCOL)
def _(b):
    b.send(frames.headers(b.finished(), b.block()))


@case("closed: CONTINUATION", PROTOCOL)
def _(b):
    b.send(frames.continuation(b.finished(), b.block()))


@case("closed: PRIORITY, WINDOW_UPDATE, RST_STREAM", IGNORED)
def _(b):
    stream = b.finished()
    b.send(frames.priority(stream), frames.window_update(stream, 1), frames.rst_stream(stream))


@case("cancelled: RST_STREAM again", IGNORED)
def _(b):
    b.send(frames.rst_stream(b.cancelled()))


@case("cancelled: DATA", CLOSED | IGNORED)
def _(b):
    b.send(frames.data(b.cancelled(), b"x"))


# ---- stream identifiers (5.1.1) ----


@case("even stream id", PROTOCOL)
def _(b):
    b.send(frames.headers(2, b.block()))


@case("lower stream id that was never used", PROTOCOL)
def _(b):
    b.wire.next_stream = 5
    b.finished()
    b.send(frames.headers(3, b.block()))


@case("lower stream id while the higher one is open", PROTOCOL)
def _(b):
    b.wire.next_stream = 5
    b.held()
    b.send(frames.headers(3, b.block(), end_stream=False))


@case("lower stream id in the same segment", PROTOCOL)
def _(b):
    b.send(frames.headers(7, b.block()), frames.headers(5, b.block()))


simple("DATA on stream 0", PROTOCOL, frames.data(0, b"x"))
simple("HEADERS on stream 0", PROTOCOL, frames.headers(0, b"\x82"))
simple("PRIORITY on stream 0", PROTOCOL, frames.priority(0))
simple("RST_STREAM on stream 0", PROTOCOL, frames.rst_stream(0))
simple("CONTINUATION on stream 0", PROTOCOL, frames.continuation(0, b"\x82"))
simple("SETTINGS on a stream", PROTOCOL, ANY(Type.SETTINGS, 0, 1, b""))
simple("PING on a stream", PROTOCOL, ANY(Type.PING, 0, 1, bytes(8)))
simple("GOAWAY on a stream", PROTOCOL, ANY(Type.GOAWAY, 0, 1, bytes(8)))

# ---- DATA, HEADERS, PRIORITY, RST_STREAM (6.1-6.4) ----


@case("DATA: padding as long as the payload", PROTOCOL)
def _(b):
    b.send(ANY(Type.DATA, Flag.PADDED, b.uploading(), b"\x05abcd"))


@case("DATA: padded without a length", SIZE | PROTOCOL)
def _(b):
    b.send(ANY(Type.DATA, Flag.PADDED, b.uploading(), b""))


@case("DATA: nothing but padding", IGNORED)
def _(b):
    b.send(ANY(Type.DATA, Flag.PADDED | Flag.END_STREAM, b.uploading(), b"\x04" + bytes(4)))


@case("HEADERS: padding beyond the payload", PROTOCOL)
def _(b):
    b.send(ANY(Type.HEADERS, Flag.PADDED | Flag.END_HEADERS | Flag.END_STREAM, b.fresh(),
                b"\xff" + b.block()))


@case("HEADERS: priority cut short", SIZE | PROTOCOL)
def _(b):
    b.send(ANY(Type.HEADERS, Flag.PRIORITY | Flag.END_HEADERS | Flag.END_STREAM, b.fresh(),
                b"\0\0\0"))


@case("HEADERS: depends on itself", IGNORED | PROTOCOL | resets(Error.PROTOCOL_ERROR))
def _(b):
    stream = b.fresh()
    b.send(ANY(Type.HEADERS, Flag.PRIORITY | Flag.END_HEADERS | Flag.END_STREAM, stream,
                struct.pack("!IB", stream, 15) + b.block()))


@case("HEADERS: without END_STREAM behind the body", resets(Error.PROTOCOL_ERROR) | PROTOCOL)
def _(b):
    stream = b.uploading()
    b.send(frames.data(stream, b"x"),
           frames.headers(stream, b.wire.encoder.encode([("x", "y")]), end_stream=False))


@case("PRIORITY: 4 bytes", SIZE | resets(Error.FRAME_SIZE_ERROR))
def _(b):
    b.send(ANY(Type.PRIORITY, 0, b.held(), bytes(4)))


@case("RST_STREAM: 3 bytes", SIZE)
def _(b):
    b.send(ANY(Type.RST_STREAM, 0, b.held(), bytes(3)))


@case("RST_STREAM: unknown code", IGNORED)
def _(b):
    b.send(frames.rst_stream(b.held(), 0xDEAD))


# ---- SETTINGS (6.5; RFC 9218 2.1) ----

simple("SETTINGS: ACK with payload", SIZE, ANY(Type.SETTINGS, Flag.ACK, 0, bytes(6)))
simple("SETTINGS: ACK of nothing", IGNORED | PROTOCOL, frames.settings(ack=True))
simple("SETTINGS: 5 bytes", SIZE, ANY(Type.SETTINGS, 0, 0, bytes(5)))
simple("SETTINGS: ENABLE_PUSH 2", PROTOCOL, frames.settings({Setting.ENABLE_PUSH: 2}))
simple("SETTINGS: window 2^31", FLOW, frames.settings({Setting.INITIAL_WINDOW_SIZE: 2**31}))
simple("SETTINGS: frame size 16383", PROTOCOL, frames.settings({Setting.MAX_FRAME_SIZE: 16383}))
simple("SETTINGS: frame size 2^24", PROTOCOL, frames.settings({Setting.MAX_FRAME_SIZE: 2**24}))
simple("SETTINGS: priorities 2", PROTOCOL, frames.settings({Setting.NO_RFC7540_PRIORITIES: 2}))
simple("SETTINGS: unknown", IGNORED, frames.settings({0xFFFF: 2**32 - 1}))
simple("SETTINGS: most allowed", IGNORED,
       frames.settings({Setting.HEADER_TABLE_SIZE: 2**32 - 1, Setting.ENABLE_PUSH: 1,
                        Setting.MAX_CONCURRENT_STREAMS: 2**32 - 1,
                        Setting.INITIAL_WINDOW_SIZE: MAX_WINDOW,
                        Setting.MAX_FRAME_SIZE: 2**24 - 1,
                        Setting.MAX_HEADER_LIST_SIZE: 2**32 - 1}))


@case("SETTINGS: window that overflows an open stream", FLOW)
def _(b):
    b.send(frames.window_update(b.held(), MAX_WINDOW), frames.settings(
        {Setting.INITIAL_WINDOW_SIZE: 1}))


@case("SETTINGS: each is acknowledged", IGNORED)
def _(b):
    before = b.wire.settings_acks
    b.send(*(frames.settings({0x99: i}) for i in range(5)))
    b.wire.wait(lambda: b.wire.settings_acks == before + 5)


@case("SETTINGS: of one identifier the last counts", IGNORED)
def _(b):
    b.send(frames.settings([(Setting.INITIAL_WINDOW_SIZE, 0), (Setting.INITIAL_WINDOW_SIZE, 7)]))
    stream = b.wire.request("/small.txt")
    b.wire.wait(lambda: stream in b.wire.responses and len(b.wire.responses[stream].body) == 7)


# ---- PUSH_PROMISE, PING, GOAWAY (6.6-6.8) ----


@case("PUSH_PROMISE from a client", PROTOCOL)
def _(b):
    b.send(ANY(Type.PUSH_PROMISE, Flag.END_HEADERS, b.held(), struct.pack("!I", 2) + b"\x82"))


simple("PING: 7 bytes", SIZE, ANY(Type.PING, 0, 0, bytes(7)))
simple("PING: answer to none", IGNORED, frames.ping(ack=True))
simple("GOAWAY: 7 bytes", SIZE, ANY(Type.GOAWAY, 0, 0, bytes(7)))

# ---- WINDOW_UPDATE (6.9) ----

simple("WINDOW_UPDATE: 3 bytes", SIZE, ANY(Type.WINDOW_UPDATE, 0, 0, bytes(3)))
simple("WINDOW_UPDATE: 0 on the connection", PROTOCOL, frames.window_update(0, 0))
simple("WINDOW_UPDATE: overflow of the connection", FLOW, frames.window_update(0, MAX_WINDOW))
simple("WINDOW_UPDATE: the connection's most", IGNORED,
       frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))


@case("WINDOW_UPDATE: 0 on a stream", PROTOCOL | resets(Error.PROTOCOL_ERROR))
def _(b):
    b.send(frames.window_update(b.held(), 0))


@case("WINDOW_UPDATE: 5 bytes on a stream", SIZE)
def _(b):
    b.send(ANY(Type.WINDOW_UPDATE, 0, b.held(), bytes(5)))


@case("WINDOW_UPDATE: overflow of a stream", resets(Error.FLOW_CONTROL_ERROR))
def _(b):
    stream = b.wire.request("/big.bin")
    b.stream = stream
    b.wire.wait(lambda: stream in b.wire.responses)
    b.send(frames.window_update(0, 1), frames.window_update(stream, MAX_WINDOW),
           frames.window_update(stream, MAX_WINDOW))


# ---- CONTINUATION (6.10) ----


@case("CONTINUATION behind END_HEADERS", PROTOCOL)
def _(b):
    stream = b.fresh()
    b.send(frames.headers(stream, b.block(), end_stream=False), frames.continuation(stream, b""))


@case("CONTINUATION behind DATA", PROTOCOL)
def _(b):
    stream = b.uploading()
    b.send(frames.data(stream, b"x"), frames.continuation(stream, b.block()))


# ---- PRIORITY_UPDATE (RFC 9218 7.1) ----

simple("PRIORITY_UPDATE on a stream", PROTOCOL,
       ANY(Type.PRIORITY_UPDATE, 0, 1, struct.pack("!I", 1) + b"u=1"))
simple("PRIORITY_UPDATE: 3 bytes", SIZE, ANY(Type.PRIORITY_UPDATE, 0, 0, bytes(3)))
simple("PRIORITY_UPDATE: of stream 0", PROTOCOL, frames.priority_update(0, b"u=1"))
simple("PRIORITY_UPDATE: of a push that was not promised", PROTOCOL,
       frames.priority_update(2, b"u=1"))


@case("PRIORITY_UPDATE: of a closed stream", IGNORED)
def _(b):
    b.send(frames.priority_update(b.finished(), b"u=1"))


@pytest.mark.parametrize("send, expected", CASES)
def test_frame(server, send, expected):
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}, refills=False) as wire:
        bench = Bench(wire)
        send(bench)
        assert bench.outcome() in expected


def test_frames_are_not_answered_after_a_connection_error(server):
    with Wire.connect(server) as wire:
        wire.send(frames.ping() + ANY(Type.PING, 0, 1, bytes(8)) + frames.ping(b"too late"),
                  frames.headers(1, wire.request_block("/one.bin")))

        assert wire.wait_goaway() == Error.PROTOCOL_ERROR
        assert wire.pongs in ([], [bytes(8)])
        assert 1 not in wire.responses
    server.stop()
    assert server.stats["connections"]["protocol_errors"] == 1


def test_a_goaway_of_the_client_lets_its_streams_finish(server, tree):
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}, refills=False) as wire:
        stream = wire.request("/small.txt")
        wire.wait(lambda: stream in wire.responses)
        wire.send(frames.goaway(), frames.window_update(stream, 1024))

        assert wire.response(stream).body == tree.files["small.txt"]
