"""Extensible priorities (RFC 9218): the server sends what is urgent first."""

from harness import frames
from harness.frames import DEFAULT_WINDOW, MAX_WINDOW, Setting, Type
from harness.tree import MIB, Tree, content
from harness.wire import Wire

import pytest

# What the server had handed to the kernel before it knew of the urgent one cannot be overtaken:
# a budget of staged output, what the socket may hold unsent, and what the kernel counts as sent.
# All of it is in front of the urgent stream's first byte; behind that byte nothing is.
BULK_LEN = 64 * MIB


@pytest.fixture(scope="module")
def bulk(tmp_path_factory):
    tree = Tree(tmp_path_factory.mktemp("bulk"))
    for name in ("bulk-a.bin", "bulk-b.bin"):
        with (tree.root / name).open("wb") as file:
            file.truncate(BULK_LEN)
    tree.add("urgent.bin", content(MIB))
    tree.add("small.txt", content(1024))
    return tree


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """What a page is made of, each of a few frames."""
    tree = Tree(tmp_path_factory.mktemp("parts"))
    for name in ("page.html", "style.css", "font.woff2", "app.js", "data.json", "photo.png",
                 "film.mp4", "archive.zip"):
        tree.add(name, content(40000))
    tree.add("plug.json", content(DEFAULT_WINDOW))
    return tree


@pytest.fixture
def plugged(start, parts):
    """The connection's window is used up: nothing but heads comes before it is opened again."""
    wire = Wire.connect(start(parts.root), {Setting.INITIAL_WINDOW_SIZE: MAX_WINDOW}, refills=False)
    wire.response(wire.request("/plug.json"))
    yield wire
    wire.abort()


@pytest.fixture
def wide(start, bulk):
    """Windows that never decide anything: the order is the server's choice.  Nor does the disk:
    while what is more urgent is not in memory, something else is sent."""
    bulk.bring_into_memory()
    wire = Wire.connect(start(bulk.root), {Setting.INITIAL_WINDOW_SIZE: MAX_WINDOW}, refills=False)
    wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))
    yield wire
    wire.abort()


def priority(value):
    return [("priority", value)]


def begin(wire, *streams):
    wire.wait(lambda: all(s in wire.responses and wire.responses[s].body for s in streams))


def data_order(wire, until):
    """The streams of the DATA frames, in order, until the one named is complete."""
    order = []
    while not (until in wire.responses and wire.responses[until].done):
        got = wire.step()
        if got.type == Type.DATA and got.payload:
            order.append(got.stream)
    return order


def test_an_urgent_stream_overtakes_a_bulk_one(wide, bulk):
    slow = wide.request("/bulk-a.bin", extra=priority("u=7"))
    begin(wide, slow)
    fast = wide.request("/urgent.bin", extra=priority("u=0"))

    order = data_order(wide, until=fast)

    assert wide.responses[fast].body == bulk.files["urgent.bin"]
    assert not wide.responses[slow].ended
    last = len(order) - order[::-1].index(fast)
    assert set(order[order.index(fast):last]) == {fast}


def test_a_less_urgent_stream_does_not_overtake(wide, bulk):
    first = wide.request("/bulk-a.bin", extra=priority("u=1"))
    begin(wide, first)
    later = wide.request("/urgent.bin", extra=priority("u=5"))

    data_order(wide, until=later)

    assert wide.responses[first].ended


def test_equal_urgency_goes_in_order_of_the_requests(wide):
    first = wide.request("/bulk-a.bin")
    second = wide.request("/urgent.bin")

    data_order(wide, until=second)

    assert wide.responses[first].ended


def test_incremental_streams_share(wide):
    streams = [wide.request(f"/bulk-{name}.bin", extra=priority("u=3, i")) for name in "ab"]
    begin(wide, *streams)

    order = data_order(wide, until=streams[0])[-400:]

    shares = [order.count(stream) for stream in streams]
    assert min(shares) > len(order) / 4


def test_priority_update_makes_an_open_stream_urgent(wide):
    first = wide.request("/bulk-a.bin", extra=priority("u=5"))
    second = wide.request("/bulk-b.bin", extra=priority("u=5"))
    begin(wide, first)
    wide.send(frames.priority_update(second, b"u=0"))

    data_order(wide, until=second)

    assert not wide.responses[first].ended


