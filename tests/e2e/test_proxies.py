"""The server as the origin behind nginx and HAProxy, over HTTP/1.1 and h2c, connections kept."""

import concurrent.futures
import hashlib
import http.client
import re
import tempfile

import pytest

from harness import proxies
from harness import transport as transports
from harness.tree import BIG_LEN, content
from harness.wire import PATIENCE

SEQUENCE = 60
CLIENTS = 8
EACH = 25


@pytest.fixture
def transport():
    return transports.BY_NAME["h2c"]  # cleartext: what the proxy speaks is its own affair


@pytest.fixture(params=proxies.ALL)
def proxy(request, server):
    with tempfile.TemporaryDirectory(prefix="weir-proxy-") as folder:
        running = proxies.ALL[request.param](folder, server.port)
        yield running
        running.stop()


class Client(http.client.HTTPConnection):
    """HTTP/1.1 to the proxy, over its unix socket."""

    def __init__(self, proxy):
        super().__init__("localhost", timeout=PATIENCE)
        self._proxy = proxy

    def connect(self):
        self.sock = self._proxy.connect()

    def ask(self, path, method="GET", **fields):
        """(status, fields in lower case, body)"""
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        self.request(method, path, headers=headers)
        answer = self.getresponse()
        return (answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())


@pytest.fixture
def client(proxy):
    connected = Client(proxy)
    yield connected
    connected.close()


def end_of(server, proxy):
    """The server's counters, once nobody is connected any more."""
    proxy.stop()
    server.stop()
    return server.stats


def test_files_come_through(client, tree):
    for name in ("empty.txt", "one.bin", "small.txt", "page.bin", "medium.bin", "large.bin"):
        status, fields, body = client.ask(f"/{name}")
        assert (status, body) == (200, tree.files[name])
        assert fields["content-length"] == str(len(body))


def test_head_comes_through(client):
    status, fields, body = client.ask("/large.bin", "HEAD")
    assert (status, body) == (200, b"")
    assert int(fields["content-length"]) == len(content(5 * 1024 * 1024 + 1))
    assert client.ask("/one.bin")[2] == b"x"


def test_conditions_come_through(client):
    _, fields, _ = client.ask("/small.txt")
    status, again, body = client.ask("/small.txt", if_none_match=fields["etag"])
    assert (status, body, again["etag"]) == (304, b"", fields["etag"])
    status, _, _ = client.ask("/small.txt", if_modified_since=fields["last-modified"])
    assert status == 304
    assert client.ask("/small.txt", if_match='"other"')[0] == 412


def test_ranges_come_through(client, tree):
    whole = tree.files["large.bin"]
    status, fields, body = client.ask("/large.bin", range="bytes=1000-1999999")
    assert (status, body) == (206, whole[1000:2000000])
    assert fields["content-range"] == f"bytes 1000-1999999/{len(whole)}"
    status, fields, body = client.ask("/large.bin", range="bytes=0-9,4000000-4100000")
    assert status == 206
    boundary = re.search(r"boundary=(\S+)", fields["content-type"])[1].encode()
    parts = body.split(b"--" + boundary)
    assert [p.partition(b"\r\n\r\n")[2][:-2] for p in parts[1:3]] == [whole[:10],
                                                                     whole[4000000:4100001]]
    assert client.ask("/one.bin", range="bytes=7-")[0] == 416


def test_errors_come_through(client):
    assert client.ask("/none")[0] == 404
    assert client.ask("/small.txt", "DELETE")[0] == 405
    assert client.ask("/one.bin")[2] == b"x"


def test_an_upload_is_answered(client):
    client.request("POST", "/small.txt", body=b"x" * 10000)
    answer = client.getresponse()
    answer.read()
    assert answer.status == 405
    assert client.ask("/one.bin")[2] == b"x"


def test_100_mib_come_through(client):
    client.request("GET", "/big.bin")
    answer = client.getresponse()
    digest = hashlib.sha256()
    while block := answer.read(1 << 20):
        digest.update(block)
    assert digest.digest() == hashlib.sha256(content(BIG_LEN)).digest()


def test_connections_to_the_server_are_kept(client, proxy, server, tree):
    for i in range(SEQUENCE):
        name = ("small.txt", "none", "medium.bin", "empty.txt")[i % 4]
        status, _, body = client.ask(f"/{name}")
        assert status == 404 if name == "none" else body == tree.files[name]
    stats = end_of(server, proxy)
    assert stats["requests"] == SEQUENCE
    assert stats["connections"]["accepted"] == 1
    assert stats["connections"]["protocol_errors"] == 0


def test_clients_share_connections(proxy, server, tree):
    def load(number):
        client = Client(proxy)
        names = ("small.txt", "medium.bin", "one.bin")
        for i in range(EACH):
            name = names[(number + i) % 3]
            assert client.ask(f"/{name}")[2] == tree.files[name]
        client.close()
        return True

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        assert all(pool.map(load, range(CLIENTS)))
    stats = end_of(server, proxy)
    assert stats["requests"] == CLIENTS * EACH
    assert stats["connections"]["accepted"] <= 2 * CLIENTS
    assert not any(stats["streams"].values())


def test_clients_that_go_away_leave_the_others_alone(proxy, server, tree):
    steady = Client(proxy)
    for i in range(20):
        gone = Client(proxy)
        gone.request("GET", "/big.bin")
        gone.sock.recv(1 + 20000 * i)
        gone.close()
        assert steady.ask("/medium.bin")[2] == tree.files["medium.bin"]
    steady.close()
    stats = end_of(server, proxy)
    assert stats["responses"]["2xx"] == 40
    assert stats["connections"]["protocol_errors"] == 0
