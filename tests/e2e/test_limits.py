"""What a peer may do, and what it costs it to do more (ATTACKS of HTTP/2).

Each breach ends the connection by GOAWAY(ENHANCE_YOUR_CALM) that arrives before the FIN, costs the
server next to nothing, and goes unnoticed by other connections.
"""

import pytest

from harness import frames
from harness.frames import MAX_WINDOW, Error, Setting
from harness.server import is_sanitized
from harness.wire import Wire

CALM = Error.ENHANCE_YOUR_CALM
MIB = 1024 * 1024
BREACHES = "limit_breaches"


def assert_ended_calmly(server, wire, code=CALM):
    """The connection ended as it should, and the server is none the worse."""
    assert wire.wait_goaway() == code
    wire.close()
    with Wire.connect(server) as other:
        assert other.get("/one.bin").body == b"x"
    server.stop()
    if code == CALM:
        assert server.stats["connections"][BREACHES] == 1


# ---- field sections ----


def fields(count, size=1):
    return [(f"x-{i}", "v" * size) for i in range(count)]


@pytest.mark.parametrize("extra, status", [
    (fields(90), 200), (fields(110), 431), (fields(190), 431),
    ([("cookie", "a=b")] * 110, 431), ([*fields(110), ("host", "localhost")], 431),
    (fields(7, 4000), 200), (fields(10, 4000), 431), (fields(14, 4000), 431),
], ids=["90 fields", "110 fields", "190 fields", "110 crumbs", "110 and host", "28 KiB", "40 KiB",
        "56 KiB"])
def test_field_sections_over_the_limit_get_431(wire, extra, status):
    for _ in range(3):
        stream = wire.open_id()
        block = wire.request_block("/one.bin", extra=extra)
        pieces = [block[i:i + 16384] for i in range(0, len(block), 16384)]
        wire.send(frames.headers(stream, pieces[0], end_headers=len(pieces) == 1),
                  *(frames.continuation(stream, piece, end_headers=piece is pieces[-1])
                    for piece in pieces[1:]))
        assert wire.response(stream).status == status
    assert wire.get("/one.bin").body == b"x"


def test_fields_far_over_the_limit_end_the_connection(server):
    wire = Wire.connect(server)
    wire.request("/one.bin", extra=fields(300))

    assert_ended_calmly(server, wire)


@pytest.mark.parametrize("name", ["x-bomb", "cookie"])
def test_references_to_one_table_entry_end_the_connection(server, name):
    """A field of one byte on the wire, thousands of times (the HPACK bomb)."""
    wire = Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0})
    block = wire.request_block("/one.bin", extra=[(name, "v" * 2000)])
    stream = wire.open_id()
    wire.send(frames.headers(stream, block + b"\xbe" * 10_000))

    assert_ended_calmly(server, wire)


def test_bytes_far_over_the_limit_end_the_connection(server):
    wire = Wire.connect(server)
    block = wire.request_block("/one.bin", extra=fields(18, 4000))
    pieces = [block[i:i + 16384] for i in range(0, len(block), 16384)]
    stream = wire.open_id()
    wire.send(frames.headers(stream, pieces[0], end_headers=False),
              *(frames.continuation(stream, piece, end_headers=piece is pieces[-1])
                for piece in pieces[1:]))

    assert_ended_calmly(server, wire)


# ---- CONTINUATION ----


def continued(wire, count, piece):
    """HEADERS and so many CONTINUATIONs without an end, each a bit of one never-indexed value."""
    stream = wire.open_id()
    opening = wire.request_block("/one.bin") + b"\x10\x01x\x7f\x81\xff\x03"  # 65,535 bytes follow
    return frames.headers(stream, opening, end_headers=False) + \
        frames.continuation(stream, piece, end_headers=False) * count


def test_four_continuations_are_allowed(wire):
    stream = wire.open_id()
    block = wire.request_block("/one.bin", extra=[("x-long", "y" * 100)])
    wire.send(frames.headers(stream, block[:5], end_headers=False),
              *(frames.continuation(stream, block[i:i + 5], end_headers=False)
                for i in (5, 10, 15)),
              frames.continuation(stream, block[20:]))

    assert wire.response(stream).body == b"x"


def test_the_fifth_continuation_ends_the_connection(server):
    wire = Wire.connect(server)
    wire.send(continued(wire, 5, b"y"))

    assert_ended_calmly(server, wire)


