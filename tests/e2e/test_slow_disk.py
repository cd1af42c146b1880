"""Disks that do not answer: what waits for them holds up nothing else.

The files lie on a file system of the test's own, whose reads wait until the test lets them go.
"""

import contextlib
import json
import os
import signal
import time

import pytest

from harness import frames
from harness.frames import Error
from harness.line import Line
from harness.slow_disk import LOOKUP, OPEN, OPENDIR, READ, READDIR, SlowDisk
from harness.tree import MIB, content
from harness.wire import PATIENCE, Wire

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"),
                                reason="mounting a file system is not permitted here")

HOT = {"hot.txt": content(1000), "hot.bin": content(3 * MIB)}
COLD = {"cold.txt": content(5000, seed=1), "cold.bin": content(3 * MIB, seed=2),
        "huge.bin": content(9 * MIB + 17, seed=3)}
HELPERS = 6  # LIMIT_HELPERS - LIMIT_HELPERS_QUICK


@pytest.fixture
def disk(tmp_path):
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    others = {f"other{i}.txt": content(500, seed=i) for i in range(HELPERS)}
    with SlowDisk(mount_point, {**HOT, **COLD, **others}) as mounted:
        yield mounted


@pytest.fixture
def slow(start, disk):
    """A server of the disk that has the hot files in memory."""
    server = start(disk.path, "--list")
    with Wire.connect(server) as wire:
        for name, body in HOT.items():
            assert wire.get(f"/{name}").body == body
    yield server
    disk.release_all()
    server.stop()  # before the disk goes


