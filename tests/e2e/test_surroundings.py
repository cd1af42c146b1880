"""What surrounds the process goes wrong: standard streams, signals at odd times, the directory."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import time

import pytest

from harness import frames
from harness import server as servers
from harness.frames import Error
from harness.wire import Wire

pytestmark = pytest.mark.h2c_only(reason="nothing of it knows TLS")


@pytest.fixture
def launch(tmp_path, tree):
    """launch(**kwargs of Popen) starts weir on a unix socket; each is killed after the test."""
    running = []

    def launch_one(**kwargs):
        path = tmp_path / f"socket-{len(running)}"
        command = [str(servers.binary()), "-w", "1", "-l", f"unix:{path}", str(tree.root)]
        process = subprocess.Popen(command, env=servers.environment(), **kwargs)
        running.append(process)
        return process, path

    yield launch_one
    for process in running:
        process.kill()
        process.wait()


def connect(process, path):
    """A connection, as soon as the server listens."""
    while process.poll() is None:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(30)
        try:
            sock.connect(str(path))
            return sock
        except OSError:  # not there, or not listening yet
            sock.close()
    raise AssertionError(f"weir ended with status {process.returncode}")


def greet(process, path):
    wire = Wire(connect(process, path))
    wire.send(frames.PREFACE, frames.settings())
    return wire


# ---- standard streams ----


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_closed_standard_streams_are_not_taken_by_files_and_sockets(launch, closed):
    process, path = launch(preexec_fn=lambda: [os.close(fd) for fd in closed],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with greet(process, path) as wire:
        assert wire.get("/one.bin").body == b"x"
        for fd in closed:
            assert os.readlink(f"/proc/{process.pid}/fd/{fd}") == "/dev/null"
    process.terminate()
    assert process.wait(30) == 0


def test_a_log_that_nobody_reads_holds_nobody_up(launch):
    ours, theirs = os.pipe()
    process, path = launch(stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)

    for _ in range(1500):  # each leaves a line of some 80 bytes; a pipe holds 64 KiB
        with greet(process, path) as wire:
            wire.send(frames.data(1, b"x"))
            assert wire.wait_goaway() == Error.PROTOCOL_ERROR
    with greet(process, path) as wire:
        assert wire.get("/one.bin").body == b"x"

    process.terminate()
    assert process.wait(30) == 0
    os.close(ours)


def test_a_log_whose_reader_is_gone_is_no_reason_to_end(launch):
    ours, theirs = os.pipe()
    process, path = launch(stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    connect(process, path).close()
    os.close(ours)

    with greet(process, path) as wire:
        wire.send(frames.data(1, b"x"))
        assert wire.wait_goaway() == Error.PROTOCOL_ERROR
    process.terminate()
    assert process.wait(30) == 0


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_what_cannot_be_printed_is_an_error(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([servers.binary(), *arguments], stdout=full, stderr=subprocess.PIPE,
                              env=servers.environment(), timeout=30, check=False)

    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


# ---- signals ----


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_at_any_moment_of_the_start_ends_it(launch, number):
    """Before the server takes signals it ends by them, afterwards with status 0."""
    for delay_ms in range(40):
        process, path = launch(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay_ms / 1000)
        process.send_signal(number)

        assert process.wait(30) in (0, -number)
        assert not path.exists()


def test_many_signals_at_once_are_two(launch):
    process, path = launch(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sock = connect(process, path)
    for _ in range(50):
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)

    assert process.wait(30) == 0
    sock.close()


def test_signals_of_no_meaning_to_it_do_not_end_it(launch):
    process, path = launch(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with greet(process, path) as wire:
        for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH):
            process.send_signal(number)
            assert wire.get("/one.bin").body == b"x"


def test_being_stopped_and_continued_loses_nothing(start, tree):
    server = start(tree.root)
    with Wire.connect(server) as wire:
        server.pause()
        stream = wire.request("/large.bin")
        server.resume()

        assert wire.response(stream).body == tree.files["large.bin"]


# ---- the directory ----


def test_a_directory_that_is_deleted_is_empty_and_no_more(start, own_tree):
    server = start(own_tree.root)
    with Wire.connect(server) as wire:
        assert wire.get("/medium.bin").body == own_tree.files["medium.bin"]
        shutil.rmtree(own_tree.root)

        while (response := wire.get("/medium.bin")).status == 200:  # until the cache looks again
            assert response.body == own_tree.files["medium.bin"]
        assert response.status == 404
        assert wire.get("/style.css").status == 404


def test_a_directory_that_may_not_be_written_is_served(start, own_tree):
    for directory, _, _ in os.walk(own_tree.root):
        os.chmod(directory, 0o555)
    with Wire.connect(start(own_tree.root)) as wire:
        assert wire.get("/sub/deep/file.txt").body == own_tree.files["sub/deep/file.txt"]


# ---- too little of something ----


def start_with(limits, tree, tmp_path):
    """Weir with those limits of resources: (its standard error, its status), or (None, None) if it
    serves.  Who looks for leaks needs descriptors, too."""
    path = tmp_path / "socket"
    command = [str(servers.binary()), "-w", "2", "--io", servers.back_end(), "-l", f"unix:{path}",
               str(tree.root)]
    with subprocess.Popen(command, env=servers.environment(finds_leaks=False),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=lambda: [resource.setrlimit(k, (v, v)) for k, v in limits]
                          ) as process:
        if process.stdout.readline():
            with greet(process, path) as wire:
                assert wire.get("/one.bin").body == tree.files["one.bin"]
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
            return None, None
        return process.stderr.read().decode(), process.wait()


def assert_serves_or_says_why(limits, tree, tmp_path):
    said, status = start_with(limits, tree, tmp_path)
    if said is not None:
        assert status in (1, 2)
        assert "weir: error: " in said, said


@pytest.mark.parametrize("count", [4, 5, 6, 7, 8, 9, 10, 12, 40])
def test_with_few_descriptors_it_serves_or_says_why_not(tree, tmp_path, count):
    assert_serves_or_says_why([(resource.RLIMIT_NOFILE, count)], tree, tmp_path)


@pytest.mark.skipif(servers.is_sanitized(), reason="sanitizers need address space of their own")
@pytest.mark.parametrize("mib", [100, 1000, 1100, 1600, 2200, 2500, 4000])
def test_with_little_address_space_it_serves_or_says_why_not(tree, tmp_path, mib):
    assert_serves_or_says_why([(resource.RLIMIT_AS, mib << 20)], tree, tmp_path)
