"""The ways to a server: cleartext with prior knowledge, TLS with ALPN, a unix socket.

Each says how to make the server listen, how to open a socket to it, and what the tools must be
told, so that a test need not know which one it runs over.
"""

import socket
import ssl

CONNECT_TIMEOUT = 30


class Cleartext:
    name = "h2c"
    scheme = "http"
    listen = ("-l", "127.0.0.1:0")
    curl = ("--http2-prior-knowledge",)

    def wrap(self, sock):
        return sock


class Tls:
    name = "tls"
    scheme = "https"
    listen = ("-s", "127.0.0.1:0")
    curl = ("--http2", "--insecure")

    def wrap(self, sock):
        wrapped = tls_context(["h2"]).wrap_socket(sock, server_hostname="localhost")
        assert wrapped.selected_alpn_protocol() == "h2"
        return wrapped


def tls_context(alpn=()):
    """A client that takes any certificate; without `alpn` it offers none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if alpn:
        context.set_alpn_protocols(alpn)
    return context


def open_tcp(port, receive_buffer=None):
    """`receive_buffer`: bytes; a small one lets a slow reader be felt by the server soon."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    sock.settimeout(CONNECT_TIMEOUT)
    sock.connect(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def open_unix(path):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(CONNECT_TIMEOUT)
    sock.connect(str(path))
    return sock


BY_NAME = {transport.name: transport for transport in (Cleartext(), Tls())}
