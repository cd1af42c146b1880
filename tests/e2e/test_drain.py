"""SIGTERM and SIGINT end the server without losing a request (RFC 9113 6.8)."""

import signal
import subprocess
import threading
import time

import pytest

from harness import frames, tools
from harness import transport as transports
from harness.frames import Error, MAX_WINDOW, Setting, Type
from harness.tree import BIG_LEN, content
from harness.wire import PATIENCE, Wire

GRACE = (MAX_WINDOW, Error.NO_ERROR)
BOTH_SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


def hold_a_stream(server, **switches):
    """A connection with a response that cannot go on: its window is closed."""
    wire = Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}, refills=False, **switches)
    stream = wire.request("/small.txt")
    wire.wait(lambda: stream in wire.responses)
    return wire, stream


def said(goaway):
    return (goaway.last_stream, goaway.error)


@BOTH_SIGNALS
def test_a_server_without_connections_ends_with_status_0(server, number):
    server.signal(number)

    assert server.wait() == 0


@BOTH_SIGNALS
def test_goaway_comes_in_two_steps_around_a_ping(server, tree, number):
    wire, first = hold_a_stream(server, answers_ping=False)

    server.signal(number)
    wire.wait(lambda: wire.goaways)
    assert said(wire.goaways[0]) == GRACE
    wire.wait(lambda: wire.history[-1].type == Type.PING)
    ping = wire.history[-1]

    second = wire.request("/small.txt")  # on its way when the GOAWAY was: it counts
    wire.send(frames.ping(ping.payload, ack=True))
    wire.wait(lambda: len(wire.goaways) == 2)
    assert said(wire.goaways[1]) == (second, Error.NO_ERROR)

    for stream in (first, second):
        wire.send(frames.window_update(stream, 1024))
        assert wire.response(stream).body == tree.files["small.txt"]
    assert wire.wait_end() == "fin"
    wire.close()  # else the server waits a while for it
    assert server.wait() == 0


def test_a_ping_without_answer_does_not_hold_up_the_second_step(server, tree):
    wire, stream = hold_a_stream(server, answers_ping=False)

    server.signal()
    wire.wait(lambda: len(wire.goaways) == 2)

    assert [said(g) for g in wire.goaways] == [GRACE, (stream, Error.NO_ERROR)]
    wire.send(frames.window_update(stream, 1024))
    assert wire.response(stream).body == tree.files["small.txt"]
    assert wire.wait_end() == "fin"
    wire.close()  # else the server waits a while for it
    assert server.wait() == 0


def test_a_request_after_the_last_goaway_is_not_served(server):
    wire, stream = hold_a_stream(server)
    server.signal()
    wire.wait(lambda: len(wire.goaways) == 2)

    late = wire.request("/one.bin")
    wire.send(frames.window_update(stream, 1024))

    wire.wait_end()
    assert wire.responses[stream].ended
    assert late not in wire.responses or wire.responses[late].reset == Error.REFUSED_STREAM
    wire.close()
    assert server.wait() == 0


def test_an_idle_connection_is_told_and_closed(server):
    with Wire.connect(server) as wire:
        wire.get("/one.bin")
        server.signal()

        assert wire.wait_end() == "fin"
        assert [said(g) for g in wire.goaways] == [GRACE, (1, Error.NO_ERROR)]
    assert server.wait() == 0


def test_a_connection_that_has_said_nothing_does_not_hold_up_the_end(server):
    with transports.open_tcp(server.port) as sock, Wire.connect(server) as wire:
        wire.get("/one.bin")  # the silent one has been accepted by now
        server.signal()

        assert sock.recv(1) == b""  # a deadline would reset it, and be counted
    server.stop()
    assert server.stats["connections"]["limit_breaches"] == 0


def test_a_body_under_way_arrives_whole(server):
    with Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 2**20}) as wire:
        stream = wire.request("/big.bin")
        wire.wait(lambda: stream in wire.responses and wire.responses[stream].body)
        server.signal()

        assert wire.response(stream).body == content(BIG_LEN)
    assert server.wait() == 0


