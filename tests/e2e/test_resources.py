"""Descriptors run out, connections lie idle, memory is asked for: the server neither dies nor spins."""

import errno
import time
import urllib.parse

import pytest

from harness import sandbox, tools
from harness.server import is_sanitized
from harness.transport import open_tcp
from harness.wire import Wire, frames

DESCRIPTORS = 64
HUGE_PAGE = 2 * 1024 * 1024
SPAN = 0.5  # seconds over which processor time is measured
PAUSES_MAX = 100  # far more than there are in such a span, and far less than a loop would make


def cpu_share(server, busy=lambda: None):
    """Processor time per second over a span; `busy` is called now and then meanwhile."""
    before, start = server.cpu_seconds(), time.monotonic()
    while (elapsed := time.monotonic() - start) < SPAN:
        busy()
        time.sleep(0.05)
    return (server.cpu_seconds() - before) / elapsed


def crowd(server):
    """More connections than the server has descriptors for; the kernel takes them all."""
    return [open_tcp(server.port) for _ in range(2 * DESCRIPTORS)]


def test_out_of_descriptors_the_server_serves_those_it_has_and_does_not_spin(start, tree):
    server = start(tree.root, descriptors=DESCRIPTORS)
    first = Wire.connect(server)
    assert first.get("/small.txt").body == tree.files["small.txt"]
    waiting = crowd(server)

    def use_first():
        assert first.get("/small.txt").body == tree.files["small.txt"]

    assert cpu_share(server, use_first) < 0.25
    assert server.process.poll() is None
    assert server.descriptor_count() <= DESCRIPTORS

    for sock in waiting:
        sock.close()
    with Wire.connect(server) as late:  # it recovers
        assert late.get("/page.bin").body == tree.files["page.bin"]
        first.close()
    server.stop()
    assert server.stats["connections"]["accept_pauses"] > 0


def test_when_accept_fails_for_want_of_descriptors_it_is_not_tried_all_the_time(start, tree):
    """EMFILE itself: fewer descriptors are left than the server counted on when it started.
    (io_uring takes connections into a table of its own.)"""
    server = start(tree.root, "--io", "epoll")
    first = Wire.connect(server)
    first.get("/small.txt")
    server.limit_descriptors(2)
    waiting = crowd(server)

    cpu_share(server, lambda: first.get("/one.bin"))
    server.limit_descriptors(None)
    for sock in waiting:
        sock.close()
    with Wire.connect(server) as late:
        assert late.get("/page.bin").body == tree.files["page.bin"]
    first.close()
    server.stop()

    assert "accepting paused" in server.log()
    pauses = server.stats["connections"]["accept_pauses"]
    assert 1 <= pauses <= PAUSES_MAX
    # the connections that were waiting, each pause, and the EAGAIN behind each
    assert server.stats["calls"]["accept4"] <= 2 * (len(waiting) + pauses + 2)


@pytest.mark.h2c_only
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_whatever_accept_lacks_the_server_waits_and_ends_in_order(start, tree, error):
    server = start(tree.root, "--io", "epoll", refused=(sandbox.ACCEPT4, error))
    waiting = crowd(server)

    assert cpu_share(server) < 0.1

    assert server.process.poll() is None
    for sock in waiting:
        sock.close()
    server.stop()
    assert 2 <= server.stats["connections"]["accept_pauses"] <= PAUSES_MAX
    assert server.stats["calls"]["accept4"] == server.stats["connections"]["accept_pauses"]


def test_files_can_be_opened_while_connections_wait(start, tree):
    """The files and the connections share the descriptors; neither starves the other."""
    server = start(tree.root, descriptors=DESCRIPTORS)
    wires = [Wire.connect(server) for _ in range(10)]
    waiting = crowd(server)

    for wire, name in zip(wires, tree.files):
        path = urllib.parse.quote(f"/{name}")
        assert wire.get(path).body == tree.files[name]

    for sock in (*wires, *waiting):
        sock.close()


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
        before = server.sockets_and_files_count()
        for _ in range(100):
            with Wire.connect(server) as other:
                other.get("/small.txt")
        wire.ping()
        while server.sockets_and_files_count() > before:  # the last close may still be on its way
            wire.ping()


def test_memory_does_not_grow_with_requests(server):
    if is_sanitized():
        pytest.skip("a sanitizer keeps freed memory")

    def load():
        tools.h2load(server, *["/small.txt", "/none"] * 5, "/medium.bin", requests=20_000,
                     clients=20, streams=20)
        return server.resident_bytes()

    warm = load()
    # memory comes in huge pages: two of them may be cut anew for sizes that the first load missed
    assert load() - warm < 2 * HUGE_PAGE + 512 * 1024


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
    server.stop()
    assert server.stats["connections"]["accepted"] == 40
