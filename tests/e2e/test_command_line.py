"""What the command line takes, and what it says of the rest."""

import os
import pathlib
import pwd
import re
import socket
import subprocess

import pytest

from harness import frames
from harness import server as servers
from harness import tools
from harness import transport as transports
from harness.wire import Wire

WWW = pathlib.Path(__file__).resolve().parents[2] / "www"


@pytest.fixture
def weir(tmp_path):
    def run(*arguments, **kwargs):
        command = [str(servers.binary()), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=30, text=True, check=False,
                              stdin=subprocess.DEVNULL, env=servers.environment(), **kwargs)
    return run


def assert_refused(done, status, *words):
    """One clear line on standard error, and the status that goes with it."""
    assert done.returncode == status
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.endswith("\n")
    assert done.stderr.startswith("weir: error: ")
    for word in words:
        assert str(word) in done.stderr


# ---- a wrong command line: 2 ----


@pytest.mark.parametrize("arguments, named", [
    (["--frobnicate"], "--frobnicate"),
    (["--stats=yes"], "--stats=yes"),
    (["--help=me"], "--help=me"),
    (["-Z"], "-Z"),
    (["-Zh", "--stats"], "-Z"),
    (["--stats", "-Zh"], "-Z"),
    (["--workers"], "--workers"),
    (["-l"], "l"),
    (["-w", "0"], "0"),
    (["-w", "-1"], "-1"),
    (["-w", "many"], "many"),
    (["-w", "4x"], "4x"),
    (["-w", ""], ""),
    (["-w", "99999999999999999999"], "99999999999999999999"),
    (["--io", "carrier-pigeon"], "carrier-pigeon"),
    (["-l", "127.0.0.1"], "127.0.0.1"),
    (["-l", "127.0.0.1:"], "127.0.0.1:"),
    (["-l", "127.0.0.1:65536"], "127.0.0.1:65536"),
    (["-l", "127.0.0.1:-1"], "127.0.0.1:-1"),
    (["-l", "127.0.0.1:80x"], "127.0.0.1:80x"),
    (["-l", "not an address:80"], "not an address:80"),
    (["-l", "256.0.0.1:80"], "256.0.0.1:80"),
    (["-l", "unix:"], "unix:"),
    (["-l", "unix:/" + "x" * 200], "unix:"),
    (["-l", ""], ""),
    (["-l", "127.0.0.1:0,h3"], "127.0.0.1:0,h3"),
    (["-l", "127.0.0.1:0,"], "127.0.0.1:0,"),
    (["-l", ",h2"], ",h2"),
    (["-s", "127.0.0.1:0,h2,http/1.1"], "127.0.0.1:0,h2,http/1.1"),
    (["-s", "x" * 600 + ":0,h2"], "x"),
    (["/", "/tmp"], "/tmp"),
    (["--key", "key.pem"], "--cert"),
    (["--ticket-period", "0"], "0"),
    (["--ticket-period", "1h"], "1h"),
    (["--ticket-period", "-1"], "-1"),
    (["--ticket-period", ""], "--ticket-period"),
    (["--ticket-period", "302401"], "302401"),
    (["--cache-control", "no value"], "no value"),
    (["--cache-control", "=max-age=1"], "=max-age=1"),
    (["--cache-control", "*.js=a\nb"], "character"),
    (["--content-type", "*.ts"], "*.ts"),
    (["--content-type", "*.ts=video"], "video"),
    (["--content-type", "*.ts=/x"], "GLOB=TYPE"),
    (["--content-type", "*.ts=text/\n"], "character"),
    (["--content-type", "*.ts=a/" + "b" * 200], "GLOB=TYPE"),
    (["--fallback", ""], "--fallback"),
    (["--fallback", "/" + "x" * 1024], "--fallback"),
    (["--cache-size", "0"], "0"),
    (["--cache-size", "-1"], "-1"),
    (["--cache-size", "64MB"], "64MB"),
    (["--cache-size", "64m"], "64m"),
    (["--cache-size", "M"], "M"),
    (["--cache-size", "513M"], "513M"),
    (["--cache-size", "99999999999999999999"], "99999999999999999999"),
    (["--cache-size", "18014398509481984K"], "18014398509481984K"),
    (["--cache-files", "0"], "0"),
    (["--cache-files", "+5"], "+5"),
    (["--cache-files", "1000001"], "1000001"),
    (["--server", "a\rb"], "character"),
    (["--server", " weir"], " weir"),
    (["--server", "x" * 65], "64"),
])
def test_a_wrong_command_line_gets_one_line_and_status_2(weir, arguments, named):
    assert_refused(weir(*arguments), 2, named)