@pytest.mark.parametrize("length", [0, 1, 16384])
def test_a_flood_of_continuations_ends_the_connection(server, length):
    wire = Wire.connect(server)
    wire.flood(continued(wire, 20_000 if length < 2 else 500, b"y" * length))

    assert_ended_calmly(server, wire)


def test_an_empty_continuation_ends_the_connection(server):
    wire = Wire.connect(server)
    wire.send(continued(wire, 1, b""))

    assert_ended_calmly(server, wire)


# ---- floods of frames that ask for nothing ----

FLOODS = {
    "PING": lambda w: frames.ping() * 20_000,
    "PING answers": lambda w: frames.ping(ack=True) * 20_000,
    "SETTINGS": lambda w: frames.settings() * 20_000,
    "SETTINGS of a table size": lambda w: (frames.settings({Setting.HEADER_TABLE_SIZE: 0}) +
                                           frames.settings({Setting.HEADER_TABLE_SIZE: 65536})) *
    10_000,
    "PRIORITY": lambda w: frames.priority(1) * 20_000,
    "PRIORITY_UPDATE": lambda w: frames.priority_update(1, b"u=1") * 20_000,
    "unknown type": lambda w: frames.frame(0xBB, 0, 0, b"") * 20_000,
    "unknown type of 1 KiB": lambda w: frames.frame(0xBB, 0, 0, bytes(1024)) * 20_000,
    "WINDOW_UPDATE": lambda w: frames.window_update(0, 1) * 20_000,
    "empty DATA": lambda w: (frames.headers(w.open_id(), w.request_block("/one.bin", "POST"),
                                            end_stream=False) + frames.data(1) * 20_000),
    "RST_STREAM of a closed stream": lambda w: (frames.headers(w.open_id(), w.request_block("/")) +
                                                frames.rst_stream(1) * 20_000),
}


@pytest.mark.parametrize("reads", [True, False], ids=["reading", "deaf"])
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_ends_the_connection(server, flood, reads):
    wire = Wire.connect(server)
    before = server.cpu_seconds()
    if reads:
        wire.flood(flood(wire))
    else:
        try:
            wire.send(flood(wire))
        except OSError:
            pass  # the server had enough: what it said is still to be read

    assert wire.wait_goaway() == CALM
    if not is_sanitized():
        assert server.cpu_seconds() - before < 0.5
    assert_ended_calmly(server, wire)


@pytest.mark.parametrize("frame", [frames.ping(), frames.settings(), frames.priority(1),
                                   frames.frame(0xBB, 0, 0, b"x")],
                         ids=["PING", "SETTINGS", "PRIORITY", "unknown"])
def test_a_fair_number_of_control_frames_is_served(wire, frame):
    wire.flood(frame * 500)

    assert wire.get("/one.bin").body == b"x"


# ---- resets ----


@pytest.mark.parametrize("path", ["/one.bin", "/big.bin", "/none"])
def test_rapid_reset_ends_the_connection(server, path):
    """A request and its reset, as fast as they can be sent."""
    wire = Wire.connect(server)
    opened = [wire.open_id() for _ in range(5000)]
    wire.flood(b"".join(frames.headers(s, wire.request_block(path)) + frames.rst_stream(s)
                        for s in opened))
    assert wire.wait_goaway() == CALM
    assert_ended_calmly(server, wire)
    assert server.stats["requests"] < 600


def test_resets_of_requests_that_were_answered_cost_nothing(wire):
    for _ in range(600):
        stream = wire.request("/one.bin", method="HEAD")
        wire.response(stream)
        wire.send(frames.rst_stream(stream))

    assert wire.get("/one.bin").body == b"x"


def provoke_by_window(wire):
    stream = wire.request("/small.txt")
    wire.send(frames.window_update(stream, MAX_WINDOW), frames.window_update(stream, MAX_WINDOW))
    return stream


def provoke_by_zero_increment(wire):
    stream = wire.request("/small.txt")
    wire.send(frames.window_update(stream, 0))
    return stream


def provoke_by_length(wire):
    stream = wire.request("/small.txt", extra=[("content-length", "1")], end_stream=False)
    wire.send(frames.data(stream, b"too long", end_stream=True))
    return stream


def provoke_by_trailers(wire):
    stream = wire.request("/small.txt", end_stream=False)
    wire.send(frames.headers(stream, wire.encoder.encode([("Bad Name", "x")])))
    return stream


