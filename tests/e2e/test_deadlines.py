"""Peers that never get to the point.  All of them wait side by side, so that a test takes as long
as the longest deadline; each waits for the end of its connection, however long that takes."""

import concurrent.futures
import select
import time

import pytest

from harness import frames
from harness.frames import DEFAULT_WINDOW, MAX_WINDOW, Error, Setting
from harness.wire import PATIENCE, Wire


def silent(server):
    wire = Wire(server.connect())
    return wire.wait_end(), wire.goaways


def half_a_preface(server):
    wire = Wire(server.connect())
    wire.send(frames.PREFACE[:12])
    return wire.wait_end(), wire.goaways


def dripping_preface(server):
    """A byte now and then does not extend the deadline."""
    wire = Wire(server.connect())
    for byte in frames.PREFACE:
        wire.send(bytes([byte]))
        if select.select([wire.sock], [], [], 1)[0] and not wire._receive():
            return wire.over, wire.goaways
    return "served", wire.goaways


def no_settings(server):
    wire = Wire(server.connect())
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
    """An honest one that is merely idle outlives all of these."""
    wire = Wire.connect(server)
    wire.get("/one.bin")
    return wire


def test_who_does_not_get_to_the_point_is_sent_away(server):
    idle = patient_client(server)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        said_nothing = pool.submit(silent, server)
        began = pool.submit(half_a_preface, server)
        dripped = pool.submit(dripping_preface, server)
        no_frame = pool.submit(no_settings, server)
        no_ack = pool.submit(no_settings_ack, server)
        no_end = pool.submit(endless_field_section, server)
        no_reading = pool.submit(stalled_reader, server)

    assert said_nothing.result()[0] in ("fin", "reset")
    assert began.result()[0] in ("fin", "reset")
    assert dripped.result()[0] in ("fin", "reset")
    assert no_frame.result()[0] in ("fin", "reset")
    assert no_ack.result() == ("fin", [Error.SETTINGS_TIMEOUT])
    assert no_end.result() == ("fin", [Error.ENHANCE_YOUR_CALM])
    assert no_reading.result()
    assert idle.get("/one.bin").body == b"x"
    idle.close()


@pytest.mark.h2c_only(reason="30 s for what TLS does not touch")
def test_a_stream_that_never_ends_holds_a_drain_for_a_while_only(server):
    wire = Wire.connect(server, {Setting.INITIAL_WINDOW_SIZE: 0}, refills=False)
    stream = wire.request("/small.txt")
    wire.wait(lambda: stream in wire.responses)

    server.signal()

    assert server.wait(timeout=PATIENCE) == 0
    wire.wait_end()
    assert not wire.responses[stream].ended
    wire.close()
