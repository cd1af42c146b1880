"""Files change while they are served: the change is seen soon, and no body mixes two versions."""

import errno
import itertools
import os
import threading
import time

import pytest

from harness import sandbox
from harness.frames import DEFAULT_WINDOW, MAX_WINDOW, Setting
from harness.tree import BIG_LEN, MIB, content
from harness.wire import PATIENCE, Wire, frames


@pytest.fixture
def tree(own_tree):
    return own_tree


def poll(wire, path, condition):
    """Ask until the answer is as it should be."""
    deadline = time.monotonic() + PATIENCE
    while not condition(response := wire.get(path)):
        assert time.monotonic() < deadline, f"the change of {path} was never seen: {response}"
        time.sleep(0.01)
    return response


@pytest.mark.parametrize("name", ["small.txt", "medium.bin", "large.bin"])
def test_a_replaced_file_is_seen(wire, tree, name):
    old = wire.get(f"/{name}")
    new_body = content(len(tree.files[name]), seed="new")  # of the same size
    tree.replace(name, new_body)

    new = poll(wire, f"/{name}", lambda r: r.body != old.body)

    assert new.body == new_body
    assert new.get("etag") != old.get("etag")


@pytest.mark.parametrize("name", ["small.txt", "large.bin"])
def test_an_edited_file_is_seen(wire, tree, name):
    old = wire.get(f"/{name}")
    new_body = tree.files[name] + b"appended"
    with (tree.root / name).open("ab") as file:
        file.write(b"appended")

    new = poll(wire, f"/{name}", lambda r: r.body != old.body)

    assert new.body == new_body
    assert int(new.get("content-length")) == len(new_body)
    assert new.get("etag") != old.get("etag")


def test_a_deleted_file_is_seen(wire, tree):
    assert wire.get("/small.txt").status == 200
    tree.remove("small.txt")

    poll(wire, "/small.txt", lambda r: r.status == 404)


def test_a_new_file_is_seen(wire, tree):
    assert wire.get("/later.txt").status == 404
    tree.add("later.txt", b"here")

    assert poll(wire, "/later.txt", lambda r: r.status == 200).body == b"here"


def test_a_directory_that_becomes_a_file_and_back(wire, tree):
    assert wire.get("/sub/index.html").status == 200
    (tree.root / "sub").rename(tree.root / "sub-away")
    tree.add("sub", b"now a file")
    poll(wire, "/sub/index.html", lambda r: r.status == 404)
    assert poll(wire, "/sub", lambda r: r.status == 200).body == b"now a file"

    tree.remove("sub")
    (tree.root / "sub-away").rename(tree.root / "sub")
    assert poll(wire, "/sub/index.html", lambda r: r.status == 200).body == \
        tree.files["sub/index.html"]


@pytest.mark.parametrize("name", ["page.txt", "data.bin"])
def test_a_link_that_is_switched_to_another_release_is_seen(wire, tree, name):
    """As deployments and mounted configuration do it: ..data names the release, links go by it."""
    sizes = {"page.txt": 1000, "data.bin": 100_000}
    for release in ("..one", "..two"):
        for of, size in sizes.items():
            tree.add(f"{release}/{of}", content(size, seed=release))
    for link, target in (("..data", "..one"), *((of, f"..data/{of}") for of in sizes)):
        (tree.root / link).symlink_to(target)
    assert wire.get(f"/{name}").body == content(sizes[name], seed="..one")

    (tree.root / "..next").symlink_to("..two")
    (tree.root / "..next").rename(tree.root / "..data")

    new = poll(wire, f"/{name}", lambda r: r.body != content(sizes[name], seed="..one"))
    assert new.body == content(sizes[name], seed="..two")
    assert wire.get("/..data/page.txt").status == 404