# ---- a directory that cannot be served: 2 ----


def test_a_directory_that_is_not_there(weir, tmp_path):
    assert_refused(weir("-l", "127.0.0.1:0", tmp_path / "none"), 2, tmp_path / "none")


def test_a_file_instead_of_a_directory(weir, tree):
    assert_refused(weir("-l", "127.0.0.1:0", tree.root / "small.txt"), 2, "small.txt")


@pytest.fixture
def unreadable(tmp_path_factory):
    """A directory that the user whom it is tried as may not open, and that user's keywords."""
    directory = tmp_path_factory.mktemp("unreadable")
    directory.chmod(0)
    if os.geteuid() != 0:
        return directory, {}
    nobody = pwd.getpwnam("nobody")
    for parent in directory.parents:
        if parent.stat().st_uid == 0 and parent.name.startswith("pytest"):
            parent.chmod(0o755)
    return directory, {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def test_a_directory_that_may_not_be_read(weir, unreadable):
    directory, user = unreadable
    try:
        done = weir("-l", "127.0.0.1:0", directory, **user)
    except PermissionError:
        pytest.skip("the other user may not run the program from where it lies")
    assert_refused(done, 2, directory)


@pytest.mark.parametrize("name", ["/none.html", "none.html", "/sub", "/../outside.html", "//x"])
def test_a_fallback_that_is_no_file_below_the_directory(weir, tree, name):
    assert_refused(weir("-l", "127.0.0.1:0", "--fallback", name, tree.root), 2, "fallback", name)


# ---- an address that cannot be had: 1 ----


def test_a_port_in_use(weir, tree):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"

        assert_refused(weir("-l", address, tree.root), 1, address)


def test_a_port_in_use_by_weir_itself(weir, server, tree):
    address = f"127.0.0.1:{server.port}"

    assert_refused(weir("-l", address, tree.root), 1, address)


def test_an_address_that_is_not_ours(weir, tree):
    assert_refused(weir("-l", "192.0.2.1:8080", tree.root), 1, "192.0.2.1:8080")


def test_a_socket_path_that_cannot_be_made(weir, tree, tmp_path):
    path = tmp_path / "none" / "socket"

    assert_refused(weir("-l", f"unix:{path}", tree.root), 1, path)


def test_a_socket_path_that_is_a_file_is_left_alone(weir, tree, tmp_path):
    path = tmp_path / "precious"
    path.write_bytes(b"data")

    assert_refused(weir("-l", f"unix:{path}", tree.root), 1, path)
    assert path.read_bytes() == b"data"


# ---- what it tells ----


def test_version(weir):
    done = weir("--version")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("weir ") and len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_option(weir, option):
    done = weir(option)

    assert (done.returncode, done.stderr) == (0, "")
    for name in ("-l", "--listen", "-w", "--workers", "--io", "--no-pin", "--check", "--stats",
                 "--version", "--help", "DIR", "--cache-control", "--content-type", "--fallback", "--list",
                 "--no-precompressed", "--cache-size", "--cache-files", "--server",
                 ",h2", ",http/1.1"):
        assert name in done.stdout


@pytest.mark.h2c_only
def test_the_readme_names_the_options_that_there_are(weir):
    readme = (WWW.parent / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith(("| `-", "| `--"))]
    told = set(re.findall(r"(--[a-z-]+)", " ".join(row.split("|")[1] for row in rows)))
    there_are = set(re.findall(r"^ {2}.{4}(--[a-z-]+)", weir("--help").stdout, re.MULTILINE))

    assert told == there_are


@pytest.mark.h2c_only
def test_what_is_installed_is_the_program_and_its_site(tmp_path, weir):
    tools.run("cmake", "--install", servers.binary().parent, "--prefix", tmp_path)

    installed = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    program = pathlib.Path("bin/weir")
    site = pathlib.Path("share/weir/www")
    assert program in installed
    assert {path.name for path in installed if path.parent == site} == \
        {path.name for path in WWW.iterdir()}
    assert re.search(rf"default: /.*/{site}\)", weir("--help").stdout)


def test_check_of_what_is_right_is_quiet_and_does_not_serve(weir, tree):
    done = weir("--check", "-l", "127.0.0.1:0", tree.root)

    assert done.returncode == 0
    assert "listening" not in done.stdout


@pytest.mark.parametrize("arguments", [
    ["-l", "127.0.0.1:0", "/none/at/all"], ["-w", "x"], ["-l", "x"], ["--frobnicate"],
    ["-l", "127.0.0.1:0", "--fallback", "none.html", "/"]])
def test_check_finds_what_is_wrong(weir, arguments):
    assert_refused(weir("--check", *arguments), 2)


# ---- listeners ----


def test_port_0_is_printed_as_the_port_it_became(server):
    assert server.port > 0
    assert tools.curl(server, "/one.bin").body == b"x"


def test_several_listeners_serve_the_same(start, tree, transport):
    option = transport.listen[0]
    server = start(tree.root, listen=(option, "127.0.0.1:0", option, "127.0.0.1:0"))

    assert len(set(server.addresses)) == 2
    for address in server.addresses:
        assert tools.curl(server, f"{address}/one.bin").body == b"x"


def test_ipv6(start, tree, transport):
    server = start(tree.root, listen=(transport.listen[0], "[::1]:0"))

    assert server.addresses[0].startswith(f"{transport.scheme}://[::1]:")
    assert tools.curl(server, f"{server.addresses[0]}/one.bin", "--globoff").body == b"x"


def test_a_unix_socket(start, tree, tmp_path, transport):
    path = tmp_path / "weir.socket"
    server = start(tree.root, listen=(transport.listen[0], f"unix:{path}"), workers=2)

    assert str(path) in server.addresses[0]
    for name in ("small.txt", "large.bin"):
        answer = tools.curl(server, f"{transport.scheme}://localhost/{name}",
                            "--unix-socket", path)
        assert (answer.protocol, answer.body) == ("HTTP/2", tree.files[name])
    with Wire(transport.wrap(transports.open_unix(path))) as wire:
        wire.send(frames.PREFACE, frames.settings())
        assert wire.get("/small.txt").body == tree.files["small.txt"]


def test_a_unix_socket_left_by_a_dead_server_is_replaced(start, tree, tmp_path, transport):
    path = tmp_path / "weir.socket"
    listen = (transport.listen[0], f"unix:{path}")
    first = start(tree.root, listen=listen)
    first.process.kill()
    first.process.wait()
    first.stats = {}  # it had no clean end, as was meant

    server = start(tree.root, listen=listen)

    answer = tools.curl(server, f"{transport.scheme}://localhost/small.txt", "--unix-socket", path)
    assert answer.body == tree.files["small.txt"]


def test_pinned_workers_serve_as_well(start, tree):
    server = start(tree.root)
    server.stop()
    command = [part for part in server.command if part != "--no-pin"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        address = process.stdout.readline().split()[-1]
        answer = tools.curl(server, f"{address}/one.bin")
        process.terminate()
        process.communicate(timeout=30)
    assert answer.body == b"x"
    assert process.returncode == 0
