"""Listeners that insist on one protocol: `-l ADDR,h2`, `-s ADDR,http/1.1` and so on."""

import ssl
import subprocess

import pytest

from harness import frames
from harness import transport as transports
from harness.frames import Error
from harness.wire import PATIENCE, Wire

GET = b"GET /small.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.fixture
def listen(start, tree, transport):
    """listen(protocol): a server whose only listener speaks that alone."""
    return lambda only: start(tree.root, listen=(transport.listen[0], f"127.0.0.1:0,{only}"))


def curl(server, option):
    """curl's exit status and what it printed."""
    done = subprocess.run(["curl", "-sS", "--insecure", option, server.url("/small.txt")],
                          capture_output=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout


def over_tls(server, alpn):
    return transports.tls_context(alpn).wrap_socket(transports.open_tcp(server.port))


def read_to_end(sock):
    said = b""
    while more := sock.recv(65536):
        said += more
    return said


def test_h2_alone(listen, tree):
    server = listen("h2")
    with Wire.connect(server) as wire:
        assert wire.get("/small.txt").body == tree.files["small.txt"]
    status, body = curl(server, "--http1.1")
    assert status != 0 and body == b""
    server.stop()
    assert server.stats["requests"] == 1


def test_http1_alone(listen, tree):
    server = listen("http/1.1")
    assert curl(server, "--http1.1") == (0, tree.files["small.txt"])


@pytest.mark.h2c_only(reason="ALPN has its own tests below")
def test_http1_on_a_listener_for_h2_is_told_so_in_h2(listen):
    wire = Wire(listen("h2").connect())
    wire.send(GET)
    assert wire.wait_end() == "fin"
    assert [goaway.error for goaway in wire.goaways] == [Error.PROTOCOL_ERROR]


@pytest.mark.h2c_only(reason="ALPN has its own tests below")
@pytest.mark.parametrize("step", [1, 24])
def test_h2_on_a_listener_for_http1_is_told_so_in_http1(listen, step):
    with listen("http/1.1").connect() as sock:
        for at in range(0, len(frames.PREFACE), step):
            try:
                sock.sendall(frames.PREFACE[at:at + step])
            except ConnectionError:
                break  # the first line was enough
        assert sock.recv(65536).startswith(b"HTTP/1.1 505 ")


class TestAlpn:
    @pytest.fixture
    def transport(self):
        return transports.BY_NAME["tls"]

    @pytest.mark.parametrize("only, offer", [("h2", ["http/1.1"]), ("http/1.1", ["h2"])])
    def test_the_other_protocol_is_refused_by_an_alert(self, listen, only, offer):
        server = listen(only)
        with pytest.raises(ssl.SSLError, match="no application protocol"):
            over_tls(server, offer)

    @pytest.mark.parametrize("only", ["h2", "http/1.1"])
    def test_of_two_that_are_offered_the_right_one_is_taken(self, listen, only):
        server = listen(only)
        for offer in (["h2", "http/1.1"], ["http/1.1", "h2"]):
            with over_tls(server, offer) as sock:
                assert sock.selected_alpn_protocol() == only

    def test_without_alpn_http1_is_spoken(self, listen, tree):
        with over_tls(listen("http/1.1"), []) as sock:
            sock.sendall(GET)
            assert read_to_end(sock).endswith(tree.files["small.txt"])

    def test_without_alpn_h2_is_not_spoken(self, listen):
        server = listen("h2")
        with over_tls(server, []) as sock:
            assert read_to_end(sock) == b""  # close_notify: an error would be raised without it
        server.stop()
        assert server.stats["connections"]["protocol_errors"] == 1
