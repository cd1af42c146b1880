"""Files change while they are sent over HTTP/1.1: a response is whole and right, or it is cut.

HTTP/1.1 has no way to take a body back but to end the connection before its last byte.  So what
completes a body has to wait until all the rest has left and the file is known to be what it was.
"""

import os
import random
import subprocess

import pytest

from harness import tools
from harness import transport as transports
from harness.tree import Tree, content
from harness.wire import PATIENCE

ROUNDS = 200
HOT_LEN = 300_000
VICTIM_LEN = 1_200_000
PAGE = 4096
LOAD_REQUESTS = 3000


class Pipe:
    """A connection on which several requests are sent at once."""

    def __init__(self, server):
        sock = transports.open_tcp(server.port, receive_buffer=65536)
        if server.transport.name == "tls":
            sock = transports.tls_context(["http/1.1"]).wrap_socket(sock)
        self.sock = sock
        self.sock.settimeout(PATIENCE)
        self.buffer = bytearray()
        self.is_over = False

    def ask(self, *paths):
        self.sock.sendall(b"".join(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path.encode()
                                   for path in paths))

    def fill(self, length):
        """Receive until so many bytes are there, or no more come."""
        while len(self.buffer) < length and not self.is_over:
            try:
                more = self.sock.recv(65536)
            except (ConnectionError, OSError):
                more = b""
            self.is_over = not more
            self.buffer += more

    def response(self):
        """(status, promised length, body), or None where the connection ended before the body."""
        while (end := self.buffer.find(b"\r\n\r\n")) < 0 and not self.is_over:
            self.fill(len(self.buffer) + 1)
        if end < 0:
            return None
        head = self.buffer[:end].decode().split("\r\n")
        fields = dict(line.split(": ", 1) for line in head[1:])
        length = int(fields["content-length"])
        self.fill(end + 4 + length)
        body = bytes(self.buffer[end + 4:end + 4 + length])
        del self.buffer[:end + 4 + length]
        return int(head[0].split()[1]), length, body

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


def truncate(path, rng):
    size = rng.choice([0, 0, rng.randrange(0, VICTIM_LEN, PAGE), rng.randrange(VICTIM_LEN)])
    os.truncate(path, size)


def overwrite(path, rng):
    """In place, a part or the whole: half of what was sent may be old and half new."""
    with open(path, "r+b") as file:
        file.seek(rng.choice([0, rng.randrange(VICTIM_LEN - 1)]))
        file.write(bytes(VICTIM_LEN - file.tell()))


def change_once(server, tree, rng, number, change):
    """Ask for a file, for another, and for the first again; change the first under way."""
    name = f"victim-{number}.bin"
    body = tree.add(name, content(VICTIM_LEN, seed=number % 8))
    cuts = 0
    with Pipe(server) as pipe:
        pipe.ask(f"/{name}", "/hot.bin", f"/{name}")
        pipe.fill(rng.randrange(0, 2 * VICTIM_LEN))
        change(tree.root / name, rng)
        changed = (tree.root / name).read_bytes()
        for expected in ([body, changed], [tree.files["hot.bin"]], [body, changed]):
            answer = pipe.response()
            if answer is None:
                break
            status, length, got = answer
            if status in (500, 503):
                continue  # it changed as it was opened
            if len(got) == length:
                assert status == 200 and got in expected
            else:
                assert pipe.is_over and len(expected) == 2  # the others are not cut short
                cuts += 1
                break
        if cuts:
            pipe.fill(1 << 30)
            assert not pipe.buffer  # and nothing follows
    tree.remove(name)
    return cuts


@pytest.mark.parametrize("change", [truncate, overwrite])
def test_files_change_under_load(start, tmp_path, change):
    tree = Tree(tmp_path / "site")
    tree.add("hot.bin", content(HOT_LEN))
    server = start(tree.root)
    rng = random.Random(1)
    load = tools.h2load_command(server, "/hot.bin", requests=LOAD_REQUESTS, clients=2,
                                options=("--h1",))
    with subprocess.Popen(load, stdout=subprocess.PIPE) as running:
        cuts = sum(change_once(server, tree, rng, number, change) for number in range(ROUNDS))
        said = running.communicate(timeout=PATIENCE)[0].decode()
    server.stop()

    load = tools.parse_h2load(said)
    assert (load.succeeded, load.failed, load.errored) == (LOAD_REQUESTS, 0, 0)
    assert load.data_bytes == LOAD_REQUESTS * HOT_LEN
    assert cuts > ROUNDS / 10  # enough of them were changed in time


def test_a_range_that_was_overwritten_does_not_look_whole(start, tmp_path, transport):
    """The same for a part of a file, whose end comes long before that of the file."""
    tree = Tree(tmp_path / "site")
    tree.add("victim.bin", content(32 * VICTIM_LEN))
    server = start(tree.root)
    with Pipe(server) as pipe:
        wanted = 20 * VICTIM_LEN
        pipe.sock.sendall(b"GET /victim.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=7-%d\r\n\r\n"
                          % (wanted + 6))
        pipe.fill(1000)
        with open(tree.root / "victim.bin", "r+b") as file:
            file.seek(31 * VICTIM_LEN)  # behind the range: its bytes stay what they were
            file.write(b"new")
        status, length, got = pipe.response()
        assert (status, length) == (206, wanted)
        assert len(got) < length
        assert tree.files["victim.bin"][7:].startswith(got)
