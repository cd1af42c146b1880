"""How a connection begins (RFC 9113 3.4)."""

import random
import re

import pytest

from harness import frames
from harness.frames import Error, Flag, Setting
from harness.wire import Wire

TLS_HELLO = bytes.fromhex("1603010200010001fc0303") + bytes(500)


def read_to_end(sock):
    """All that the server says until it closes."""
    said = b""
    try:
        while more := sock.recv(65536):
            said += more
    except ConnectionResetError:
        pass
    return said


def test_the_first_frame_of_the_server_is_settings(server):
    wire = Wire.connect(server, handshake=False)

    first = wire.step()

    assert (first.type, first.stream) == (frames.Type.SETTINGS, 0)
    assert not first.flags & Flag.ACK
    wire.close()


def test_the_settings_of_the_server(wire):
    assert wire.settings[Setting.MAX_CONCURRENT_STREAMS] == 100
    assert wire.settings[Setting.NO_RFC7540_PRIORITIES] == 1
    assert wire.settings[Setting.MAX_HEADER_LIST_SIZE] == 32 * 1024
    assert wire.settings.get(Setting.MAX_FRAME_SIZE, 16384) == 16384
    assert wire.settings.get(Setting.ENABLE_CONNECT_PROTOCOL, 0) == 0
    assert Setting.ENABLE_PUSH not in wire.settings or wire.settings[Setting.ENABLE_PUSH] == 0


def test_a_connection_may_arrive_byte_by_byte(server, tree):
    wire = Wire(server.connect())
    blob = frames.PREFACE + frames.settings({Setting.INITIAL_WINDOW_SIZE: 70000}) + \
        frames.window_update(0, 5) + frames.headers(1, wire.request_block("/small.txt"))

    for byte in blob:
        wire.send(bytes([byte]))

    assert wire.response(1).body == tree.files["small.txt"]
    wire.close()


def test_a_connection_may_arrive_in_two_parts_cut_anywhere(server, tree):
    blob = frames.PREFACE + frames.settings()
    for cut in range(1, len(blob)):
        wire = Wire(server.connect())
        wire.send(blob[:cut])
        with Wire.connect(server) as other:  # by now the server has seen the first part
            assert other.get("/one.bin").body == b"x"
        wire.send(blob[cut:])
        assert wire.get("/small.txt").body == tree.files["small.txt"]
        wire.close()


def test_requests_may_come_in_one_segment_with_the_preface(server, tree):
    wire = Wire(server.connect())
    blocks = [wire.request_block("/small.txt") for _ in range(50)]

    wire.send(frames.PREFACE, frames.settings(),
              *(frames.headers(2 * i + 1, block) for i, block in enumerate(blocks)))

    for i in range(50):
        assert wire.response(2 * i + 1).body == tree.files["small.txt"]
    wire.close()


GARBAGE = {
    "random": random.Random(7).randbytes(1000),
    "zeros": bytes(65536),
    "one byte": b"\xff",
    "TLS": TLS_HELLO,
    "another method": b"PRX * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "another version": b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n",
    "last byte wrong": frames.PREFACE[:-1] + b"x" + frames.settings(),
    "lines without CR": frames.PREFACE.replace(b"\r", b"") + frames.settings(),
    "newline first": b"\r\n" + frames.PREFACE + frames.settings(),
    "frames without preface": frames.settings() + frames.ping(),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_instead_of_a_preface_ends_the_connection(server, garbage):
    sock = server.connect()
    sock.sendall(garbage)

    said = read_to_end(sock)
    sock.close()

    is_http1_error = re.match(rb"HTTP/1\.1 (400|505) ", said)
    is_goaway = said.endswith(b"\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01")  # PROTOCOL_ERROR
    assert said == b"" or is_http1_error or is_goaway
    with Wire.connect(server) as wire:
        assert wire.get("/one.bin").body == b"x"
    server.stop()
    assert server.stats["requests"] == 1


FIRST_FRAMES = {
    "PING": frames.ping(),
    "HEADERS": frames.headers(1, b"\x82\x86\x84\x41\x01x"),
    "WINDOW_UPDATE": frames.window_update(0, 1),
    "SETTINGS with ACK": frames.settings(ack=True),
    "unknown": frames.frame(0xBB, 0, 0, b"x"),
}


@pytest.mark.parametrize("first", FIRST_FRAMES.values(), ids=FIRST_FRAMES.keys())
def test_settings_must_come_first(server, first):
    wire = Wire(server.connect())

    wire.send(frames.PREFACE, first)

    assert wire.wait_goaway() == Error.PROTOCOL_ERROR
    wire.close()


@pytest.mark.parametrize("cut", [0, 1, 3, 23, 24, 28, 33])
def test_a_client_may_leave_within_its_preface(server, cut):
    sock = server.connect()
    sock.sendall((frames.PREFACE + frames.settings({Setting.ENABLE_PUSH: 0}))[:cut])
    sock.close()

    with Wire.connect(server) as wire:
        assert wire.get("/one.bin").body == b"x"
