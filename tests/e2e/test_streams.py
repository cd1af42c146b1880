"""Many streams on one connection, many connections on one worker."""

import contextlib

import pytest

from harness import tools
from harness.peer import Peer
from harness.server import is_sanitized
from harness.wire import Wire

CONNECTIONS = 2000
NAMES = ["empty.txt", "one.bin", "small.txt", "page.bin"]


def serve_many(client, tree, count=1000, concurrent=100):
    """`count` requests over one connection, `concurrent` of them at a time."""
    open_streams = {}
    started = done = 0
    while done < count:
        while started < count and len(open_streams) < concurrent:
            name = NAMES[started % len(NAMES)]
            open_streams[client.request(f"/{name}")] = name
            started += 1
        ready = [s for s in open_streams if s in client.responses and client.responses[s].done]
        if not ready:
            assert client.step(), "the connection ended"
        for stream in ready:
            response = client.responses.pop(stream)
            assert (response.status, response.ended) == (200, True)
            assert response.body == tree.files[open_streams.pop(stream)]
            done += 1


def test_1000_requests_in_100_streams_by_the_raw_client(wire, tree):
    serve_many(wire, tree)


def test_1000_requests_in_100_streams_by_python_h2(server, tree):
    with Peer(server) as peer:
        serve_many(peer, tree)


def test_1000_requests_in_100_streams_by_h2load(server, tree):
    load = tools.h2load(server, *(f"/{name}" for name in NAMES), requests=1000, clients=1,
                        streams=100)

    assert (load.succeeded, load.failed, load.by_class["2xx"]) == (1000, 0, 1000)
    assert load.data_bytes == 250 * sum(len(tree.files[name]) for name in NAMES)


def test_a_stream_id_need_not_follow_the_one_before(wire):
    for stream in (1, 3, 101, 99_999, 2**31 - 3):
        wire.next_stream = stream
        assert wire.get("/one.bin").body == b"x"


def test_the_last_stream_id_of_all_is_served(wire):
    wire.next_stream = 2**31 - 1

    assert wire.get("/one.bin").body == b"x"


@pytest.mark.h2c_only(reason="the client's 2000 handshakes outlast a deadline")
def test_2000_connections_at_once(server, tree):
    with contextlib.ExitStack() as stack:
        wires = []
        for _ in range(CONNECTIONS):
            wires.append(stack.enter_context(contextlib.closing(Wire.connect(server))))
        streams = [wire.request("/small.txt") for wire in wires]
        for wire, stream in zip(wires, streams):
            assert wire.response(stream).body == tree.files["small.txt"]
        for wire in wires:  # all of them are still there
            assert wire.get("/one.bin").body == b"x"

    server.stop()
    assert server.stats["connections"]["accepted"] == CONNECTIONS
    assert server.stats["responses"]["2xx"] == 2 * CONNECTIONS


@pytest.mark.parametrize("workers", [1, 2])
def test_h2load_over_2000_connections(start, tree, transport, workers):
    count = CONNECTIONS
    if transport.name == "tls" and is_sanitized():
        count //= 10  # so many handshakes at once outlast the deadline of each

    load = tools.h2load(start(tree.root, workers=workers), "/small.txt",
                        requests=3 * count, clients=count)

    assert (load.succeeded, load.failed) == (3 * count, 0)
    assert load.data_bytes == 3 * count * 1024


def test_connections_one_after_another(server):
    for _ in range(300):
        with Wire.connect(server) as wire:
            assert wire.get("/one.bin").body == b"x"

    server.stop()
    assert server.stats["connections"] | {"accepted": 300, "closed": 300} == \
        server.stats["connections"]


def test_stats_count_what_was_served(server):
    with Wire.connect(server) as wire:
        wire.get("/small.txt")
        wire.get("/none")
        wire.get("/small.txt", method="POST")
        wire.get("/%zz")

    server.stop()
    assert server.stats["requests"] == 4
    assert (server.stats["responses"]["2xx"], server.stats["responses"]["4xx"]) == (1, 3)
    assert server.stats["bytes"]["sent"] > 1024
    assert server.stats["bytes"]["received"] > 100
