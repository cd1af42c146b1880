"""Files of an ordinary disk that have left the page cache: fetched once, off the loop."""

import os

import pytest

from harness.line import Line
from harness.tree import MIB, Tree, content
from harness.wire import Wire


LEN = 6 * MIB + 5


def evict(path):
    """Drop a file from the page cache; says whether it is gone."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return all(is_cold(fd, offset) for offset in range(0, os.fstat(fd).st_size, MIB))
    finally:
        os.close(fd)


def is_cold(fd, offset):
    try:
        os.preadv(fd, [bytearray(1)], offset, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    return False


@pytest.fixture
def cold_tree(tmp_path):
    tree = Tree(tmp_path / "site")
    tree.add("large.bin", content(LEN))
    tree.add("small.txt", content(700))
    for name in tree.files:
        try:
            if not evict(tree.root / name):
                pytest.skip("this file system keeps its pages")
        except OSError:
            pytest.skip("this file system does not tell what it would wait for")
    return tree


def test_cold_pages_are_fetched_and_warm_ones_are_not(start, cold_tree):
    server = start(cold_tree.root)
    with Wire.connect(server) as wire:
        for name, body in cold_tree.files.items():
            assert wire.get(f"/{name}").body == body
    server.stop()
    cold = server.stats["fetches"]
    assert cold >= 2

    server = start(cold_tree.root)
    with Wire.connect(server) as wire, Line.connect(server) as line:
        for name, body in cold_tree.files.items():
            assert wire.get(f"/{name}").body == body
            line.send(f"GET /{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert line.read()[::2] == (200, body)
    server.stop()
    assert server.stats["fetches"] < cold / 2  # none, unless others want the memory meanwhile
