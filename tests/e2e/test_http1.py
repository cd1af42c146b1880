"""HTTP/1.1, over cleartext and TLS (RFC 9112): what is served, and framing that must be refused."""

import json
import re
import subprocess
import time

import pytest

from harness import tools
from harness.line import Line
from harness.tree import BIG_LEN, content
from harness.wire import PATIENCE

GET = b"GET /small.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
SMUGGLED = b"GET /one.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def line(server):
    with Line.connect(server) as connected:
        yield connected


# ---- what is served ----


@pytest.mark.parametrize("name", ["empty.txt", "one.bin", "small.txt", "large.bin"])
def test_curl(server, tree, name):
    answer = tools.run("curl", "-sS", "--insecure", "--http1.1", "-w", "%{http_version}",
                       server.url(f"/{name}"))
    assert answer == tree.files[name] + b"1.1"


def test_100_mib_are_mapped_and_not_copied(server):
    body = tools.run("curl", "-sS", "--insecure", "--http1.1", server.url("/big.bin"))
    assert body == content(BIG_LEN)
    server.stop()
    # The last byte is copied: it waits until the others have left and are known to be right.
    assert server.stats["body"] == {"mapped": BIG_LEN - 1, "pooled": 0, "copied": 1}


def test_wrk(start, tree):
    server = start(tree.root, workers=2)
    said = tools.run("wrk", "-t1", "-c20", "-d1s", server.url("/small.txt")).decode()

    done = int(re.search(r"(\d+) requests in", said)[1])
    assert done > 100 and "Socket errors" not in said and "Non-2xx" not in said
    server.stop()
    assert server.stats["responses"]["2xx"] >= done


def test_a_connection_is_kept(line, server, tree):
    for _ in range(50):
        line.send(GET)
        status, fields, body = line.read()
        assert (status, body) == (200, tree.files["small.txt"])
        assert "connection" not in dict(fields)
    line.sock.close()
    server.stop()
    assert server.stats["connections"]["accepted"] == 1


def test_head_tells_the_length_and_sends_no_body(line, tree):
    line.send(GET.replace(b"GET", b"HEAD"), GET)

    status, fields, _ = line.read(has_body=False)
    assert (status, dict(fields)["content-length"]) == (200, "1024")
    assert line.read()[2] == tree.files["small.txt"]


def test_404_keeps_the_connection(line, tree):
    line.send(GET.replace(b"small.txt", b"none"), GET)

    assert line.read()[0] == 404
    assert line.read()[2] == tree.files["small.txt"]


@pytest.mark.parametrize("count", [2, 16, 100])
def test_pipelined_requests_are_answered_in_order(line, tree, count):
    names = ["small.txt", "one.bin", "page.bin", "none"]
    line.send(*(GET.replace(b"small.txt", names[i % 4].encode()) for i in range(count)))

    for i in range(count):
        status, _, body = line.read()
        name = names[i % 4]
        assert (status, body) == (200, tree.files[name]) if name != "none" else status == 404


def test_a_large_response_in_a_pipeline(line, tree):
    line.send(GET.replace(b"small.txt", b"large.bin"), GET)

    assert line.read()[2] == tree.files["large.bin"]
    assert line.read()[2] == tree.files["small.txt"]


def test_requests_may_come_byte_by_byte(line, tree):
    for byte in GET + GET:
        line.send(bytes([byte]))

    for _ in range(2):
        assert line.read()[2] == tree.files["small.txt"]


def test_connection_close_is_obeyed(line, tree):
    line.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))

    status, fields, body = line.read()
    assert (status, dict(fields)["connection"], body) == (200, "close", tree.files["small.txt"])
    assert line.read() is None


def test_http_1_0_closes(line, tree):
    line.send(GET.replace(b"1.1", b"1.0"))

    assert line.read()[2] == tree.files["small.txt"]
    assert line.read() is None


def test_post_is_refused(line):
    line.send(b"POST /small.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello")

    assert line.read()[0] == 405


