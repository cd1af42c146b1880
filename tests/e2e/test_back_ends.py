"""Which way to the network is taken, and what it says of that: io_uring where the kernel lets us."""

import errno
import pathlib
import re
import resource
import subprocess

import pytest

from harness import namespaces, sandbox
from harness.crowd import Crowd
from harness.server import Server, binary, is_sanitized
from harness.transport import Cleartext, Tls, open_tcp
from harness.wire import Wire

CONNECTIONS = 2000
DESCRIPTORS = 200
CAP_IPC_LOCK = 14
CROWD = 60_000
CROWD_COST = 48 * 1024  # bytes of a connection, both ends and the kernel's part


def available_bytes():
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable:\s+(\d+) kB", text)[1]) * 1024


def has_uring(tmp_path):
    done = subprocess.run([binary(), "--io", "uring", "--check", tmp_path], capture_output=True)
    return done.returncode == 0


def line_of(log):
    """The one line that says what was taken, or why not."""
    lines = [line for line in log.splitlines() if re.search(r"io by|no uring here", line)]
    assert len(lines) == 1
    return lines[0]


@pytest.fixture
def run(tree):
    """run(*options, ...) gives a server; each ends with the test."""
    running = []

    def run_one(*options, transport=Cleartext(), **kwargs):
        running.append(Server(tree.root, transport, ("-w", "1", *options), **kwargs))
        return running[-1]

    yield run_one
    for server in running:
        if server.stats is None:
            server.stop()


@pytest.fixture
def uring(tmp_path):
    if not has_uring(tmp_path):
        pytest.skip("this kernel lets nobody use io_uring")


def test_auto_takes_uring_where_there_is_one(run, uring):
    server = run("--io", "auto")
    with Wire.connect(server) as wire:
        wire.get("/one.bin")
    server.stop()

    assert "io by uring: " in line_of(server.log())
    calls = server.stats["calls"]
    assert calls["io_uring_enter"] > 0 and calls["epoll_wait"] == calls["recv"] == 0


def test_epoll_is_taken_when_asked_for(run):
    server = run("--io", "epoll")
    with Wire.connect(server) as wire:
        wire.get("/one.bin")
    server.stop()

    assert "io by epoll: asked for" in line_of(server.log())
    calls = server.stats["calls"]
    assert calls["io_uring_enter"] == 0 and calls["epoll_wait"] > 0


@pytest.mark.parametrize("call", [sandbox.IO_URING_SETUP, sandbox.IO_URING_REGISTER,
                                  sandbox.IO_URING_ENTER], ids=["setup", "register", "enter"])
@pytest.mark.parametrize("error", [errno.EPERM, errno.ENOSYS], ids=["EPERM", "ENOSYS"])
def test_where_it_is_forbidden_auto_serves_by_epoll_and_uring_ends(run, tree, call, error):
    """Containers forbid it by default, one way or another."""
    server = run("--io", "auto", refused=(call, error))
    with Wire.connect(server) as wire:
        assert wire.get("/small.txt").body == tree.files["small.txt"]
    server.stop()
    reason = line_of(server.log()).partition("io by epoll: ")[2]
    assert reason.startswith("no uring here: ")
    assert server.stats["calls"]["epoll_wait"] > 0

    done = subprocess.run([binary(), "--io", "uring", "-l", "127.0.0.1:0", tree.root],
                          capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: sandbox.refuse(call, error))
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert line_of(done.stderr).endswith(reason)


def test_a_word_that_is_no_way_is_refused(tree):
    for option in ("--io", "--zero-copy"):
        done = subprocess.run([binary(), option, "fast", tree.root], capture_output=True, text=True)
        assert done.returncode == 2
        assert option in done.stderr and "auto" in done.stderr


