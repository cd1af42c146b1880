"""Files arrive byte for byte, whichever client asks for them and whatever their size."""

import email.utils
import json
import os

import pytest

from harness import tools
from harness.peer import Peer
from harness.tree import BIG_LEN, content
from harness.wire import Wire

SIZES = ["empty.txt", "one.bin", "small.txt", "page.bin", "medium.bin", "large.bin"]


@pytest.mark.parametrize("name", SIZES)
def test_curl_gets_the_file(server, tree, name):
    answer = tools.curl(server, f"/{name}")

    assert (answer.protocol, answer.status) == ("HTTP/2", 200)
    assert answer.body == tree.files[name]
    assert int(answer.fields["content-length"]) == len(tree.files[name])


@pytest.mark.parametrize("name", SIZES)
def test_nghttp_gets_the_file(server, tree, name):
    assert tools.nghttp(server, f"/{name}") == tree.files[name]


def test_python_h2_gets_all_files_over_one_connection(server, tree):
    with Peer(server) as peer:
        streams = {peer.request(f"/{name}"): name for name in SIZES}
        for stream, name in streams.items():
            response = peer.response(stream)
            assert response.status == 200
            assert response.body == tree.files[name]


@pytest.mark.parametrize("name", SIZES)
def test_h2load_counts_every_byte(server, tree, name):
    load = tools.h2load(server, f"/{name}", requests=20, clients=2, streams=2)

    assert (load.succeeded, load.failed, load.by_class["2xx"]) == (20, 0, 20)
    assert load.data_bytes == 20 * len(tree.files[name])


def test_curl_gets_100_mib(server):
    assert tools.curl(server, "/big.bin").body == content(BIG_LEN)


def test_nghttp_gets_100_mib(server):
    assert tools.nghttp(server, "/big.bin", options=("-w", "30", "-W", "30")) == content(BIG_LEN)


def test_h2load_gets_100_mib_four_times(server):
    load = tools.h2load(server, "/big.bin", requests=4, clients=2, streams=2)

    assert (load.succeeded, load.failed) == (4, 0)
    assert load.data_bytes == 4 * BIG_LEN


def test_python_h2_gets_100_mib(server):
    with Peer(server, window=2**20) as peer:
        assert peer.get("/big.bin").body == content(BIG_LEN)


def test_100_mib_through_default_windows(wire):
    assert wire.get("/big.bin").body == content(BIG_LEN)


# ---- what a response says of its file ----


@pytest.mark.parametrize("name", SIZES + ["index.html", "style.css"])
def test_head_says_what_get_says_and_sends_no_body(wire, name):
    get = wire.get(f"/{name}")
    head = wire.get(f"/{name}", method="HEAD")

    assert head.ended and head.body == b""
    assert _without_date(head) == _without_date(get)
    assert int(head.get("content-length")) == len(get.body)


@pytest.mark.parametrize("name, kind", [
    ("index.html", "text/html"), ("style.css", "text/css"), ("small.txt", "text/plain")])
def test_content_type_follows_the_name(wire, name, kind):
    assert wire.get(f"/{name}").get("content-type").split(";")[0] == kind


def test_validators_are_those_of_the_file(wire, tree):
    path = tree.root / "small.txt"

    first = wire.get("/small.txt")
    again = wire.get("/small.txt")
    other = wire.get("/page.bin")

    modified = email.utils.parsedate_to_datetime(first.get("last-modified"))
    assert modified.timestamp() == int(path.stat().st_mtime)
    assert first.get("etag").startswith('"') and first.get("etag").endswith('"')
    assert first.get("etag") == again.get("etag") != other.get("etag")