def check_hot(server, *wires):
    """Hot files come at once, on these connections and on others of both protocols."""
    with Wire.connect(server) as fresh, Line.connect(server) as line:
        for wire in (*wires, fresh):
            for name, body in HOT.items():
                response = wire.get(f"/{name}")
                assert (response.status, response.body) == (200, body)
        for name, body in HOT.items():
            line.send(f"GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            status, _, got = line.read()
            assert (status, got) == (200, body)


@pytest.mark.parametrize("name", COLD)
@pytest.mark.parametrize("what", [LOOKUP, OPEN, READ])
def test_what_waits_holds_up_nobody(slow, disk, name, what):
    disk.hold(name, what)
    with Wire.connect(slow) as wire:
        stream = wire.request(f"/{name}")
        disk.wait_for(name, what)
        check_hot(slow, wire)
        assert stream not in wire.responses or not wire.responses[stream].body

        disk.release(name, what)
        response = wire.response(stream)
        assert (response.status, response.body) == (200, COLD[name])
        assert response.ended


@pytest.mark.parametrize("name", COLD)
@pytest.mark.parametrize("what", [LOOKUP, OPEN, READ])
def test_the_same_by_http_1(slow, disk, name, what):
    disk.hold(name, what)
    with Line.connect(slow) as line:
        line.send(f"GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
                  b"GET /hot.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        disk.wait_for(name, what)
        check_hot(slow)
        disk.release(name, what)
        assert line.read()[::2] == (200, COLD[name])
        assert line.read()[::2] == (200, HOT["hot.txt"])


@pytest.mark.parametrize("name,what", [("", OPENDIR), ("", READDIR), ("other0.txt", LOOKUP)])
def test_a_directory_that_waits_holds_up_nobody(slow, disk, name, what):
    """Its list is asked for once, for all who want it; another page of it is another list."""
    disk.hold(name, what)
    with Wire.connect(slow) as wire, Line.connect(slow) as line:
        pages = [wire.request("/") for _ in range(3)]
        lists = [wire.request("/", extra=[("accept", "application/json")]) for _ in range(3)]
        line.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        disk.wait_for(name, what)
        check_hot(slow, wire)
        assert not any(stream in wire.responses for stream in pages + lists)

        disk.release(name, what)
        for stream in pages:
            response = wire.response(stream)
            assert (response.status, response.body.count(b"<tr>")) == (200, len(disk.names))
        for stream in lists:
            entries = json.loads(wire.response(stream).body)["entries"]
            assert [entry["name"] for entry in entries] == sorted(disk.names)
        assert line.read()[0] == 200


def test_lists_that_wait_are_bounded(slow, disk):
    """Each of these is another list; whoever comes too late is told at once."""
    disk.hold("", READDIR)
    with Wire.connect(slow) as wire, Wire.connect(slow) as other, Wire.connect(slow) as late:
        waiting = [(w, w.request(f"/?page={page}"))
                   for w, first in ((wire, 1), (other, 101)) for page in range(first, first + 100)]
        disk.wait_for("", READDIR)
        wire.ping()
        other.ping()
        response = late.get("/?page=201")
        assert (response.status, response.get("retry-after")) == (503, "1")
        same = late.request("/?page=200")
        check_hot(slow, late)
        disk.release("", READDIR)
        assert [w.response(stream).status for w, stream in waiting] == [200] + [404] * 199
        assert late.response(same).status == 404


def test_streams_that_are_reset_while_their_list_is_made(slow, disk):
    disk.hold("", READDIR)
    with Wire.connect(slow) as wire:
        streams = [wire.request("/") for _ in range(3)]
        disk.wait_for("", READDIR)
        wire.send(*(frames.rst_stream(stream, Error.CANCEL) for stream in streams[:2]))
        wire.ping()
        disk.release("", READDIR)
        assert wire.response(streams[2]).status == 200
        check_hot(slow, wire)


def test_a_request_that_is_refused_while_it_waits(slow, disk):
    """Its body turns out to be none: the answer does not wait for the file."""
    disk.hold("cold.txt")
    with Line.connect(slow) as line:
        line.send(b"GET /cold.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        disk.wait_for("cold.txt")
        line.send(b"no chunk\r\n")
        status, fields, _ = line.read()
        assert (status, dict(fields)["content-type"]) == (400, "text/html; charset=utf-8")
        assert line.read() is None
    disk.release("cold.txt")
    with Wire.connect(slow) as wire:
        assert wire.get("/cold.txt").body == COLD["cold.txt"]
        check_hot(slow, wire)


def test_many_wait_for_one_file(slow, disk):
    disk.hold("cold.bin")
    with Wire.connect(slow) as wire, Wire.connect(slow) as other:
        streams = [wire.request("/cold.bin") for _ in range(20)]
        others = [other.request("/cold.bin") for _ in range(20)]
        disk.wait_for("cold.bin")
        check_hot(slow, wire, other)
        disk.release("cold.bin")
        for connection, asked in ((wire, streams), (other, others)):
            for stream in asked:
                assert connection.response(stream).body == COLD["cold.bin"]


def test_a_disk_that_answers_nothing_holds_up_no_file_in_memory(slow, disk):
    """More files than there are threads to wait for them."""
    names = [f"other{i}.txt" for i in range(HELPERS)] + ["cold.txt", "cold.bin"]
    for name in names:
        disk.hold(name)
    with Wire.connect(slow) as wire:
        streams = {name: wire.request(f"/{name}") for name in names}
        for name in names[:HELPERS]:
            disk.wait_for(name)
        seen = {name: disk.asked(name) for name in HOT}
        deadline = time.monotonic() + PATIENCE
        while any(disk.asked(name) == seen[name] for name in HOT):  # it is looked at again
            assert time.monotonic() < deadline
            check_hot(slow, wire)
        check_hot(slow, wire)
        for name in names:
            disk.release(name)
        for stream in streams.values():
            assert wire.response(stream).status == 200


def test_a_later_chunk_waits_alone(slow, disk):
    """The first megabytes come while the rest is held."""
    body = COLD["huge.bin"]
    disk.hold_from("huge.bin", 6 * MIB)
    with Wire.connect(slow) as wire:
        stream = wire.request("/huge.bin")
        wire.wait(lambda: stream in wire.responses and len(wire.responses[stream].body) >= 5 * MIB)
        disk.wait_for("huge.bin")
        check_hot(slow, wire)
        assert len(wire.responses[stream].body) < len(body)
        disk.release("huge.bin")
        assert wire.response(stream).body == body


def test_ranges_wait_for_their_own_bytes(slow, disk):
    body = COLD["huge.bin"]
    disk.hold_from("huge.bin", 6 * MIB)
    with Wire.connect(slow) as wire:
        late = wire.request("/huge.bin", extra=[("range", f"bytes={8 * MIB}-")])
        disk.wait_for("huge.bin")
        response = wire.get("/huge.bin", extra=[("range", f"bytes={MIB}-{2 * MIB - 1}")])
        assert (response.status, response.body) == (206, body[MIB:2 * MIB])
        disk.release("huge.bin")
        response = wire.response(late)
        assert (response.status, response.body) == (206, body[8 * MIB:])


@pytest.mark.parametrize("name", ["cold.txt", "cold.bin"])
def test_a_disk_error_before_the_response_is_a_500(slow, disk, name):
    disk.fail(name)
    with Wire.connect(slow) as wire, Line.connect(slow) as line:
        assert wire.get(f"/{name}").status == 500
        line.send(f"GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert line.read()[0] == 500
        check_hot(slow, wire)

        disk.fail(name, 0)
        assert wire.get(f"/{name}").body == COLD[name]


def test_a_directory_that_cannot_be_read_is_a_500(slow, disk):
    disk.fail("")
    with Wire.connect(slow) as wire:
        assert wire.get("/").status == 500
        check_hot(slow, wire)
        disk.fail("", 0)
        assert wire.get("/").status == 200


def test_a_disk_error_within_a_response_resets_it(slow, disk):
    disk.fail("huge.bin", offset=6 * MIB)
    with Wire.connect(slow) as wire:
        stream = wire.request("/huge.bin")
        response = wire.response(stream)
        assert response.reset == Error.INTERNAL_ERROR and not response.ended
        assert COLD["huge.bin"].startswith(response.body) and len(response.body) >= 5 * MIB
        check_hot(slow, wire)


def test_a_disk_error_within_a_response_cuts_http_1(slow, disk):
    disk.fail("huge.bin", offset=6 * MIB)
    with Line.connect(slow) as line:
        line.send(b"GET /huge.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(AssertionError, match="ended within a body"):
            line.read()
    check_hot(slow)


@pytest.mark.parametrize("name", ["cold.txt", "cold.bin"])
@pytest.mark.parametrize("what", [LOOKUP, OPEN, READ])
def test_streams_that_are_reset_while_they_wait(slow, disk, name, what):
    disk.hold(name, what)
    with Wire.connect(slow) as wire:
        streams = [wire.request(f"/{name}") for _ in range(5)]
        disk.wait_for(name, what)
        wire.send(*(frames.rst_stream(stream, Error.CANCEL) for stream in streams[:3]))
        wire.ping()
        disk.release(name, what)
        for stream in streams[3:]:
            assert wire.response(stream).body == COLD[name]
        check_hot(slow, wire)


@pytest.mark.parametrize("name", ["cold.txt", "cold.bin"])
@pytest.mark.parametrize("what", [LOOKUP, OPEN, READ])
def test_connections_that_go_while_they_wait(slow, disk, name, what):
    disk.hold(name, what)
    with contextlib.ExitStack() as stack:
        gone = [Wire.connect(slow) for _ in range(3)]
        line = stack.enter_context(Line.connect(slow))
        line.send(f"GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        for wire in gone:
            wire.request(f"/{name}")
        disk.wait_for(name, what)
        for wire in gone:
            wire.abort()
        line.sock.close()
        check_hot(slow)
        disk.release(name, what)
        with Wire.connect(slow) as wire:
            assert wire.get(f"/{name}").body == COLD[name]


@pytest.mark.parametrize("what", [LOOKUP, OPEN, READ])
def test_a_dead_disk_does_not_keep_the_server_from_ending(slow, disk, what):
    disk.hold("cold.bin", what)
    with Wire.connect(slow) as wire:
        wire.request("/cold.bin")
        disk.wait_for("cold.bin", what)
        slow.signal()
        wire.wait(lambda: wire.goaways)
        slow.signal(signal.SIGINT)
        deadline = time.monotonic() + PATIENCE
        while "a disk does not answer" not in slow.log():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        disk.release("cold.bin", what)  # FUSE lets no process end whose question it has taken


def test_a_file_that_changes_on_another_machine_is_seen(slow, disk):
    fresh = content(70_000, seed=9)
    with Wire.connect(slow) as wire:
        assert wire.get("/cold.bin").body == COLD["cold.bin"]
        disk.replace("cold.bin", fresh)
        while (response := wire.get("/cold.bin")).body != fresh:
            assert response.body in (COLD["cold.bin"], b"")
