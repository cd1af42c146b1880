"""Clients that ask for much and take little (ATTACKS.md H11, H12), and clients that are just slow.

All of them wait side by side, over cleartext and TLS, so that the test takes as long as the longest
clock.  Those that hold the server up wait for the end of their connection, however long it takes;
the slow ones are still served when that is over.
"""

import concurrent.futures
import select
import time

import pytest

from harness import frames
from harness import transport as transports
from harness.frames import DEFAULT_WINDOW, MAX_WINDOW, Error, Setting
from harness.tree import BIG_LEN, content
from harness.wire import Wire

STEP = 5  # seconds between two drops
HANG = 180  # seconds after which the server is taken to hold a client for ever
SMALL_BUFFER = 4096
PACE = 1024  # bytes a second of a client that is slow and honest
SECONDS_AT_PACE = 85  # more than the longest clock that a slow client may meet

GET = b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def transport():
    return transports.BY_NAME["h2c"]  # the tests below have listeners of both kinds


class Door:
    """One of the server's listeners, as harness.Wire wants to see a server."""

    def __init__(self, address, transport):
        self.port = int(address.rstrip("/").rpartition(":")[2])
        self.transport = transport

    def connect(self, receive_buffer=None):
        return self.transport.wrap(transports.open_tcp(self.port, receive_buffer))

    def connect_http1(self):
        sock = transports.open_tcp(self.port, SMALL_BUFFER)
        if self.transport.name == "tls":
            sock = transports.tls_context(["http/1.1"]).wrap_socket(sock)
        sock.settimeout(HANG)
        return sock

    def wire(self, window):
        """HTTP/2 with streams of that window; nothing is given back."""
        wire = Wire.connect(self, {Setting.INITIAL_WINDOW_SIZE: window}, refills=False)
        wire.sock.settimeout(HANG)
        return wire


# ---- those who take next to nothing ----


def is_cut(sock, seconds):
    """The server has given the connection up, or does so within that time."""
    poll = select.poll()
    poll.register(sock, 0)  # errors and hang-ups alone
    return bool(poll.poll(seconds * 1000))


def http1_takes_nothing(door):
    with door.connect_http1() as sock:
        sock.sendall(GET)
        return is_cut(sock, HANG)


def http1_takes_drops(door):
    with door.connect_http1() as sock:
        sock.sendall(GET)
        for _ in range(HANG // STEP):
            if is_cut(sock, STEP):
                return True
            sock.recv(64)
    return False


def pipelines_and_takes_drops(door):
    """A thousand small responses are as good as a large one."""
    with door.connect_http1() as sock:
        sock.settimeout(0.5)
        try:
            while True:
                sock.sendall(GET.replace(b"big.bin", b"page.bin") * 16)
        except (TimeoutError, OSError):
            pass  # the server takes no more before its answers are taken
        for _ in range(HANG // STEP):
            if is_cut(sock, STEP):
                return True
            try:
                sock.recv(64)
            except OSError:
                return True
    return False


def last_error(wire, say=None):
    """The code of GOAWAY, while something is said every few seconds."""
    deadline = time.monotonic() + HANG
    while not wire.over and time.monotonic() < deadline:
        if wire._readable(STEP):
            wire.step()
        elif say is not None:
            wire._reply(say)
    return [goaway.error for goaway in wire.goaways]


def h2_window_stays_closed(door):
    with door.wire(window=0) as wire:
        wire.request("/small.txt")
        return last_error(wire) == [Error.ENHANCE_YOUR_CALM]


def h2_window_stays_closed_and_pings_come(door):
    with door.wire(window=0) as wire:
        wire.request("/small.txt")
        return last_error(wire, frames.ping(b"are you ")) == [Error.ENHANCE_YOUR_CALM]


def h2_window_opens_by_drops(door):
    with door.wire(window=0) as wire:
        stream = wire.request("/large.bin")
        drop = frames.window_update(stream, 1)
        return last_error(wire, drop) == [Error.ENHANCE_YOUR_CALM]


def h2_connection_window_stays_closed(door):
    with door.wire(window=MAX_WINDOW) as wire:
        for _ in range(10):
            wire.request("/large.bin")
        return last_error(wire) == [Error.ENHANCE_YOUR_CALM]


def h2_takes_drops_of_tcp(door):
    """The windows of HTTP/2 are wide open, and TCP's is not."""
    wire = Wire.connect(door, {Setting.INITIAL_WINDOW_SIZE: MAX_WINDOW}, refills=False,
                        receive_buffer=SMALL_BUFFER)
    with wire:
        wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))
        wire.request("/big.bin")
        for _ in range(HANG // STEP):
            if is_cut(wire.sock, STEP):
                return True
            wire.sock.recv(64)
    return False


# ---- those who are slow ----


def http1_at_a_slow_pace(door):
    body = b""
    with door.connect_http1() as sock:
        sock.sendall(GET)
        for _ in range(SECONDS_AT_PACE):
            body += sock.recv(PACE)
            time.sleep(1)
        while len(body) < PACE * SECONDS_AT_PACE + 1000:  # it goes on
            body += sock.recv(PACE)
    return content(BIG_LEN).startswith(body.partition(b"\r\n\r\n")[2])


def h2_at_a_slow_pace(door):
    with door.wire(window=PACE) as wire:
        streams = [wire.request(path) for path in ("/large.bin", "/big.bin")]
        for _ in range(SECONDS_AT_PACE):
            wire._reply(frames.window_update(0, PACE * len(streams)),
                        *(frames.window_update(stream, PACE) for stream in streams))
            if wire._readable(1):
                wire.step()
            time.sleep(1)
        goal = PACE * SECONDS_AT_PACE
        wire.wait(lambda: all(len(wire.responses[s].body) >= goal for s in streams))
        return not wire.goaways and not any(wire.responses[s].done for s in streams)


HOLDERS = [http1_takes_nothing, http1_takes_drops, pipelines_and_takes_drops,
           h2_window_stays_closed, h2_window_stays_closed_and_pings_come,
           h2_window_opens_by_drops, h2_connection_window_stays_closed, h2_takes_drops_of_tcp]
SLOW = [http1_at_a_slow_pace, h2_at_a_slow_pace]


def test_who_holds_the_server_up_is_sent_away_and_who_is_slow_is_served(start, tree):
    server = start(tree.root, listen=("-l", "127.0.0.1:0", "-s", "127.0.0.1:0"))
    doors = [Door(address, transports.BY_NAME["tls" if address.startswith("https") else "h2c"])
             for address in server.addresses]
    with concurrent.futures.ThreadPoolExecutor(max_workers=32) as pool:
        results = {f"{client.__name__} {door.transport.name}": pool.submit(client, door)
                   for client in HOLDERS + SLOW for door in doors}
    assert [name for name, result in results.items() if result.result() is not True] == []
    server.stop()
    assert server.stats["connections"]["limit_breaches"] == len(HOLDERS) * len(doors)
