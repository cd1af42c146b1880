"""Large files whose time says nothing: their tags are made of their content, which takes time.

The files lie on a file system of the test's own, whose reads wait until the test lets them go.
"""

import os
import time

import pytest

from harness.frames import Error
from harness.slow_disk import READ, SlowDisk
from harness.tree import MIB, content
from harness.wire import PATIENCE, Wire

pytestmark = [pytest.mark.h2c_only,
              pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"),
                                 reason="mounting a file system is not permitted here")]

BIG = content(20 * MIB + 5, seed=1)  # several pieces
SMALL = content(3 * MIB, seed=2)  # one piece
FILES = {"big.bin": BIG, "same.bin": BIG, "other.bin": BIG[:-1] + b"?", "small.bin": SMALL,
         "small.bin.gz": SMALL[:MIB], "hot.txt": content(1000)}


@pytest.fixture
def disk(tmp_path):
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    with SlowDisk(mount_point, FILES, changed_s=0) as mounted:
        yield mounted


@pytest.fixture
def old(start, disk):
    server = start(disk.path)
    yield server
    disk.release_all()
    server.stop()  # before the disk goes


def tag_of(wire, path):
    """Ask until there is one: nothing waits for it."""
    deadline = time.monotonic() + PATIENCE
    while (tag := wire.get(path, method="HEAD").get("etag")) is None:
        assert time.monotonic() < deadline
    return tag


def test_a_tag_tells_the_content_and_nothing_else(old):
    with Wire.connect(old) as wire:
        tags = {name: tag_of(wire, f"/{name}") for name in ("big.bin", "same.bin", "other.bin")}
        assert tags["big.bin"] == tags["same.bin"] != tags["other.bin"]
        response = wire.get("/big.bin")
        assert (response.get("etag"), response.body) == (tags["big.bin"], BIG)
        assert response.get("last-modified") is None
        part = wire.get("/big.bin", extra=[("range", "bytes=5-9"), ("if-range", tags["same.bin"])])
        assert (part.status, part.body, part.get("etag")) == (206, BIG[5:10], tags["big.bin"])
        assert wire.get("/big.bin", extra=[("if-match", tags["other.bin"])]).status == 412


def test_one_that_takes_no_time_is_there_at_once(old):
    with Wire.connect(old) as wire:
        plain = wire.get("/small.bin")
        packed = wire.get("/small.bin", extra=[("accept-encoding", "gzip")])
        assert (plain.body, packed.body) == (SMALL, SMALL[:MIB])
        assert plain.get("etag") != packed.get("etag")


def test_a_body_does_not_wait_for_its_tag_and_a_condition_does(old, disk):
    with Wire.connect(old) as wire:
        tag = tag_of(wire, "/same.bin")
        disk.hold_from("big.bin", 18 * MIB)
        first = wire.get("/big.bin", extra=[("range", "bytes=0-99")])
        assert (first.status, first.body) == (206, BIG[:100]) and first.get("etag") is None
        conditions = [wire.request("/big.bin", extra=[("if-none-match", tag)]),
                      wire.request("/big.bin", extra=[("if-match", '"x"')]),
                      wire.request("/big.bin", method="HEAD", extra=[("if-match", tag)])]
        disk.wait_for("big.bin")
        assert wire.get("/hot.txt").body == FILES["hot.txt"]
        assert wire.get("/big.bin", extra=[("range", "bytes=100-199")]).body == BIG[100:200]
        assert not any(stream in wire.responses for stream in conditions)

        disk.release("big.bin")
        assert [wire.response(stream).status for stream in conditions] == [304, 412, 200]
        assert wire.get("/big.bin").get("etag") == tag


def test_a_file_that_cannot_be_read_has_none(old, disk):
    disk.fail("big.bin", offset=12 * MIB)
    with Wire.connect(old) as wire:
        response = wire.response(wire.request("/big.bin", extra=[("if-none-match", '"x"')]))
        assert response.status == 200 and response.get("etag") is None
        assert response.reset == Error.INTERNAL_ERROR
        assert wire.get("/hot.txt").body == FILES["hot.txt"]


def test_a_file_that_changes_meanwhile_has_the_tag_of_what_is_sent(old, disk):
    with Wire.connect(old) as wire:
        tag = tag_of(wire, "/other.bin")
        disk.hold_from("big.bin", 18 * MIB)
        stream = wire.request("/big.bin", method="HEAD", extra=[("if-match", tag)])
        disk.wait_for("big.bin")
        disk.replace("big.bin", FILES["other.bin"])
        disk.release("big.bin")
        assert wire.response(stream).status in (200, 412)  # the size is the same
        deadline = time.monotonic() + PATIENCE
        while wire.get("/big.bin", method="HEAD", extra=[("if-match", tag)]).status != 200:
            assert time.monotonic() < deadline


def test_an_end_does_not_wait_for_tags(old, disk):
    with Wire.connect(old) as wire:
        disk.hold("big.bin")
        for name in ("big.bin", "same.bin", "other.bin"):
            wire.get(f"/{name}", method="HEAD")
        disk.wait_for("big.bin")
        old.signal()
        wire.wait(lambda: wire.goaways)
    disk.release("big.bin")
    old.stop()
    assert disk.asked("other.bin") < 100
