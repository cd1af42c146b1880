"""A burst of handshakes does not starve connections that are open."""

import socket
import ssl
import struct
import time

import pytest

from harness import transport as transports
from harness.wire import Wire

BURST = 300
LAST_DATA_RECV = 52  # offset in struct tcp_info: milliseconds since data came


@pytest.fixture
def transport():
    return transports.BY_NAME["tls"]


def came_at(sock):
    """When data came last, as the kernel saw it: whoever reads late sees the same order."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return time.monotonic() - struct.unpack_from("=I", info, LAST_DATA_RECV)[0] / 1000


def client_hello():
    outgoing = ssl.MemoryBIO()
    tls = transports.tls_context(["h2"]).wrap_bio(ssl.MemoryBIO(), outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def test_requests_are_answered_while_handshakes_are_outstanding(server):
    """All ClientHellos lie in the server's sockets before it gets to run, the request last."""
    with Wire.connect(server) as wire:
        wire.get("/one.bin")
        server.pause()
        crowd = []
        for _ in range(BURST):
            crowd.append(transports.open_tcp(server.port))
            crowd[-1].sendall(client_hello())
        stream = wire.request("/one.bin")
        server.resume()

        assert wire.response(stream).body == b"x"
        for sock in crowd:  # all of them get their answer in the end
            assert sock.recv(1, socket.MSG_PEEK)
        answered = came_at(wire.sock)
        outstanding = sum(came_at(sock) > answered for sock in crowd)
        for sock in crowd:
            sock.close()
    assert outstanding > BURST / 2