def test_connections_use_up_no_descriptors(run, uring, tree):
    """Ten times as many connections as the process may open files, over sixteen workers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CONNECTIONS + 200:
        pytest.skip("this machine's limit of descriptors is too low for the clients")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server = run("--io", "uring", "-w", "16", descriptors=DESCRIPTORS)
    before = server.descriptor_count()
    sockets = [open_tcp(server.port) for _ in range(CONNECTIONS)]
    for sock in sockets:
        sock.sendall(b"GET /one.bin HTTP/1.1\r\nhost: a\r\n\r\n")
    for sock in sockets:
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")
    assert server.descriptor_count() - before < 20  # the files that are served
    for sock in sockets:
        sock.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    server.stop()
    assert server.stats["connections"]["accepted"] == CONNECTIONS


def test_sixty_thousand_connections_with_a_third_of_the_descriptors(run, uring):
    """All of them open at once, and each of them answered while the others are."""
    if is_sanitized():
        pytest.skip("once is enough, and a connection is dearer here")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CROWD // 3:
        pytest.skip(f"a hard limit of {hard} descriptors is less than {CROWD // 3}")
    free = available_bytes()
    if free < CROWD * CROWD_COST:
        pytest.skip(f"{free >> 20} MiB of memory are too little for {CROWD} connections")
    server = run("--io", "uring", "-w", "4", descriptors=CROWD // 3)
    before, most = server.resident_bytes(), server.descriptor_count()
    with Crowd(server.port, CROWD) as crowd:
        assert crowd.ask_all() == CROWD
        most = max(most, server.descriptor_count())
        each = (server.resident_bytes() - before) / CROWD
        print(f"{most} descriptors, {each:.0f} bytes each connection")
    assert most < 100
    server.stop()
    assert server.stats["connections"]["accepted"] == CROWD
    assert server.stats["connections"]["accept_pauses"] == 0
    assert server.stats["requests"] == 2 * CROWD


def test_a_full_file_table_pauses_accepting(run, uring, tree):
    server = run("--io", "uring", descriptors=64)
    first = Wire.connect(server)
    waiting = [open_tcp(server.port) for _ in range(128)]
    assert first.get("/small.txt").body == tree.files["small.txt"]
    for sock in waiting:
        sock.close()
    with Wire.connect(server) as late:
        assert late.get("/page.bin").body == tree.files["page.bin"]
    first.close()
    server.stop()
    assert server.stats["connections"]["accept_pauses"] > 0


@pytest.mark.parametrize("transport", [Cleartext(), Tls()], ids=lambda t: t.name)
def test_requests_that_come_together_share_system_calls(run, uring, tree, transport):
    """Fifty connections have asked before the server may look; handshakes are counted too."""
    rounds, clients = 60, 50
    server = run("--io", "uring", transport=transport)
    wires = [Wire.connect(server, refills=False) for _ in range(clients)]
    for _ in range(rounds):
        server.pause()
        streams = [wire.request("/one.bin") for wire in wires]
        server.resume()
        for wire, stream in zip(wires, streams):
            assert wire.response(stream).body == tree.files["one.bin"]
    for wire in wires:
        wire.close()
    server.stop()
    assert server.stats["requests"] == rounds * clients
    assert sum(server.stats["calls"].values()) <= 0.3 * server.stats["requests"]


@pytest.mark.parametrize("listen", ["-l", "-s"])
def test_pages_are_sent_themselves_and_counted(run, uring, tree, listen):
    """Over loopback, where the kernel copies them after all, and says so."""
    server = run("--io", "uring", "--zero-copy", "on", listen=(listen, "127.0.0.1:0"))
    scheme = "https" if listen == "-s" else "http"
    port = int(re.search(r":(\d+)", server.addresses[0].partition("//")[2])[1])
    body = subprocess.run(["curl", "-sk", f"{scheme}://127.0.0.1:{port}/large.bin"],
                          capture_output=True, timeout=60).stdout
    assert body == tree.files["large.bin"]
    server.stop()
    counts = server.stats["zero_copy"]
    assert counts["sends"] > 0
    if "zc_report" in line_of(server.log()):
        assert counts["copied"] == counts["sends"]
    assert counts["notices"] >= counts["sends"]
    pinned_ones(server, scheme)


def may_pin():
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    status = pathlib.Path("/proc/self/status").read_text()
    capabilities = int(re.search(r"CapEff:\s*(\w+)", status)[1], 16)
    return bool(capabilities >> CAP_IPC_LOCK & 1) or not 0 <= limit < 64 * 2**20


def pinned_ones(server, scheme):
    """Records of TLS lie in the pool, of which so much is pinned; the pages of files do not."""
    counts = server.stats["zero_copy"]
    if scheme == "https" and "fixed_lists" in line_of(server.log()):
        if not may_pin():
            pytest.skip("this user may pin too little memory")
        assert counts["unpinned"] == 0
        assert 0 < counts["fixed"] <= counts["sends"]
        assert counts["pinned"] > 0
    else:
        assert counts["fixed"] == counts["pinned"] == 0


def test_over_loopback_auto_leaves_pages_alone(run, uring):
    server = run("--io", "uring")
    with Wire.connect(server) as wire:
        wire.get("/large.bin")
    server.stop()
    assert set(server.stats["zero_copy"].values()) == {0}


@pytest.mark.parametrize("listen, scheme", [("-l", "http"), ("-s", "https")])
def test_to_another_host_pages_are_sent_themselves(run, uring, tree, listen, scheme):
    """Over a cable between two network namespaces, whose far end copies what it is given: so `on`
    goes on, and `auto` stops when it is told."""
    try:
        cable = namespaces.Cable()
    except namespaces.Unavailable as why:
        pytest.skip(f"no network namespaces: {why}")
    counts = {}
    with cable:
        for zero_copy in ("on", "auto", "off"):
            server = run("--io", "uring", "--zero-copy", zero_copy, within=cable.server,
                         listen=(listen, f"{namespaces.SERVER_ADDRESS}:0"))
            url = f"{server.addresses[0].rstrip('/')}/large.bin"
            got = subprocess.run([*cable.client, "curl", "-sk", url], capture_output=True,
                                 timeout=60)
            assert url.startswith(scheme) and got.stdout == tree.files["large.bin"]
            server.stop()
            counts[zero_copy] = server.stats["zero_copy"]
            if zero_copy == "on":
                pinned_ones(server, scheme)

    for count in counts.values():
        assert count["copied"] <= count["sends"] <= count["notices"]
    assert counts["off"]["sends"] == 0
    assert counts["auto"]["sends"] > 0
    assert counts["on"]["sends"] > counts["auto"]["sends"] or counts["auto"]["copied"] == 0
