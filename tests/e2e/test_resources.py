"""Descriptors run out, connections lie idle, memory is asked for: the server neither dies nor spins."""

import socket
import time

import pytest

from harness import tools
from harness.server import is_sanitized
from harness.wire import Wire, frames

DESCRIPTORS = 64
SPAN = 2  # seconds over which processor time is measured


def cpu_share(server, busy=lambda: None):
    """Processor time per second over a span; `busy` is called now and then meanwhile."""
    before, start = server.cpu_seconds(), time.monotonic()
    while (elapsed := time.monotonic() - start) < SPAN:
        busy()
        time.sleep(0.05)
    return (server.cpu_seconds() - before) / elapsed


@pytest.mark.h2c_only(reason="a handshake waits for its accept")
def test_out_of_descriptors_the_server_serves_those_it_has_and_does_not_spin(start, tree):
    server = start(tree.root, descriptors=DESCRIPTORS)
    first = Wire.connect(server)
    assert first.get("/small.txt").body == tree.files["small.txt"]
    crowd = [server.connect() for _ in range(2 * DESCRIPTORS)]  # the kernel takes them all
    for sock in crowd:
        sock.sendall(frames.PREFACE + frames.settings())

    def use_first():
        assert first.get("/small.txt").body == tree.files["small.txt"]

    assert cpu_share(server, use_first) < 0.25
    assert server.process.poll() is None
    assert server.descriptor_count() <= DESCRIPTORS

    for sock in crowd:
        sock.close()
    with Wire.connect(server) as late:  # it recovers
        assert late.get("/page.bin").body == tree.files["page.bin"]
        first.close()
    server.stop()
    assert server.stats["connections"]["accept_pauses"] > 0


@pytest.mark.h2c_only(reason="a handshake waits for its accept")
def test_files_can_be_opened_while_connections_wait(start, tree):
    """The file cache and the connections share the descriptors; neither starves the other."""
    server = start(tree.root, descriptors=DESCRIPTORS)
    crowd = [server.connect() for _ in range(2 * DESCRIPTORS)]
    for sock in crowd:
        sock.sendall(frames.PREFACE + frames.settings() +
                     frames.headers(1, Wire(sock).request_block("/sub/deep/file.txt")))
    answered = [sock for sock in crowd[:10] if b"deep\n" in read_until(sock, b"deep\n")]
    assert len(answered) == 10
    for sock in crowd:
        sock.close()


def read_until(sock, mark):
    said = b""
    while mark not in said:
        more = sock.recv(65536)
        if not more:
            break
        said += more
    return said


def test_idle_connections_cost_no_processor_time(server):
    wires = [Wire.connect(server) for _ in range(50)]
    for wire in wires:
        wire.get("/one.bin")

    assert cpu_share(server) < 0.02
    for wire in wires:
        wire.close()


def test_a_server_without_connections_costs_no_processor_time(server):
    assert cpu_share(server) < 0.02


def test_clients_that_wait_for_a_window_cost_no_processor_time(server):
    wire = Wire.connect(server, {frames.Setting.INITIAL_WINDOW_SIZE: 0}, refills=False)
    streams = [wire.request("/large.bin") for _ in range(100)]
    wire.wait(lambda: all(stream in wire.responses for stream in streams))

    assert cpu_share(server) < 0.02
    wire.close()


def test_descriptors_come_back(server, tree):
    with Wire.connect(server) as wire:
        wire.get("/small.txt")
        before = server.descriptor_count()
        for _ in range(100):
            with Wire.connect(server) as other:
                other.get("/small.txt")
        wire.ping()
        while server.descriptor_count() > before:  # the last close may still be on its way
            wire.ping()


def test_memory_does_not_grow_with_requests(server):
    if is_sanitized():
        pytest.skip("a sanitizer keeps freed memory")

    def load():
        tools.h2load(server, "/small.txt", "/none", "/medium.bin", requests=20_000, clients=20,
                     streams=20)
        return server.resident_bytes()

    warm = load()
    assert load() - warm < 2 * 1024 * 1024


def test_a_port_can_be_taken_again_at_once(start, tree):
    first = start(tree.root)
    with Wire.connect(first) as wire:
        wire.get("/one.bin")
        port = first.port
        first.stop()

    option = first.transport.listen[0]
    second = start(tree.root, listen=(option, f"127.0.0.1:{port}"))
    assert second.port == port
    with Wire.connect(second) as wire:
        assert wire.get("/one.bin").body == b"x"


def test_many_workers_share_the_connections(start, tree):
    server = start(tree.root, workers=4)
    load = tools.h2load(server, "/small.txt", requests=2000, clients=40, streams=4)

    assert load.succeeded == 2000
    with socket.create_connection(("127.0.0.1", server.port)):
        pass
    server.stop()
    assert server.stats["connections"]["accepted"] == 41
