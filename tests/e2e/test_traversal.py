"""No path, however written, yields a byte from outside of the served directory."""

import errno
import functools
import os

import pytest

from harness import sandbox
from harness import transport as transports
from harness.frames import Error
from harness.wire import Wire

SECRET = b"this lies outside of the served directory"
DOTS = ["..", "%2e%2e", "%2E%2e", ".%2e", "%2e.", "%252e%252e", "%c0%ae%c0%ae", "%u002e%u002e",
        "..%00", "%2e%2e%00", "..;", "...", "..%20", ".. "]
SLASHES = ["/", "//", "%2f", "%2F", "%252f", "\\", "%5c", "%5C", "%255c", "%c0%af", "/./", "/%2e/"]


@pytest.fixture(params=["h2c", "tls", "h2c without openat2"])
def way(request):
    return request.param


@pytest.fixture
def transport(way):
    return transports.BY_NAME[way.split()[0]]


@pytest.fixture
def start(start, way):
    """Servers where openat2(2) works, and those that have to do without."""
    refused = (sandbox.OPENAT2, errno.ENOSYS)
    return functools.partial(start, refused=refused) if "without" in way else start


@pytest.fixture
def trap(tmp_path):
    """A served directory, secrets beside and above it, and links that lead out."""
    site = tmp_path / "outer" / "site"
    (site / "sub" / "deep").mkdir(parents=True)
    (site / "index.html").write_bytes(b"inside\n")
    (site / "sub" / "file.txt").write_bytes(b"inside\n")
    (site / "link-inside").symlink_to("sub/file.txt")
    (site / "link-inside-absolute").symlink_to(site / "sub" / "file.txt")
    for place in (tmp_path, tmp_path / "outer", tmp_path / "outer" / "site-secret"):
        place.mkdir(exist_ok=True)
        (place / "secret.txt").write_bytes(SECRET)
        (place / "index.html").write_bytes(SECRET)
    secret = tmp_path / "outer" / "secret.txt"
    (site / "link-absolute").symlink_to(secret)
    (site / "link-relative").symlink_to("../secret.txt")
    (site / "link-to-directory").symlink_to(tmp_path / "outer")
    (site / "link-to-parent").symlink_to("..")
    (site / "link-to-root").symlink_to("/")
    (site / "link-to-link").symlink_to("link-absolute")
    (site / "link-to-process").symlink_to("/proc/self/environ")
    (site / "link-loop").symlink_to("link-loop")
    (site / "sub" / "link-up").symlink_to("../../secret.txt")
    return site


def paths(trap):
    """The table: every spelling of .. and of the slash, at every place."""
    absolute = str(trap.parent / "secret.txt")
    for dots in DOTS:
        for slash in SLASHES:
            up = dots + slash
            yield f"/{up}secret.txt"
            yield f"/{up}{up}secret.txt"
            yield f"/sub/{up}{up}secret.txt"
            yield f"/sub/{up}{up}{up}secret.txt"
            yield f"/sub/deep/{up}{up}{up}secret.txt"
            yield f"/{up}site-secret/secret.txt"
            yield f"/{up}" * 12 + "etc/passwd"
            yield f"/{up}"
            yield f"/sub/{up}{dots}"
            yield f"{slash}{up}secret.txt" if slash[0] == "/" else f"/{slash}{up}secret.txt"
    for slash in SLASHES:
        yield f"/{slash}{absolute}"
        yield f"/{slash}etc{slash}passwd"
        yield f"/sub{slash}..{slash}..{slash}secret.txt"
    yield from ("//" + absolute, "/" + absolute, absolute, "/file://" + absolute,
                "/proc/self/environ", "/..", "/../", "/sub/../..", "/sub/../../", "/.", "/../site",
                "/../site-secret/secret.txt", "/..%2fsite-secret%2fsecret.txt",
                "/link-to-directory/../secret.txt", "/link-to-parent/../secret.txt",
                "/sub/file.txt/../../../secret.txt", "/none/../../secret.txt")


LINKS = ["/link-absolute", "/link-relative", "/link-to-directory/secret.txt",
         "/link-to-directory/", "/link-to-parent/secret.txt", "/link-to-root/etc/passwd",
         "/link-to-link", "/link-to-process", "/link-loop", "/sub/link-up"]


