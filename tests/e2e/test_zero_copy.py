"""The central claims: bodies go from the page cache to the socket without a copy in user space,
a warm request allocates nothing, and its response has a short head."""

import pytest

from harness import tools
from harness.frames import Setting
from harness.tree import BIG_LEN
from harness.wire import Wire

HEADERS_MAX = 40  # bytes of a warm 200


def test_100_mib_are_mapped_and_none_copied(server):
    load = tools.h2load(server, "/big.bin", requests=1)
    assert load.data_bytes == BIG_LEN

    server.stop()
    assert server.stats["body"]["mapped"] == BIG_LEN == 104857600
    assert server.stats["body"]["copied"] == 0
    assert server.stats["body"]["pooled"] == 0


def test_every_body_byte_is_counted_once(server, tree):
    names = ["empty.txt", "one.bin", "small.txt", "page.bin", "medium.bin", "large.bin"]
    with Wire.connect(server) as wire:
        bodies = [wire.get(f"/{name}").body for name in names]
        bodies += [wire.get(f"/{name}", method="HEAD").body for name in names]
        bodies += [wire.get("/none").body, wire.get("/%zz").body]

    server.stop()
    body = server.stats["body"]
    assert sum(body.values()) == sum(map(len, bodies))
    assert body["mapped"] >= len(tree.files["large.bin"])


def test_large_bodies_leave_in_few_writes(server):
    tools.h2load(server, "/big.bin", requests=2, clients=1, streams=2)

    server.stop()
    writes = server.stats["writes"]
    assert writes["iovecs_max"] <= 1024
    assert writes["iovecs_mean"] > 2  # frame heads and slices of many frames travel together
    assert writes["count"] > 0
    calls = server.stats["calls"]  # a call of io_uring takes many writes
    assert calls["sendmsg"] >= writes["count"] or calls["io_uring_enter"] > 0
    assert 2 * BIG_LEN / writes["count"] > 32 * 1024


def test_requests_of_one_turn_are_answered_in_one_write(server):
    tools.h2load(server, "/small.txt", requests=20_000, clients=1, streams=32)

    server.stop()
    assert server.stats["writes"]["count"] < 20_000 / 4


@pytest.mark.parametrize("requests, clients, streams", [(100_000, 10, 32), (20_000, 1, 1)])
def test_warm_requests_allocate_nothing(server, requests, clients, streams):
    load = tools.h2load(server, "/small.txt", "/page.bin", "/medium.bin", "/none",
                        requests=requests, clients=clients, streams=streams,
                        options=("-w", "20", "-W", "24"))
    assert load.done == requests and load.by_class["2xx"] == requests * 3 // 4

    server.stop()
    allocations = server.stats["allocations_after_warmup"]
    if allocations is None:
        pytest.skip("this build's allocator belongs to a sanitizer: allocations are not counted")
    assert allocations == 0


def warm(wire, path, method="GET"):
    """A response whose fields the client has all seen before, the date of this second included."""
    before = wire.get(path, method=method)
    while (response := wire.get(path, method=method)).get("date") != before.get("date"):
        before = response
    return response


@pytest.mark.parametrize("path", ["/small.txt", "/large.bin", "/", "/style.css"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_the_head_of_a_warm_200_is_short(wire, path, method):
    response = warm(wire, path, method)

    assert response.status == 200
    assert {"content-type", "content-length", "etag", "last-modified", "date"} <= \
        {name for name, _ in response.fields}
    assert len(response.blocks) == 1
    assert len(response.blocks[0]) <= HEADERS_MAX


def test_the_head_stays_short_with_many_files(wire, tree):
    names = ["one.bin", "small.txt", "page.bin", "index.html", "style.css"]
    for name in names:
        wire.get(f"/{name}")

    for name in names:
        assert len(warm(wire, f"/{name}", "HEAD").blocks[0]) <= HEADERS_MAX


def test_a_client_without_a_dynamic_table_is_served(server, tree):
    with Wire.connect(server, {Setting.HEADER_TABLE_SIZE: 0}) as wire:
        wire.decoder.max_allowed_table_size = 0
        for _ in range(3):
            response = wire.get("/small.txt")
            assert (response.status, response.body) == (200, tree.files["small.txt"])