def test_etag_does_not_depend_on_the_inode(start, tree, tmp_path):
    twin = tmp_path / "twin"
    twin.mkdir()
    (twin / "small.txt").write_bytes(tree.files["small.txt"])
    stat = (tree.root / "small.txt").stat()
    os.utime(twin / "small.txt", ns=(stat.st_atime_ns, stat.st_mtime_ns))

    etags = []
    for directory in (tree.root, twin):
        with Wire.connect(start(directory)) as wire:
            etags.append(wire.get("/small.txt").get("etag"))

    assert etags[0] == etags[1]


def test_date_is_an_http_date_of_now(wire):
    before = email.utils.localtime().timestamp()
    date = wire.get("/one.bin").get("date")
    after = email.utils.localtime().timestamp()

    assert date.endswith(" GMT")
    assert before - 2 <= email.utils.parsedate_to_datetime(date).timestamp() <= after


def test_index_html_stands_for_its_directory(wire, tree):
    assert wire.get("/").body == tree.files["index.html"]
    assert wire.get("/sub/").body == tree.files["sub/index.html"]


@pytest.mark.parametrize("path, name", [
    ("/sub/deep/file.txt", "sub/deep/file.txt"),
    ("/small.txt?query=1&x=%00", "small.txt"),
    ("/%73mall.txt", "small.txt"),
    ("/sub%2Ddoes-not-matter/../small.txt", "small.txt"),
    ("/./small.txt", "small.txt"),
    ("/sub/../small.txt", "small.txt"),
    ("/sub/deep/../../small.txt", "small.txt"),
    ("/sub/./deep/./file.txt", "sub/deep/file.txt"),
    ("/with%20space%20%26%20%C3%BCmlaut.txt", "with space & ümlaut.txt"),
    ("/with%20space%20&%20%c3%bcmlaut.txt", "with space & ümlaut.txt"),
])
def test_a_path_is_decoded_once_and_freed_of_dot_segments(wire, tree, path, name):
    response = wire.get(path)

    assert response.status == 200
    assert response.body == tree.files[name]


# ---- what is not there, not allowed, not a path ----


@pytest.mark.parametrize("path", ["/none", "/none/", "/sub/none.txt", "/small.txt/", "/small.txt/x",
                                  "/SMALL.TXT", "/" + "x" * 300, "/" + "x/" * 500])
def test_404_for_what_is_not_there(wire, path):
    assert wire.get(path).status == 404
    assert wire.get("/one.bin").status == 200


def test_a_directory_without_index_is_not_listed(wire):
    response = wire.get("/sub/deep/")

    assert response.status == 404
    assert b"file.txt" not in response.body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE", "get", "BREW"])
def test_405_names_the_methods_that_are_allowed(wire, method):
    response = wire.get("/small.txt", method=method)

    assert response.status == 405
    allowed = {name.strip() for name in response.get("allow").split(",")}
    assert {"GET", "HEAD"} <= allowed <= {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize("path", ["/%", "/%4", "/%zz", "/%0", "/%00", "/small.txt%00", "/a%00/b",
                                  "/%%34%31", "/%u0041"])
def test_400_for_a_malformed_path(wire, path):
    assert wire.get(path).status == 400
    assert wire.get("/one.bin").status == 200


def test_414_for_a_path_beyond_the_limit(wire):
    assert wire.get("/" + "x" * 9000).status == 414
    response = wire.get("/" + "x" * 9000, extra=[("accept", "application/json")])
    assert (response.status, response.get("content-type")) == (414, "application/problem+json")
    fields = [("accept", "application/json"), *((f"x-{i}", "b") for i in range(110))]
    response = wire.get("/", extra=fields)
    assert (response.status, json.loads(response.body)["status"]) == (431, 431)


def test_errors_do_not_echo_the_request(wire):
    marker = "echo-me-not"
    for path, method in ((f"/{marker}", "GET"), (f"/{marker}%zz", "GET"), ("/", marker.upper())):
        assert marker.encode() not in bytes(wire.get(path, method=method).body).lower()


def _without_date(response):
    return [(name, value) for name, value in response.fields if name != "date"]
