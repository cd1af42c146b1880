"""What the server may not read: it runs as a user of its own, and permissions change meanwhile."""

import os
import pathlib
import shutil
import tempfile
import time

import pytest

from harness import frames
from harness.frames import Error, Setting
from harness.tree import MIB, content
from harness.wire import PATIENCE, Wire

pytestmark = pytest.mark.h2c_only

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")

FILES = {"a.txt": b"0123456789", "large.bin": content(3 * MIB), "dir/index.html": b"<p>dir",
         "dir/inner/b.txt": b"inner", "app.js": b"// a script", "app.js.gz": b"packed",
         "bare/c.txt": b"bare", "404.html": b"<p>not here", "hot.txt": b"hot"}


@pytest.fixture
def site():
    """Where an unprivileged user can come: pytest's directories are closed to others."""
    root = pathlib.Path(tempfile.mkdtemp(prefix="weir-permissions-"))
    root.chmod(0o755)
    for name, body in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    yield root
    for path in [p for p in root.rglob("*") if p.is_dir()]:
        path.chmod(0o755)
    shutil.rmtree(root)


@pytest.fixture
def server_of_site(start, site):
    return start(site, "--list", within=AS_NOBODY if os.geteuid() == 0 else ())


@pytest.fixture
def wire(server_of_site):
    with Wire.connect(server_of_site) as connected:
        yield connected


def wait_for(wire, path, status, **kwargs):
    """A change shows within a second; nothing else may be hurt by it meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while (response := wire.get(path, **kwargs)).status != status:
        assert time.monotonic() < deadline, response.status
        assert wire.get("/hot.txt").body == b"hot"
    return response


@pytest.mark.parametrize("name", ["a.txt", "large.bin"])
def test_a_file_that_may_not_be_read(wire, site, name):
    (site / name).chmod(0)
    response = wire.get(f"/{name}")
    assert (response.status, response.get("cache-control")) == (403, "no-store")
    assert b"403 Forbidden" in response.body
    assert wire.get(f"/{name}", method="HEAD").status == 403
    assert wire.get(f"/{name}", extra=[("range", "bytes=0-1")]).status == 403
    assert wire.get(f"/{name}", extra=[("if-none-match", "*")]).status == 403
    (site / name).chmod(0o644)
    assert wait_for(wire, f"/{name}", 200).body == FILES[name]


@pytest.mark.parametrize("name", ["a.txt", "large.bin"])
def test_a_file_that_may_not_be_read_any_more(wire, site, name):
    assert wire.get(f"/{name}").body == FILES[name]
    (site / name).chmod(0)
    wait_for(wire, f"/{name}", 403)
    (site / name).chmod(0o644)
    assert wait_for(wire, f"/{name}", 200).body == FILES[name]


def test_a_body_under_way_is_whole_or_reset(server_of_site, wire, site):
    body = FILES["large.bin"]
    with Wire.connect(server_of_site, {Setting.INITIAL_WINDOW_SIZE: 1000}, refills=False) as slow:
        stream = slow.request("/large.bin")
        slow.wait(lambda: stream in slow.responses and slow.responses[stream].body)
        (site / "large.bin").chmod(0)
        wait_for(wire, "/large.bin", 403)
        slow.send(frames.window_update(0, len(body)), frames.window_update(stream, len(body)))
        response = slow.response(stream)
        assert response.reset == Error.INTERNAL_ERROR or response.body == body
        assert slow.get("/hot.txt").body == b"hot"


@pytest.mark.parametrize("mode", [0, 0o644], ids=["nothing", "names alone"])
def test_a_directory_that_may_not_be_entered(wire, site, mode):
    paths = ["/dir/inner/b.txt", "/dir/", "/dir/index.html"]
    assert [wire.get(path).status for path in paths] == [200] * 3
    (site / "dir").chmod(mode)
    for path in paths:
        wait_for(wire, path, 403)
    assert wire.get("/dir/none.txt").status == 403
    assert wire.get("/dir", method="HEAD").status == 308
    (site / "dir").chmod(0o755)
    for path in paths:
        wait_for(wire, path, 200)


def test_a_directory_whose_names_may_not_be_read(wire, site):
    (site / "bare").chmod(0o711)
    assert wire.get("/bare/").status == 403
    assert wire.get("/bare/c.txt").body == b"bare"
    (site / "dir").chmod(0o711)
    assert wire.get("/dir").get("location") == "dir/"
    assert wire.get("/dir/").body == b"<p>dir"


def test_an_index_that_may_not_be_read_is_not_replaced_by_a_list(wire, site):
    (site / "dir" / "index.html").chmod(0)
    assert wire.get("/dir/").status == 403


def test_a_sibling_that_may_not_be_read_is_none(wire, site):
    gzip = [("accept-encoding", "gzip")]
    assert wire.get("/app.js", extra=gzip).body == b"packed"
    (site / "app.js.gz").chmod(0)
    deadline = time.monotonic() + PATIENCE
    while (response := wire.get("/app.js", extra=gzip)).body != FILES["app.js"]:
        assert response.body == b"packed" and time.monotonic() < deadline
    (site / "app.js").chmod(0)
    wait_for(wire, "/app.js", 403, extra=gzip)


def test_a_page_that_may_not_be_read_does_not_stand_in(wire, site):
    (site / "404.html").chmod(0)
    response = wire.get("/none.txt")
    assert response.status == 404 and b"404 Not Found" in response.body
