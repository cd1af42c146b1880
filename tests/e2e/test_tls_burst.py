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


def wants_more(step):
    try:
        step()
    except ssl.SSLWantReadError:
        return True
    return False


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


def test_a_handshake_that_was_begun_is_ended_before_others_begin(server):
    """The client's last flight comes behind a crowd of ClientHellos, and is not kept till last."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = transports.tls_context(["http/1.1"]).wrap_bio(incoming, outgoing, server_hostname="x")
    begun = transports.open_tcp(server.port)
    while wants_more(tls.do_handshake):
        begun.sendall(outgoing.read())
        incoming.write(begun.recv(65536))
    tls.write(b"GET /one.bin HTTP/1.1\r\nhost: localhost\r\n\r\n")

    crowd = [transports.open_tcp(server.port) for _ in range(BURST)]
    with Wire.connect(server) as wire:
        wire.get("/one.bin")  # so those before it have been accepted
    server.pause()
    for sock in crowd:
        sock.sendall(client_hello())
    begun.sendall(outgoing.read())
    server.resume()

    incoming.write(begun.recv(65536))
    while wants_more(tls.read):
        incoming.write(begun.recv(65536))
    for sock in crowd:
        assert sock.recv(1, socket.MSG_PEEK)
    answered = came_at(begun)
    outstanding = sum(came_at(sock) > answered for sock in crowd)
    for sock in [begun, *crowd]:
        sock.close()
    # io_uring tells of some 20 sockets in a turn, in which 8 of the crowd have had theirs.
    assert outstanding > BURST / 4
