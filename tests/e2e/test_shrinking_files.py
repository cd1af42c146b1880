"""Files are truncated while they are sent: a response is whole and right, or its stream is reset.

The pages of a shrunk file are gone from its mapping, and whoever reads them gets SIGBUS.  Over TLS
it is the server that reads them, otherwise the kernel; neither the connection nor its other streams
may come to harm.
"""

import os
import random
import subprocess

from harness import frames, tools
from harness.frames import MAX_WINDOW, DEFAULT_WINDOW, Error, Setting
from harness.tree import Tree, content
from harness.wire import PATIENCE, Wire

ROUNDS = 300
HOT_LEN = 300_000
VICTIM_LEN = 1_200_000
PAGE = 4096
LOAD_REQUESTS = 5000
PART_LEN = 5000  # of a range, which the server keeps as a copy
WINDOW = 256 * 1024  # of a stream: most of a body is still to be sent when its file is cut


def received(wire, streams):
    return sum(len(wire.responses[s].body) for s in streams if s in wire.responses)


def ask_for_part(wire, name, first):
    return wire.request(f"/{name}", extra=[("range", f"bytes={first}-{first + PART_LEN - 1}")])


def check_part(response, body, first):
    """A part is that of the body, before the cut or after it, or there is none."""
    if not response.ended:
        assert response.reset == Error.INTERNAL_ERROR
    elif response.status == 206:
        assert len(response.body) == int(response.get("content-length"))
        assert response.body == body[first:first + len(response.body)]
    else:
        assert response.status in (416, 500)


def shrink_once(wire, tree, rng, number):
    """Ask for a file twice, for another in between and for parts; cut the first under way."""
    name = f"victim-{number}.bin"
    body = tree.add(name, content(VICTIM_LEN, seed=number % 8))
    streams = [wire.request(path) for path in (f"/{name}", "/hot.bin", f"/{name}")]
    first = rng.randrange(VICTIM_LEN - PART_LEN)
    parts = [ask_for_part(wire, name, first) for _ in range(2)]
    enough = rng.randrange(0, VICTIM_LEN)
    wire.wait(lambda: received(wire, streams) >= enough or
              all(s in wire.responses and wire.responses[s].done for s in streams))
    cut = rng.choice([0, 0, rng.randrange(0, VICTIM_LEN, PAGE), rng.randrange(VICTIM_LEN)])
    os.truncate(tree.root / name, cut)
    parts += [ask_for_part(wire, name, at) for at in (first, cut, 0)]

    hot = wire.response(streams[1])
    assert hot.ended and hot.body == tree.files["hot.bin"]
    resets = 0
    for response in (wire.response(streams[0]), wire.response(streams[2])):
        if response.ended and response.status == 500:
            resets += 1  # cut before the first byte was sent
        elif response.ended:
            length = int(response.get("content-length"))  # it may have been opened afterwards
            assert length in (cut, VICTIM_LEN) and response.body == body[:length]
        else:
            assert response.reset == Error.INTERNAL_ERROR
            resets += 1
    for stream, at in zip(parts, (first, first, first, cut, 0)):
        check_part(wire.response(stream), body, at)
    tree.remove(name)
    for stream in streams + parts:
        del wire.responses[stream]
    return resets


def test_files_shrink_under_load(start, tmp_path):
    tree = Tree(tmp_path / "site")
    tree.add("hot.bin", content(HOT_LEN))
    server = start(tree.root)
    rng = random.Random(1)
    load = tools.h2load_command(server, "/hot.bin", requests=LOAD_REQUESTS, clients=2, streams=2)
    with Wire(server.connect(receive_buffer=65536)) as wire, \
            subprocess.Popen(load, stdout=subprocess.PIPE) as running:
        wire.send(frames.PREFACE, frames.settings({Setting.INITIAL_WINDOW_SIZE: WINDOW}),
                  frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))
        resets = sum(shrink_once(wire, tree, rng, number) for number in range(ROUNDS))
        assert wire.get("/hot.bin").body == tree.files["hot.bin"]
        assert not wire.goaways
        said = running.communicate(timeout=PATIENCE)[0].decode()
    server.stop()

    load = tools.parse_h2load(said)
    assert (load.succeeded, load.failed, load.errored) == (LOAD_REQUESTS, 0, 0)
    assert load.data_bytes == LOAD_REQUESTS * HOT_LEN
    assert resets > ROUNDS / 10  # enough of them were cut in time
    assert server.stats["connections"]["protocol_errors"] == 0