@pytest.mark.h2c_only
def test_siblings_come_and_go(wire, tree):
    """A build packs files behind a server that runs: none of its steps is half seen."""
    gzip = {"extra": [("accept-encoding", "gzip")]}
    path, packed = tree.root / "app.js", tree.root / "app.js.gz"
    path.write_bytes(b"// first")
    assert wire.get("/app.js", **gzip).get("vary") is None

    def until(condition):
        deadline = time.monotonic() + PATIENCE
        while not condition(response := wire.get("/app.js", **gzip)):
            assert time.monotonic() < deadline, response
        return response

    packed.write_bytes(b"")  # it is being written
    os.utime(path)
    assert until(lambda r: r.get("last-modified")).body == b"// first"
    packed.write_bytes(b"packed")
    assert until(lambda r: r.get("content-encoding") == "gzip").body == b"packed"
    path.write_bytes(b"// second")
    os.utime(path, ns=(2**61, packed.stat().st_mtime_ns + 1))  # newer than its sibling
    assert until(lambda r: r.body != b"packed").body == b"// second"
    packed.write_bytes(b"packed anew")
    os.utime(packed, ns=(2**61, path.stat().st_mtime_ns))
    assert until(lambda r: r.get("content-encoding") == "gzip").body == b"packed anew"
    path.unlink()
    assert until(lambda r: True).body == b"packed anew"
    packed.unlink()
    until(lambda r: r.status == 404)


def test_a_touched_file_gets_a_new_date(wire, tree):
    old = wire.get("/small.txt")
    os.utime(tree.root / "small.txt", (1_000_000_000, 1_000_000_000))

    new = poll(wire, "/small.txt", lambda r: r.get("last-modified") != old.get("last-modified"))

    assert new.get("last-modified") == "Sun, 09 Sep 2001 01:46:40 GMT"
    assert new.get("etag") != old.get("etag")
    assert new.body == tree.files["small.txt"]


def test_a_body_under_way_keeps_its_version_when_the_file_is_replaced(server, tree):
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 2**20}, refills=False) as wire:
        stream = wire.request("/big.bin")
        wire.wait(lambda: stream in wire.responses and wire.responses[stream].body)
        tree.replace("big.bin", content(MIB, seed="new"))
        with Wire.connect(server) as other:
            assert poll(other, "/big.bin", lambda r: len(r.body) == MIB).body == \
                content(MIB, seed="new")

        wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW),
                  frames.window_update(stream, BIG_LEN))
        assert wire.response(stream).body == content(BIG_LEN)


def test_a_body_under_way_survives_the_deletion_of_its_file(server, tree):
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 1000}, refills=False) as wire:
        stream = wire.request("/large.bin")
        wire.wait(lambda: stream in wire.responses and wire.responses[stream].body)
        tree_body = tree.files["large.bin"]
        tree.remove("large.bin")
        with Wire.connect(server) as other:
            poll(other, "/large.bin", lambda r: r.status == 404)

        wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW),
                  frames.window_update(stream, len(tree_body)))
        assert wire.response(stream).body == tree_body


@pytest.mark.parametrize("length", [1000, 50_000, 300_000])
def test_every_body_is_one_version_whole(start, tree, length):
    """A file is replaced again and again under load, by versions of different lengths."""
    versions = [content(length + i, seed=f"version {i}") for i in range(5)]
    tree.add("changing.bin", versions[0])
    server = start(tree.root)
    done = threading.Event()

    def keep_replacing():
        for version in itertools.cycle(versions):
            if done.is_set():
                return
            tree.replace("changing.bin", version)
            time.sleep(0.02)

    writer = threading.Thread(target=keep_replacing)
    writer.start()
    try:
        seen = set()
        with Wire.connect(server) as wire:
            deadline = time.monotonic() + PATIENCE
            while len(seen) < 3 and time.monotonic() < deadline:
                response = wire.get("/changing.bin")
                assert response.ended
                assert len(response.body) == int(response.get("content-length"))
                seen.add(versions.index(response.body))
    finally:
        done.set()
        writer.join()
    assert len(seen) >= 3