def test_no_new_connection_while_draining(server):
    wire, stream = hold_a_stream(server)
    server.signal()
    wire.wait(lambda: len(wire.goaways) == 2)

    with pytest.raises(ConnectionRefusedError):
        server.connect()

    wire.send(frames.window_update(stream, 1024))
    assert wire.response(stream).ended
    wire.close()
    assert server.wait() == 0


@BOTH_SIGNALS
def test_a_second_signal_stops_at_once(server, number):
    wire, _ = hold_a_stream(server)
    server.signal(number)
    wire.wait(lambda: len(wire.goaways) == 2)
    assert server.process.poll() is None

    server.signal(number)

    assert server.wait(timeout=20) == 0  # the stream would have held it for 30 s
    wire.close()


@pytest.mark.parametrize("path, clients, streams", [
    ("/small.txt", 1, 1), ("/small.txt", 10, 10), ("/small.txt", 100, 4), ("/large.bin", 4, 4)])
def test_sigterm_under_h2load_loses_no_request(start, tree, path, clients, streams):
    server = start(tree.root, workers=2)
    idle = server.cpu_seconds()
    command = tools.h2load_command(server, path, requests=10**7, clients=clients, streams=streams)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while server.cpu_seconds() - idle < 0.2:  # the load is on
            assert running.poll() is None
            time.sleep(0.01)
        server.signal()
        text = running.communicate(timeout=PATIENCE)[0].decode()
    server.stop()

    load = tools.parse_h2load(text)
    assert load.started == load.done, text  # none was left without an answer
    assert load.succeeded == load.by_class["2xx"] > 0
    assert load.data_bytes == load.succeeded * len(tree.files[path[1:]])
    # What h2load had in hand when it read the GOAWAY it counts as started, but may not send.
    assert load.started - load.succeeded <= clients * streams
    assert server.stats["requests"] == load.succeeded
    assert not any(server.stats["streams"].values())


def test_sigterm_amid_requests_that_were_all_sent_fails_none(start, tree, transport):
    """h2load sends all it has at once, so that its own count of failures is the server's.

    (Above it goes on for ever: what it never sent, since there was a GOAWAY, it calls failed.)
    """
    # OpenSSL has no sanitizers in it: all has to be sent within the time that a drain may take.
    server = start(tree.root, "--aead", "openssl", workers=2)
    idle = server.cpu_seconds()
    total = 100 if transport.name == "h2c" else 40
    command = tools.h2load_command(server, "/large.bin", requests=total, clients=2, streams=50)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while server.cpu_seconds() - idle < 0.02:  # much more than it takes to read the requests
            assert running.poll() is None
            time.sleep(0.005)
        server.signal()
        assert running.poll() is None
        text = running.communicate(timeout=PATIENCE)[0].decode()
    server.stop()

    load = tools.parse_h2load(text)
    assert (load.total, load.started, load.done, load.succeeded) == (total,) * 4, text
    assert (load.failed, load.errored, load.timeout) == (0, 0, 0), text
    assert load.by_class["2xx"] == total
    assert load.data_bytes == total * len(tree.files["large.bin"])


def test_every_request_sent_before_the_ping_was_answered_is_served(start, tree):
    """Clients that open streams until they see the first GOAWAY lose none of them."""
    server = start(tree.root, workers=2)
    outcomes = []
    under_way = threading.Barrier(9)

    def client():
        with Wire.connect(server) as wire:
            wire.get("/page.bin")
            under_way.wait(PATIENCE)
            while not wire.goaways:
                newest = [wire.request("/page.bin") for _ in range(5)][-1]
                wire.wait(lambda: wire.goaways or newest in wire.responses)
            wire.wait_end()
            bodies = [bytes(response.body) for response in wire.responses.values()]
            outcomes.append((len(bodies), set(bodies) == {tree.files["page.bin"]},
                             wire.goaways[-1].last_stream) == ((newest + 1) // 2, True, newest))

    threads = [threading.Thread(target=client) for _ in range(8)]
    for thread in threads:
        thread.start()
    under_way.wait(PATIENCE)
    server.signal()
    for thread in threads:
        thread.join()

    assert outcomes == [True] * 8
    assert server.wait() == 0
