"""More files than the cache holds, replaced while they are being asked for: whatever comes is one
of their versions, whole."""

import hashlib
import os
import random
import tempfile

import pytest

from harness import frames
from harness import transport as transports
from harness.line import Line
from harness.wire import Wire

FILES = 100_000
FILES_PER_DIRECTORY = 1000
HOT = 500  # of these are half of the requests: they are asked for while they are replaced
CACHE = "2M"  # some 1000 of the files: the hot ones fit, all do not
BATCH = 16  # requests at once on a connection of HTTP/1.1
LINES = 4  # such connections
STREAMS = 80  # requests at once on one of HTTP/2
LINE_BATCHES = 900
WIRE_BATCHES = 40


def name_of(number):
    return f"{number // FILES_PER_DIRECTORY:02}/{number:05}.txt"


def body_of(number, version):
    """Says which it is; of all other bytes none can be missing or from elsewhere unnoticed."""
    head = f"{number} {version}\n".encode()
    seed = hashlib.sha256(head).hexdigest().encode()
    return head + seed * (1 + int(seed[:4], 16) % 40)


class WorkingSet:
    """Own: the files below `root`, and the directory `beside` where new ones are made ready."""

    def __init__(self, root, beside):
        self.root = root
        self.beside = beside
        self.versions = [0] * FILES  # of each file, the last one that was put in place
        self.tags = {}  # (file, entity-tag): the version that came with it
        self.replaced = 0
        os.mkdir(self.beside)
        for directory in range(FILES // FILES_PER_DIRECTORY):
            os.makedirs(f"{self.root}/{directory:02}")
        for number in range(FILES):
            self._write(f"{self.root}/{name_of(number)}", body_of(number, 0))

    def replace(self, number, from_beside):
        """Put a new version in place in one step, as a deployment does, or an editor."""
        name = f"{self.root}/{name_of(number)}"
        fresh = f"{self.beside}/fresh" if from_beside else name + ".new"
        version = self.versions[number] + 1
        self._write(fresh, body_of(number, version))
        self.versions[number] = version
        os.rename(fresh, name)
        self.replaced += 1

    def check(self, number, status, fields, body):
        """A response that has come; what may come of it was put in place before."""
        assert status == 200, f"{name_of(number)}: {status}"
        said, version = map(int, body.partition(b"\n")[0].split())
        assert said == number
        assert version <= self.versions[number]
        assert body == body_of(number, version)
        assert int(fields["content-length"]) == len(body)
        known = self.tags.setdefault((number, fields["etag"]), version)
        assert known == version, "two versions have one entity-tag"

    @staticmethod
    def _write(path, content):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(fd, content)
        os.close(fd)


def parent_of_set():
    """In memory if there is room: a disk may take minutes to remove so many files."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    has_room = room.f_bavail * room.f_frsize > FILES * 8192 and room.f_favail > 2 * FILES
    return "/dev/shm" if has_room and os.access("/dev/shm", os.W_OK) else None


@pytest.fixture(scope="module")
def working_set():
    with tempfile.TemporaryDirectory(prefix="weir-set-", dir=parent_of_set()) as directory:
        yield WorkingSet(f"{directory}/root", f"{directory}/beside")


@pytest.fixture
def server(start, working_set):
    return start(working_set.root, "--cache-size", CACHE)


def pick(dice):
    return dice.randrange(HOT) if dice.random() < 0.5 else dice.randrange(FILES)


def replace_some(working_set, dice, asked):
    """While the server works on what was asked for: some of that, and some others."""
    for number in (dice.choice(asked), dice.choice(asked), pick(dice)):
        working_set.replace(number, from_beside=dice.random() < 0.5)


def assert_set_was_larger_than_the_cache(server, asked):
    """Each hit beyond what the cache can hold was an open; that of a hot file mostly was none."""
    server.stop()
    calls = server.stats["calls"]
    assert calls["openat2"] > asked / 4
    assert server.stats["requests"] == asked
    assert server.stats["responses"]["2xx"] == asked


def test_http1_requests_in_rows(server, working_set):
    dice = random.Random(1)
    lines = []
    for _ in range(LINES):
        sock = transports.open_tcp(server.port)
        if server.transport.name == "tls":
            sock = transports.tls_context(["http/1.1"]).wrap_socket(sock)
        lines.append(Line(sock))

    for batch in range(LINE_BATCHES):
        line = lines[batch % LINES]
        asked = [pick(dice) for _ in range(BATCH)]
        line.sock.sendall(b"".join(
            f"GET /{name_of(number)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            for number in asked))
        replace_some(working_set, dice, asked)
        for number in asked:
            status, fields, body = line.read()
            working_set.check(number, status, dict(fields), body)

    for line in lines:
        line.close()
    assert_set_was_larger_than_the_cache(server, LINE_BATCHES * BATCH)


def test_http2_streams(server, working_set):
    dice = random.Random(2)
    with Wire.connect(server) as wire:
        wire.send(frames.window_update(0, 2**24))
        for _ in range(WIRE_BATCHES):
            asked = {}
            for _ in range(STREAMS):
                number = pick(dice)
                asked[wire.request(f"/{name_of(number)}")] = number
            replace_some(working_set, dice, list(asked.values()))
            for stream, number in asked.items():
                response = wire.response(stream)
                assert response.reset is None
                working_set.check(number, response.status, dict(response.fields), response.body)

    assert_set_was_larger_than_the_cache(server, WIRE_BATCHES * STREAMS)