@pytest.mark.parametrize("name", ["medium.bin", "large.bin"])
def test_a_file_that_shrinks_under_way_is_never_taken_for_whole(server, tree, name):
    length = len(tree.files[name])
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 1000}, refills=False) as wire:
        stream = wire.request(f"/{name}")
        wire.wait(lambda: stream in wire.responses and len(wire.responses[stream].body) == 1000)
        os.truncate(tree.root / name, 500)
        try:
            wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW),
                      frames.window_update(stream, length))
            wire.wait(lambda: wire.responses[stream].done)
        except (AssertionError, OSError):
            wire.wait_end()  # the connection may be cut

        response = wire.responses[stream]
        assert not response.ended or response.body == tree.files[name]
    with Wire.connect(server) as other:
        assert other.get("/small.txt").body == tree.files["small.txt"]


TICK_S = 0.005  # events are read once in a millisecond
QUESTIONS = ("openat2", "openat", "newfstatat", "fstat", "preadv2", "pread64")


def settle(wire, *paths):
    """Ask for longer than what nobody vouches for is taken to be as it was, once it is known."""
    known = None
    while known is None or time.monotonic() < known + 1.2:
        for path in paths:
            wire.get(path)
        known = known or time.monotonic()
        time.sleep(0.02)


def test_changes_are_seen_at_once_and_nothing_is_asked_until_then(start, tree):
    """Without a look between the first seconds and the change, however many requests come."""
    tree.add("a/b/c.txt", b"one")
    tree.add("app.js", b"original")
    server = start(tree.root)
    with Wire.connect(server) as wire:
        settle(wire, "/sub/index.html", "/later.txt", "/a/b/c.txt", "/app.js")
        for _ in range(1000):
            wire.get("/sub/index.html")
        (tree.root / "sub/index.html").write_bytes(b"edited")
        tree.add("later.txt", b"here")
        (tree.root / "a").rename(tree.root / "away")
        tree.add("app.js.gz", b"packed")
        time.sleep(TICK_S)
        assert wire.get("/sub/index.html").body == b"edited"
        assert wire.get("/later.txt").body == b"here"
        assert wire.get("/a/b/c.txt").status == 404
        assert wire.get("/away/b/c.txt").body == b"one"
        assert wire.get("/app.js", extra=[("accept-encoding", "gzip")]).body == b"packed"
        tree.remove("later.txt")
        time.sleep(TICK_S)
        assert wire.get("/later.txt").status == 404
    server.stop()
    calls = server.stats["calls"]
    assert calls["inotify_add_watch"] >= 4  # the root, sub, a and a/b
    assert server.stats["changes"] > 0
    assert sum(calls[name] for name in QUESTIONS) < 200


@pytest.mark.parametrize("call, error, said", [
    (sandbox.INOTIFY_INIT1, errno.EMFILE, "fs.inotify.max_user_instances"),
    (sandbox.INOTIFY_ADD_WATCH, errno.ENOSPC, "fs.inotify.max_user_watches"),
], ids=["instances", "watches"])
def test_without_inotify_changes_are_looked_for(start, tree, call, error, said):
    server = start(tree.root, refused=(call, error))
    with Wire.connect(server) as wire:
        settle(wire, "/small.txt", "/sub/index.html")
        tree.replace("small.txt", b"replaced")
        poll(wire, "/small.txt", lambda r: r.body == b"replaced")
    server.stop()
    assert server.log().count(said) == 1
    assert server.stats["changes"] == 0


def test_changes_by_another_name_are_seen(wire, tree):
    """The directory that the file is asked for in is told of nothing."""
    tree.add("far/one.txt", b"old")
    tree.add("far/two.txt", b"old")
    (tree.root / "symbolic.txt").symlink_to("far/one.txt")
    os.link(tree.root / "far/two.txt", tree.root / "hard.txt")
    settle(wire, "/symbolic.txt", "/hard.txt")
    (tree.root / "far/one.txt").write_bytes(b"changed")
    (tree.root / "far/two.txt").write_bytes(b"changed")

    for path in ("/symbolic.txt", "/hard.txt"):
        assert poll(wire, path, lambda r: r.body != b"old").body == b"changed"