def test_priority_update_makes_an_open_stream_wait(wide, bulk):
    first = wide.request("/bulk-a.bin", extra=priority("u=3"))
    begin(wide, first)
    wide.send(frames.priority_update(first, b"u=7"))
    second = wide.request("/urgent.bin", extra=priority("u=3"))

    data_order(wide, until=second)

    assert not wide.responses[first].ended
    assert wide.responses[second].body == bulk.files["urgent.bin"]


def test_priority_update_may_precede_its_stream(wide):
    slow = wide.request("/bulk-a.bin", extra=priority("u=5"))
    begin(wide, slow)
    wide.send(frames.priority_update(slow + 2, b"u=0"))
    fast = wide.request("/urgent.bin")

    data_order(wide, until=fast)

    assert not wide.responses[slow].ended


# ---- what the server finds urgent, where the client does not say ----


def order_of(wire, *wanted, updates=()):
    """Ask for all, then open the window; the names in the order in which their bodies came.
    `wanted`: names, or pairs of a name and the field `priority`."""
    streams = {}
    for want in wanted:
        name, value = want if isinstance(want, tuple) else (want, None)
        stream = wire.request(f"/{name}", extra=[] if value is None else priority(value))
        streams[stream] = name
    for name, value in updates:
        stream = next(key for key, other in streams.items() if other == name)
        wire.send(frames.priority_update(stream, value))
    wire.wait(lambda: all(s in wire.responses for s in streams))
    assert not any(wire.responses[s].body for s in streams)
    wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))
    order = []
    while not all(wire.responses[s].ended for s in streams):
        got = wire.step()
        if got.type == Type.DATA and got.payload and got.stream not in order:
            order.append(got.stream)
    return [streams[stream] for stream in order]


def test_a_page_comes_before_its_scripts_and_these_before_its_images(plugged):
    assert order_of(plugged, "archive.zip", "film.mp4", "photo.png", "data.json", "app.js",
                    "page.html") == [
        "page.html", "app.js", "data.json", "photo.png", "film.mp4", "archive.zip"]


@pytest.mark.parametrize("name", ["page.html", "style.css", "font.woff2"])
def test_nothing_is_drawn_without_it(plugged, name):
    assert order_of(plugged, "photo.png", "app.js", name) == [name, "app.js", "photo.png"]


def test_a_range_is_as_urgent_as_the_whole(plugged):
    image = plugged.request("/photo.png", extra=[("range", "bytes=0-29999")])
    style = plugged.request("/style.css", extra=[("range", "bytes=0-29999")])
    plugged.wait(lambda: image in plugged.responses and style in plugged.responses)
    plugged.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))

    assert data_order(plugged, until=image)[0] == style


def test_the_clients_field_counts(plugged):
    assert order_of(plugged, ("page.html", "u=6"), ("photo.png", "u=0"), "app.js") == [
        "photo.png", "app.js", "page.html"]


def test_the_clients_field_counts_also_if_it_says_the_default(plugged):
    assert order_of(plugged, ("page.html", "u=3"), "app.js") == ["app.js", "page.html"]


def test_the_clients_frame_counts(plugged):
    assert order_of(plugged, "page.html", "photo.png", "app.js",
                    updates=[("page.html", b"u=6"), ("photo.png", b"u=0")]) == [
        "photo.png", "app.js", "page.html"]


@pytest.mark.parametrize("ahead", [0, 1, 5, 100])
def test_the_clients_frame_counts_although_it_came_first(plugged, ahead):
    first = plugged.next_stream + 2 * ahead
    plugged.send(frames.priority_update(first, b"u=3"))
    plugged.next_stream = first

    assert order_of(plugged, "page.html", "app.js") == ["app.js", "page.html"]


def test_a_frame_for_another_stream_does_not_count(plugged):
    plugged.send(frames.priority_update(plugged.next_stream + 2, b"u=3"))

    assert order_of(plugged, "page.html", "data.json", "app.js") == [
        "page.html", "app.js", "data.json"]


@pytest.mark.parametrize("value", ["", "u=", "u=9", "u=-1", "u=a", "i=?2", "???", "u=1;x, zz=3",
                                   "\"", "u=3, u=4", "x" * 1000])
def test_a_strange_priority_is_no_error(wide, bulk, value):
    assert wide.get("/small.txt", extra=priority(value)).body == bulk.files["small.txt"]
    stream = wide.request("/small.txt")
    wide.send(frames.priority_update(stream, value.encode()))
    assert wide.response(stream).body == bulk.files["small.txt"]