def provoke_by_fields(wire):
    return wire.request("/small.txt", extra=[("connection", "close")])


def provoke_by_data_behind_the_end(wire):
    stream = wire.request("/small.txt")
    wire.send(frames.data(stream, b"x"))
    return stream


def provoke_by_priority(wire):
    stream = wire.request("/small.txt")
    wire.send(frames.frame(frames.Type.PRIORITY, 0, stream, bytes(4)))
    return stream


def provoke_by_settings(wire):
    """The window of the open stream overflows by a change of all windows."""
    stream = wire.request("/small.txt")
    wire.send(frames.window_update(stream, MAX_WINDOW),
              frames.settings({Setting.INITIAL_WINDOW_SIZE: 1}),
              frames.settings({Setting.INITIAL_WINDOW_SIZE: 0}))
    return stream


PROVOCATIONS = [provoke_by_window, provoke_by_zero_increment, provoke_by_length,
                provoke_by_trailers, provoke_by_fields, provoke_by_data_behind_the_end,
                provoke_by_priority, provoke_by_settings]


@pytest.mark.parametrize("provoke", PROVOCATIONS, ids=lambda p: p.__name__)
def test_resets_provoked_from_the_server_end_the_connection(server, provoke):
    """Valid requests, each followed by what makes the server reset them (MadeYouReset)."""
    wire = Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0})
    provoked = 0
    while not wire.over and provoked < 60:
        try:
            stream = provoke(wire)
            provoked += 1
            wire.wait(lambda: stream in wire.responses and wire.responses[stream].done)
        except (AssertionError, OSError):
            wire.wait_end()

    assert provoked <= 40
    assert wire.wait_goaway() in (CALM, Error.PROTOCOL_ERROR, Error.STREAM_CLOSED,
                                  Error.FRAME_SIZE_ERROR, Error.FLOW_CONTROL_ERROR)
    with Wire.connect(server) as other:
        assert other.get("/one.bin").body == b"x"


# ---- streams ----


def test_streams_beyond_100_are_refused(server, tree):
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}) as wire:
        taken = [wire.request("/small.txt") for _ in range(100)]
        refused = [wire.request("/small.txt") for _ in range(10)]
        for stream in refused:
            assert wire.response(stream).reset == Error.REFUSED_STREAM
        wire.wait(lambda: all(stream in wire.responses for stream in taken))

        wire.send(frames.window_update(taken[0], 1024))
        assert wire.response(taken[0]).body == tree.files["small.txt"]
        again = wire.request("/small.txt")  # there is room for one now
        wire.send(frames.window_update(again, 1024))
        assert wire.response(again).body == tree.files["small.txt"]

    server.stop()
    assert server.stats["streams"]["refused"] == 10


def test_a_stream_reset_by_the_client_makes_room(server):
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}) as wire:
        streams = [wire.request("/small.txt") for _ in range(100)]
        wire.wait(lambda: all(stream in wire.responses for stream in streams))
        wire.send(*(frames.rst_stream(stream) for stream in streams))

        assert wire.response(wire.request("/one.bin", method="HEAD")).status == 200


def test_who_keeps_opening_refused_streams_is_sent_away(server):
    wire = Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0})
    block = [wire.request_block("/small.txt") for _ in range(400)]
    wire.flood(b"".join(frames.headers(2 * i + 1, b) for i, b in enumerate(block)))

    assert_ended_calmly(server, wire)


# ---- memory ----


def test_streams_that_wait_for_a_window_hold_no_body(server):
    """100 streams of 5 MiB each, no window: nothing of them is read ahead into memory."""
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}) as first:
        first.response(first.request("/large.bin", method="HEAD"))
        before = server.resident_bytes()
        wires = [Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 1}, refills=False)
                 for _ in range(5)]
        for wire in wires:
            streams = [wire.request("/large.bin") for _ in range(100)]
            wire.wait(lambda: all(s in wire.responses and wire.responses[s].body
                                  for s in streams))
        grown = server.resident_bytes() - before
        for wire in wires:
            wire.abort()

    if not is_sanitized():
        assert grown < 8 * MIB


def test_another_connection_is_served_during_a_flood(server):
    with Wire.connect(server) as victim:
        for _ in range(10):
            attacker = Wire.connect(server)
            attacker.flood(frames.ping() * 3000)
            assert victim.get("/one.bin").body == b"x"
            assert attacker.wait_goaway() == CALM
            attacker.close()