def leaks(response):
    return any(mark in response.body for mark in (SECRET, b"root:", b"PATH="))


def test_no_spelling_of_a_path_leads_out(start, trap):
    server = start(trap)
    table = sorted(set(paths(trap)))
    assert len(table) > 1000

    wrong = {}
    for i in range(0, len(table), 10):  # few enough for the budget of malformed requests
        with Wire.connect(server) as wire:
            for path in table[i:i + 10]:
                response = wire.get(path)
                is_welcome = (response.status, response.body) == (200, b"inside\n")
                is_refused = response.status in (400, 404) or \
                    response.reset == Error.PROTOCOL_ERROR
                if leaks(response) or not (is_welcome or is_refused):
                    wrong[path] = response

    assert wrong == {}


@pytest.mark.parametrize("path", LINKS)
def test_no_link_leads_out(start, trap, path):
    with Wire.connect(start(trap)) as wire:
        response = wire.get(path)

        assert response.status == 404
        assert not leaks(response)


def test_a_link_within_the_directory_is_followed(start, trap):
    with Wire.connect(start(trap)) as wire:
        assert wire.get("/link-inside").body == b"inside\n"
        assert wire.get("/link-inside-absolute").body == b"inside\n"


@pytest.mark.parametrize("path", ["/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt",
                                  "/sub/%2e%2e/%2E%2E/%2e%2e/secret.txt", "/..", "/sub/../.."])
def test_a_climb_above_the_root_is_malformed(start, trap, path):
    with Wire.connect(start(trap)) as wire:
        assert wire.get(path).status == 400


@pytest.mark.parametrize("path", ["/sub%2ffile.txt", "/sub%5cfile.txt", "/sub\\file.txt",
                                  "/sub/file.txt%00", "/sub/file.txt%00.html"])
def test_hidden_separators_are_malformed(start, trap, path):
    with Wire.connect(start(trap)) as wire:
        assert wire.get(path).status == 400


def test_the_directory_may_be_named_relative_or_by_a_link(start, trap, tmp_path, monkeypatch):
    (tmp_path / "alias").symlink_to(trap)
    monkeypatch.chdir(trap.parent)

    for name in ("site", "./site/", "../outer/site", tmp_path / "alias"):
        with Wire.connect(start(name)) as wire:
            assert wire.get("/").body == b"inside\n"
            assert wire.get("/../secret.txt").status == 400


def test_what_is_not_a_regular_file_is_not_there(start, trap):
    os.mkfifo(trap / "pipe")
    server = start(trap)
    with Wire.connect(server) as wire:
        for path in ("/pipe", "/sub/deep"):
            assert wire.get(path).status in (301, 308, 404)
        assert wire.get("/").body == b"inside\n"


def test_a_link_swapped_in_later_does_not_lead_out(start, trap):
    with Wire.connect(start(trap)) as wire:
        assert wire.get("/sub/file.txt").status == 200
        (trap / "sub" / "file.txt").unlink()
        (trap / "sub" / "file.txt").symlink_to("../../secret.txt")
        while (response := wire.get("/sub/file.txt")).status == 200:  # until the cache looks again
            assert response.body == b"inside\n"

        assert response.status == 404
        assert not leaks(response)


@pytest.mark.parametrize("way", ["h2c"], indirect=True)
@pytest.mark.parametrize("error, said, by_kernel, by_walk", [
    (None, 0, True, False), (errno.ENOSYS, 1, False, True), (errno.EPERM, 1, False, True),
    (errno.EAGAIN, 0, True, True)])  # as where somebody keeps renaming things
def test_what_openat2_does_not_do_is_walked(start, trap, error, said, by_kernel, by_walk):
    server = start(trap, workers=3, refused=error and (sandbox.OPENAT2, error))

    with Wire.connect(server) as wire:
        assert wire.get("/link-inside").body == b"inside\n"

    server.stop()
    calls = server.stats["calls"]
    assert server.log().count("openat2") == said
    assert (calls["openat2"] > 0, calls["openat"] > 0) == (by_kernel, by_walk)