def test_sigterm_lets_a_response_end(server, tree):
    with Line.connect(server) as busy, Line.connect(server) as idle:
        idle.send(GET)
        assert idle.read()[0] == 200
        busy.send(GET.replace(b"small.txt", b"big.bin"))
        busy._receive()
        server.signal()

        assert idle.read() is None
        assert busy.read()[2] == content(BIG_LEN)
        assert busy.read() is None
    assert server.wait() == 0


def test_sigterm_under_wrk_loses_no_request(start, tree):
    server = start(tree.root, workers=2)
    idle = server.cpu_seconds()
    with subprocess.Popen(["wrk", "-t1", "-c10", "-d20s", server.url("/small.txt")],
                          stdout=subprocess.PIPE) as running:
        while server.cpu_seconds() - idle < 0.1:  # the load is on
            assert running.poll() is None
            time.sleep(0.01)
        server.signal()
        assert server.wait() == 0
        running.terminate()
        running.communicate(timeout=PATIENCE)
    server.stop()
    answers = server.stats["responses"]
    assert server.stats["requests"] == answers["2xx"] > 0
    assert not any(server.stats["streams"].values())


# ---- framing that is not right: an answer, and the end of the connection ----


def head(*fields, method="POST", path="/small.txt", version="HTTP/1.1", host="Host: localhost"):
    lines = [f"{method} {path} {version}", *([host] if host else []), *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chunked(body):
    return head("Transfer-Encoding: chunked") + body


REFUSED = {
    # F1
    "both lengths": (400, head("Content-Length: 4", "Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    # F2
    "two lengths": (400, head("Content-Length: 0", "Content-Length: 0")),
    "a list of lengths": (400, head("Content-Length: 0, 0")),
    "a length with a sign": (400, head("Content-Length: +0")),
    "a negative length": (400, head("Content-Length: -1")),
    "a hexadecimal length": (400, head("Content-Length: 0x0")),
    "an empty length": (400, head("Content-Length: ")),
    "a length beyond 64 bits": (400, head("Content-Length: 18446744073709551617")),
    # F3
    "gzip, chunked": ((400, 501), head("Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n"),
    "identity and chunked": ((400, 501), head("Transfer-Encoding: identity",
                                              "Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "xchunked": ((400, 501), head("Transfer-Encoding: xchunked") + b"0\r\n\r\n"),
    "chunked in HTTP/1.0": ((400, 501), head("Transfer-Encoding: chunked",
                                             version="HTTP/1.0") + b"0\r\n\r\n"),
    # F4, F5
    "space before the colon": (400, head("Content-Length : 0")),
    "tab before the colon": (400, head("X-A\t: b")),
    "a folded line": (400, head("X-A: b\r\n c")),
    "a folded coding": ((400, 501), head("Transfer-Encoding:\r\n chunked") + b"0\r\n\r\n"),
    "a first line with space": (400, b"GET / HTTP/1.1\r\n X-A: b\r\nHost: a\r\n\r\n"),
    # F6
    "lines of LF alone": (400, head(method="GET").replace(b"\r\n", b"\n")),
    "CR in a value": (400, head("X-A: b\rc", method="GET")),
    "NUL in a value": (400, head("X-A: b\0c", method="GET")),
    "NUL in the path": (400, head(method="GET", path="/\0")),
    # F7
    "a chunk size with 0x": (400, chunked(b"0x1\r\na\r\n0\r\n\r\n")),
    "a chunk size with LF": (400, chunked(b"1\na\r\n0\r\n\r\n")),
    "a chunk size with space": (400, chunked(b"1 \r\na\r\n0\r\n\r\n")),
    "a chunk size too large": (400, chunked(b"10000000000000000\r\na\r\n0\r\n\r\n")),
    "a chunk without CRLF behind": (400, chunked(b"1\r\naXX0\r\n\r\n")),
    # F8
    "a long chunk extension": (400, chunked(b"1;" + b"x" * 300 + b"\r\na\r\n0\r\n\r\n")),
    # F9
    "no host": (400, head(host=None, method="GET")),
    "two hosts": (400, head("Host: localhost", method="GET")),
    "a host with slash": (400, head(host="Host: a/b", method="GET")),
    "a host with user": (400, head(host="Host: u@a", method="GET")),
    "another host in the target": (400, head(method="GET", path="http://other/small.txt")),
    # F12
    "HTTP/1.2": (505, head(method="GET", version="HTTP/1.2")),
    "HTTP/2.0": (505, head(method="GET", version="HTTP/2.0")),
    "http/1.1": ((400, 505), head(method="GET", version="http/1.1")),
    "HTTP/0.9": ((400, 505), head(method="GET", version="HTTP/0.9")),
    "no version": ((400, 505), b"GET /\r\n\r\n"),
    # F13
    "two spaces": (400, head(method="GET", path=" /small.txt")),
    "a tab": (400, b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    # F14
    "a long path": (414, head(method="GET", path="/" + "x" * 9000)),
    "a long field": (431, head("X-A: " + "b" * 9000, method="GET")),
    "many fields": (431, head(*(f"X-{i}: b" for i in range(110)), method="GET")),
}


@pytest.mark.parametrize("status, blob", REFUSED.values(), ids=REFUSED.keys())
def test_wrong_framing_is_refused_and_nothing_behind_it_is_taken(server, status, blob):
    with Line.connect(server) as line:
        line.send(blob, SMUGGLED)

        got, pairs, body = line.read()
        fields = dict(pairs)
        assert got in (status if isinstance(status, tuple) else (status,))
        assert fields["connection"] == "close"
        assert fields["content-type"] == "text/html; charset=utf-8"
        assert (fields["cache-control"], fields["x-content-type-options"]) == ("no-store", "nosniff")
        assert f"<title>{got} ".encode() in body
        assert line.read() is None
    with Line.connect(server) as other:
        other.send(GET)
        assert other.read()[0] == 200
    server.stop()
    assert server.stats["responses"]["2xx"] == 1


@pytest.mark.parametrize("status, blob", [
    (414, head(method="HEAD", path="/" + "x" * 9000)),
    (431, head("X-A: " + "b" * 9000, method="HEAD")),
    (400, head("Host: localhost", method="HEAD")),
], ids=["path", "field", "hosts"])
@pytest.mark.parametrize("step", [100, 100_000])
def test_no_content_follows_what_refuses_a_head(line, status, blob, step):
    for at in range(0, len(blob), step):
        line.send(blob[at:at + step])

    got, fields, _ = line.read(has_body=False)
    assert got == status and int(dict(fields)["content-length"]) > 0
    assert line.read() is None


@pytest.mark.parametrize("status, blob", [
    (417, head("Expect: 200-ok", "Accept: application/json", "Content-Length: 5") + b"hello"),
    (413, head("Content-Length: 5000000", "Accept: application/json")),
    (400, head("Accept: application/json", "Host: localhost", method="GET")),
    (501, head("Accept: application/json", method="CONNECT", path="localhost:1")),
    (400, head("Transfer-Encoding: chunked", "Accept: application/json") + b"x"),
], ids=["expectation", "body length", "hosts", "method", "chunk"])
def test_programs_are_told_in_json_what_is_refused(line, status, blob):
    line.send(blob)

    got, fields, body = line.read()
    assert (got, dict(fields)["content-type"]) == (status, "application/problem+json")
    assert json.loads(body)["status"] == status


@pytest.mark.parametrize("body", [SMUGGLED, SMUGGLED * 3], ids=["one", "three"])
def test_a_body_is_not_taken_for_requests(line, server, body):
    """The answer comes early; what the body holds is not a request, whatever it looks like."""
    line.send(head(f"Content-Length: {len(body)}") + body)

    assert line.read()[0] == 405
    line.send(GET)
    again = line.read()
    assert again is None or again[2] == content(1024)
    line.sock.close()
    server.stop()
    assert server.stats["responses"]["2xx"] == (0 if again is None else 1)
