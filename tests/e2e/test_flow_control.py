"""Windows are kept to the byte, and a peer that takes little or leaves in the middle harms nobody."""

import random
import socket
import threading
import time

import pytest

from harness.frames import DEFAULT_WINDOW, MAX_WINDOW
from harness.peer import Peer
from harness.tree import BIG_LEN, content
from harness.wire import Setting, Wire, frames

WINDOW = Setting.INITIAL_WINDOW_SIZE


def wide_open(server, **switches):
    """A connection whose windows never stop the server."""
    wire = Wire.connect(server, {WINDOW: MAX_WINDOW}, refills=False, **switches)
    wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))
    return wire


def body_len(wire, stream):
    return len(wire.responses[stream].body) if stream in wire.responses else 0


# ---- windows ----


def test_a_window_of_one_byte_is_served_byte_by_byte(server, tree):
    with Wire.connect(server, {WINDOW: 1}, refills=False) as wire:
        stream = wire.request("/small.txt")
        for granted in range(1, 1025):
            wire.wait(lambda: body_len(wire, stream) >= granted)
            assert body_len(wire, stream) == granted
            if granted < 1024:
                wire.send(frames.window_update(stream, 1))

        assert wire.response(stream).body == tree.files["small.txt"]


def test_python_h2_with_a_window_of_one_byte(server, tree):
    with Peer(server, window=1) as peer:
        assert peer.get("/small.txt").body == tree.files["small.txt"]


@pytest.mark.parametrize("opening", ["window_update", "settings", "steps"])
def test_a_zero_window_holds_the_body_until_it_opens(server, tree, opening):
    with Wire.connect(server, {WINDOW: 0}, refills=False) as wire:
        stream = wire.request("/small.txt")
        wire.wait(lambda: stream in wire.responses)
        wire.ping()
        assert wire.responses[stream].status == 200
        assert body_len(wire, stream) == 0

        if opening == "window_update":
            wire.send(frames.window_update(stream, 1024))
        elif opening == "settings":
            wire.send(frames.settings({WINDOW: 1024}))
        else:
            for step in (1, 10, 1013):
                wire.send(frames.window_update(stream, step))

        assert wire.response(stream).body == tree.files["small.txt"]


def test_an_empty_body_needs_no_window(server):
    with Wire.connect(server, {WINDOW: 0}, refills=False) as wire:
        response = wire.get("/empty.txt")

        assert (response.status, response.ended, response.body) == (200, True, b"")


def test_other_streams_go_on_past_a_closed_one(server, tree):
    with Wire.connect(server, {WINDOW: 0}, refills=False) as wire:
        stuck = wire.request("/large.bin")
        for _ in range(20):
            stream = wire.request("/small.txt")
            wire.send(frames.window_update(stream, 1024))
            assert wire.response(stream).body == tree.files["small.txt"]
        assert body_len(wire, stuck) == 0


def test_the_connection_window_bounds_all_streams_together(server, tree):
    with Wire.connect(server, {WINDOW: MAX_WINDOW}, refills=False) as wire:
        streams = [wire.request("/medium.bin") for _ in range(3)]
        wire.wait(lambda: sum(body_len(wire, s) for s in streams) >= DEFAULT_WINDOW)
        wire.ping()
        assert sum(body_len(wire, s) for s in streams) == DEFAULT_WINDOW

        wire.send(frames.window_update(0, 3 * len(tree.files["medium.bin"])))

        for stream in streams:
            assert wire.response(stream).body == tree.files["medium.bin"]


def test_a_window_made_negative_by_settings_is_waited_out(server, tree):
    with Wire.connect(server, {WINDOW: 50_000}, refills=False) as wire:
        stream = wire.request("/medium.bin")
        wire.wait(lambda: body_len(wire, stream) == 50_000)

        wire.send(frames.settings({WINDOW: 0}))  # now -50,000
        wire.send(frames.window_update(stream, 49_999), frames.window_update(0, 100_000))
        wire.ping()
        assert body_len(wire, stream) == 50_000

        wire.send(frames.window_update(stream, 2))  # now 1
        wire.wait(lambda: body_len(wire, stream) > 50_000)
        wire.ping()
        assert body_len(wire, stream) == 50_001

        wire.send(frames.window_update(stream, 100_000))
        assert wire.response(stream).body == tree.files["medium.bin"]


