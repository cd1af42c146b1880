"""Peers that never get to the point.  All of them wait side by side, so that the tests take as long
as the longest deadline; each waits for the end of its connection, however long that takes."""

import concurrent.futures
import contextlib
import select
import time

import pytest

from harness import frames
from harness import transport as transports
from harness.frames import DEFAULT_WINDOW, MAX_WINDOW, Error, Setting
from harness.server import Server
from harness.wire import PATIENCE, Wire


def silent(server):
    wire = Wire(server.connect(), answers_settings=False)
    return wire.wait_end(), wire.goaways


def half_a_preface(server):
    wire = Wire(server.connect(), answers_settings=False)
    wire.send(frames.PREFACE[:12])
    return wire.wait_end(), wire.goaways


def dripping_preface(server):
    """A byte now and then does not extend the deadline."""
    wire = Wire(server.connect(), answers_settings=False)
    for byte in frames.PREFACE:
        wire.send(bytes([byte]))
        if select.select([wire.sock], [], [], 1)[0] and not wire._receive():
            return wire.over, wire.goaways
    return "served", wire.goaways


def no_settings(server):
    wire = Wire(server.connect(), answers_settings=False)
    wire.send(frames.PREFACE)
    return wire.wait_end(), [g.error for g in wire.goaways]


def no_settings_ack(server):
    """PINGs and requests do not stand in for the acknowledgement."""
    wire = Wire.connect(server, answers_settings=False)
    while not wire.over:
        try:
            wire.ping()
            wire.get("/one.bin")
            time.sleep(0.5)
        except (AssertionError, OSError):
            wire.wait_end()
    return wire.over, [g.error for g in wire.goaways]


def endless_field_section(server):
    wire = Wire.connect(server)
    wire.send(frames.headers(1, wire.request_block("/one.bin"), end_headers=False))
    return wire.wait_end(), [g.error for g in wire.goaways]


def stalled_reader(server):
    """Takes nothing of a large body: the server gives the connection up."""
    wire = Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: MAX_WINDOW}, receive_buffer=4096)
    wire.send(frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW))
    wire.request("/big.bin")
    poll = select.poll()
    poll.register(wire.sock, 0)  # errors and hang-ups alone
    return bool(poll.poll(PATIENCE * 1000))


def patient_client(server):
    """An honest one that is merely idle outlives the others."""
    wire = Wire.connect(server)
    wire.get("/one.bin")
    return wire


def held_drain(server):
    """A stream that never ends holds up the end of the server for a while only."""
    wire = Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}, refills=False)
    stream = wire.request("/small.txt")
    wire.wait(lambda: stream in wire.responses)
    server.signal()
    status = server.wait(timeout=PATIENCE)
    wire.wait_end()
    wire.close()
    return status, wire.responses[stream].ended


LAGGARDS = [silent, half_a_preface, dripping_preface, no_settings, no_settings_ack,
            endless_field_section, stalled_reader]


@pytest.fixture(scope="module")
def outcomes(tree):
    """What all of these came to, over each transport, by transport and function."""
    with contextlib.ExitStack() as stack:
        def serve(transport):
            server = Server(tree.root, transport, ("-w", "1"))
            stack.callback(server.stop)
            return server

        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(32))
        drained = pool.submit(held_drain, serve(transports.BY_NAME["h2c"]))
        waiting, idle = {}, {}
        for name, transport in transports.BY_NAME.items():
            server = serve(transport)
            idle[name] = patient_client(server)
            for laggard in LAGGARDS:
                waiting[name, laggard] = pool.submit(laggard, server)
        results = {key: future.result() for key, future in waiting.items()}
        for name, wire in idle.items():
            results[name, patient_client] = wire.get("/one.bin").body
            wire.close()
        results[held_drain] = drained.result()
        yield results


@pytest.mark.parametrize("laggard", [silent, half_a_preface, dripping_preface, no_settings])
def test_who_does_not_begin_is_cut_off(outcomes, transport, laggard):
    end, goaways = outcomes[transport.name, laggard]

    assert end in ("fin", "reset")
    assert goaways == []


@pytest.mark.parametrize("laggard, error", [(no_settings_ack, Error.SETTINGS_TIMEOUT),
                                            (endless_field_section, Error.ENHANCE_YOUR_CALM)])
def test_who_does_not_get_to_the_point_is_told_and_sent_away(outcomes, transport, laggard, error):
    assert outcomes[transport.name, laggard] == ("fin", [error])


def test_who_does_not_read_is_cut_off(outcomes, transport):
    assert outcomes[transport.name, stalled_reader]


def test_who_is_merely_idle_stays(outcomes, transport):
    assert outcomes[transport.name, patient_client] == b"x"


@pytest.mark.h2c_only(reason="a drain has nothing to do with TLS")
def test_a_stream_that_never_ends_holds_a_drain_for_a_while_only(outcomes):
    status, is_whole = outcomes[held_drain]

    assert status == 0
    assert not is_whole
