"""An answer that comes before the request is in: the client must be able to read it.

To close a socket with unread bytes resets the connection, and a reset may overtake the answer on
its way.  So the server ends its own direction, reads on for a while, and closes then (RFC 9112 9.6).
"""

import socket
import ssl

import pytest

from harness import transport as transports
from harness.wire import PATIENCE

ANSWERED_EARLY = {
    "a bad head": (b"400", b"GET / HTTP/1.1\r\nHost: a\r\nbad line\r\n\r\n"),
    "a long field": (b"431", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 9000 + b"\r\n\r\n"),
    "a large body": (b"413", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n"),
    "a bad chunk": (b"400", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxx"),
    "an unknown coding": (b"501", b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n"),
    "an unknown version": (b"505", b"GET / HTTP/1.7\r\nHost: a\r\n\r\n"),
    "an expectation": (b"417", b"POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n"
                               b"Content-Length: 99999\r\n\r\n"),
}


def connect(server):
    sock = transports.open_tcp(server.port)
    if server.transport.name == "tls":
        sock = transports.tls_context(["http/1.1"]).wrap_socket(sock)
    sock.settimeout(PATIENCE)
    return sock


def read_to_end(sock):
    said = b""
    while more := sock.recv(65536):
        said += more
    return said


@pytest.mark.parametrize("status, request_head", ANSWERED_EARLY.values(), ids=ANSWERED_EARLY)
def test_the_answer_can_be_read_although_more_was_sent(server, status, request_head):
    with connect(server) as sock:
        sock.sendall(request_head + b"z" * 50000)
        answer = read_to_end(sock)  # a reset would be an error here
        assert answer.startswith(b"HTTP/1.1 " + status + b" ")
        assert b"\r\nconnection: close\r\n" in answer
        sock.sendall(b"z" * 4000)  # it is still being read
    server.stop()
    assert server.stats["requests"] <= 1


def test_who_never_stops_sending_is_cut_off(server):
    with connect(server) as sock:
        sock.sendall(b"GET / HTTP/1.7\r\nHost: a\r\n\r\n")
        assert read_to_end(sock).startswith(b"HTTP/1.1 505 ")
        with pytest.raises((ConnectionError, ssl.SSLError, socket.timeout)) as error:
            for _ in range(1000):
                sock.sendall(b"z" * 65536)
        assert not isinstance(error.value, socket.timeout)
    server.stop()
    assert server.stats["bytes"]["received"] < 4 * 1024 * 1024