def test_frames_fit_the_size_that_the_client_takes(server, tree):
    with wide_open(server) as wire:
        stream = wire.request("/large.bin")
        lengths = []
        while not (stream in wire.responses and wire.responses[stream].done):
            before = body_len(wire, stream)
            wire.step()
            lengths.append(body_len(wire, stream) - before)

        assert max(lengths) <= frames.MAX_FRAME
        assert wire.responses[stream].body == tree.files["large.bin"]


# ---- slow readers ----


def test_a_slow_reader_does_not_slow_down_a_fast_one(server):
    """1 KiB a second goes to one connection while others get 100 MiB at a time."""
    slow = wide_open(server, receive_buffer=4096)
    slow.request("/big.bin")
    taken = bytearray()
    paced_reads = threading.Event()

    def read_slowly():
        for _ in range(4):
            taken.extend(slow.sock.recv(1024))
            time.sleep(1)
        paced_reads.set()

    reader = threading.Thread(target=read_slowly)
    reader.start()
    downloads = 0
    while downloads < 3 or not paced_reads.is_set():
        with wide_open(server) as fast:
            assert len(fast.get("/big.bin").body) == BIG_LEN
            downloads += 1
    reader.join()

    assert 0 < len(taken) <= 4 * 1024
    slow._in += taken
    slow.wait(lambda: body_len(slow, 1) >= 1024 * 1024)
    assert content(BIG_LEN).startswith(bytes(slow.responses[1].body))
    slow.abort()


# ---- those who leave ----


def test_rst_stream_mid_body_stops_that_stream_alone(server, tree):
    with wide_open(server) as wire:
        for _ in range(30):
            stream = wire.request("/big.bin")
            wire.wait(lambda: body_len(wire, stream) > 0)
            wire.send(frames.rst_stream(stream))

            assert wire.get("/small.txt").body == tree.files["small.txt"]
            assert not wire.responses[stream].ended
            assert body_len(wire, stream) < BIG_LEN


def test_rst_stream_right_behind_its_request(server, tree):
    with wide_open(server) as wire:
        for _ in range(30):
            stream = wire.open_id()
            wire.send(frames.headers(stream, wire.request_block("/big.bin")),
                      frames.rst_stream(stream))

            assert wire.get("/small.txt").body == tree.files["small.txt"]


@pytest.mark.parametrize("how", ["fin", "rst"])
def test_a_connection_cut_mid_body_frees_everything(server, tree, how):
    rng = random.Random(42)
    for _ in range(40):
        wire = wide_open(server)
        streams = [wire.request("/big.bin") for _ in range(rng.randint(1, 10))]
        enough = rng.randint(1, 2_000_000)
        wire.wait(lambda: sum(body_len(wire, s) for s in streams) >= enough)
        wire.abort() if how == "rst" else wire.close()

    with Wire.connect(server) as wire:
        assert wire.get("/small.txt").body == tree.files["small.txt"]
    server.stop()
    assert server.stats["connections"]["accepted"] == 41


def test_who_asks_once_more_and_leaves_while_output_waits(server):
    """What came and the reset are found in one turn: nothing may be started for the connection."""
    for _ in range(5):
        wire = wide_open(server, receive_buffer=4096)
        stream = wire.request("/big.bin")
        wire.wait(lambda: stream in wire.responses and wire.responses[stream].body)
        server.pause()
        wire.send(frames.ping())
        wire.abort()
        server.resume()
        with Wire.connect(server) as other:
            assert other.get("/one.bin").body == b"x"


def test_a_half_closed_connection_gets_its_response_to_the_end(server, transport):
    if transport.name == "tls":
        pytest.skip("a FIN without close_notify is a cut connection (RFC 8446 6.1)")
    with wide_open(server) as wire:
        stream = wire.request("/big.bin")
        wire.wait(lambda: body_len(wire, stream) > 0)
        wire.sock.shutdown(socket.SHUT_WR)

        assert wire.response(stream).body == content(BIG_LEN)
        assert wire.wait_end() == "fin"


def test_a_client_gone_at_any_byte_of_its_request(server, tree):
    blob = frames.PREFACE + frames.settings() + frames.headers(
        1, Wire(server.connect()).request_block("/large.bin"))
    for cut in range(0, len(blob) + 1):
        sock = server.connect()
        sock.sendall(blob[:cut])
        sock.close()

    with Wire.connect(server) as wire:
        assert wire.get("/small.txt").body == tree.files["small.txt"]
