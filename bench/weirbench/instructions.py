"""Instructions per request, under valgrind's callgrind: the same number in every run.

One server with one worker, one client with a fixed script: a connection that asks for a
batch of streams at once and waits for all of it, so that the server reads the same bytes in the same
pieces. weir-still.so is preloaded into both: their clocks stand still, their random numbers repeat, and
counting begins and ends when the server has nothing left to do. Counted is what it executes for the
script, after a warm-up; valgrind does not count the kernel's. What hardware is emulated is valgrind's
choice, and libraries choose their code by it: a budget holds for the versions and the CPU that it was
taken with.
"""

import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from . import clients, servers, setup, site as sites

TOLERANCE = 3  # percent
START_S = 60.0
WAIT_S = 60.0  # for the server to have nothing left to do
FLAGS = ("avx2", "erms", "fsrm", "avx512f", "vaes")  # by which libraries choose their code
PACKAGES = ("libc6", "libnghttp2-14", "libssl3", "libipsec-mb1", "libllhttp-dev", "node-llhttp",
            "gcc", "valgrind")

# name: (body, over TLS, HTTP/1.1, streams, requests, a connection for each). One connection at a time:
# how the turns of several fall together depends on the machine.
SCRIPTS = {
    "h2c-6b": ("6b.bin", False, False, 32, 2560, False),
    "h2c-1k": ("1k.bin", False, False, 32, 2560, False),
    "h2c-10k": ("10k.bin", False, False, 8, 640, False),
    "h2c-1k-single": ("1k.bin", False, False, 1, 640, False),
    "h2-1k": ("1k.bin", True, False, 32, 2560, False),
    "h2-10k": ("10k.bin", True, False, 8, 640, False),
    "h1-1k": ("1k.bin", False, True, 1, 640, False),
    "h1-1k-pipelined": ("1k.bin", False, True, 16, 1280, False),
    "h2-handshake": ("6b.bin", True, False, 1, 12, True),
}
CONNECTS = re.compile(r"handshake")


def run(weir, load, budget_path, update, only=""):
    """Count, print, compare or update; 0 if all is within the budget, 77 if it cannot be compared."""
    scripts = {name: script for name, script in SCRIPTS.items() if re.search(only, name)}
    if not scripts:
        print(f"instructions: no script is named {only}: {', '.join(SCRIPTS)}", file=sys.stderr)
        return 2
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    if not weir.is_file():
        print(f"skipped: no program {weir}")
        return 77
    try:
        with sites.Site(load) as site:
            site.write_certificate(still(load, 3))
            site.write_files(("6b", "1k", "10k"))
            totals = count_all(weir, site, scripts)
    except (clients.Wrong, OSError, subprocess.SubprocessError) as e:
        print(f"instructions: {e}", file=sys.stderr)
        return 1
    for name, total in totals.items():
        print(f"{name:18} {total:12,} instructions for {SCRIPTS[name][4]:,} requests")
    counts = {name: round(total / SCRIPTS[name][4], 1) for name, total in totals.items()}
    basis = basis_of(weir)
    budget = json.loads(budget_path.read_text()) if budget_path.exists() else {}
    if not update:
        return compare(counts, basis, budget)
    # Scripts that were not counted now keep their figures, if these still mean the same.
    kept = budget["instructions"] if budget.get("basis") == basis else {}
    merged = {name: (kept | counts)[name] for name in SCRIPTS if name in kept | counts}
    budget_path.write_text(json.dumps({"basis": basis, "instructions": merged}, indent=1) + "\n")
    print_counts(counts, {})
    print(f"written to {budget_path}")
    return 0


def compare(counts, basis, budget):
    """Print each beside its budget; 1 if one is off by more than the tolerance, 77 if none can be."""
    other = {key: (budget.get("basis", {}).get(key), value) for key, value in basis.items()
             if budget.get("basis", {}).get(key) != value}
    known = budget.get("instructions", {})
    print_counts(counts, {} if other else known)
    if other:
        for key, (then, now) in other.items():
            print(f"not compared: {key} is {now}, the budget was taken with {then}")
        return 77
    off = [name for name, count in counts.items()
           if name not in known or abs(count - known[name]) * 100 > TOLERANCE * known[name]]
    for name in off:
        print(f"{name}: {counts[name]:,.0f} instructions, budget {known.get(name, 0):,.0f}: more than"
              f" {TOLERANCE} % off; if this is meant: bench/run --instructions --update")
    return 1 if off else 0


def print_counts(counts, known):
    for name, count in counts.items():
        unit = "connection" if CONNECTS.search(name) else "request"
        beside = f"  {count / known[name] - 1:+.2%} of its budget" if name in known else ""
        print(f"{name:18} {count:12,.1f} instructions per {unit}{beside}")


def basis_of(weir):
    """What a budget depends on besides weir's sources."""
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    words = set(re.search(r"^flags\s*:(.*)$", flags, re.MULTILINE).group(1).split()) \
        if "flags" in flags else set()
    found = {"machine": platform.machine(), "cpu": " ".join(f for f in FLAGS if f in words)}
    for package in PACKAGES:
        found[package] = setup.version_of(package)
    found["build"] = "release" if weir.parent.name == "release" else weir.parent.name
    return found


def count_all(weir, site, scripts):
    """{script: instructions}"""
    ports = sites.free_ports(("CLEAR", "TLS"))
    argv = [str(weir), "-w", "1", "--no-pin", "--io", "epoll", "-l", f"127.0.0.1:{ports['CLEAR']}",
            "-s", f"127.0.0.1:{ports['TLS']}", "--cert", str(site.cert), "--key", str(site.key),
            str(site.root)]
    totals = {}
    with _under_callgrind(argv, site) as server:
        server.wait_until_it_listens((ports["CLEAR"], ports["TLS"]))
        for name, script in scripts.items():
            tls = script[1]
            command = [*still(site.load, 2), *_client(script, ports["TLS" if tls else "CLEAR"], site)]
            _ask(command)  # warm-up: caches, pools, ticket keys
            server.count()
            _ask(command)
            totals[name] = server.count()
    return totals


def still(load, seed, **more):
    """What to put before a program, so that nothing it sees of this machine differs between runs."""
    library = load.parent / "weir-still.so"
    if not library.is_file():
        raise clients.Wrong(f"{library} is not built: .ci/build release")
    words = {"PATH": os.environ.get("PATH", ""), "LD_PRELOAD": library, "STILL_SEED": seed} | more
    return ["env", "-i", *(f"{name}={value}" for name, value in words.items())]


def _client(script, port, site):
    body, tls, http1, streams, requests, single = script
    argv = [str(site.load), f"--root={site.root}", f"--path=/{body}", "--batch",
            f"--streams={streams}", f"--requests={requests}"]
    argv += ["--tls"] if tls else []
    argv += ["--http1"] if http1 else []
    argv += ["--per-connection=1"] if single else []
    return [*argv, str(port)]


def _ask(command):
    clients.read_load(clients.finished_process(command, 120, "weir-load"))


class _Counted:
    """A server under callgrind, and the socket through which it is told to write its counts."""

    def __init__(self, process, folder, control):
        self.process, self.folder, self.control = process, folder, control

    def wait_until_it_listens(self, ports):
        end = time.monotonic() + START_S
        for port in ports:
            while not servers.listens(port):
                if self.process.poll() is not None or time.monotonic() > end:
                    said = (self.folder / "server.out").read_text(errors="replace")[-400:]
                    raise clients.Wrong(f"weir does not run under valgrind: {said}")
                time.sleep(0.1)

    def count(self):
        """Instructions since the call before, up to where the server waits for its clients."""
        before = set(self.folder.glob("counts.*"))
        self.control.sendall(b".")
        try:
            answer = self.control.recv(1)
        except TimeoutError as e:
            raise clients.Wrong("weir does not wait by an epoll_wait() that weir-still.so replaces,"
                                f" or has work for {WAIT_S:.0f} s") from e
        if answer != b".":
            raise clients.Wrong("weir ended under valgrind")
        found = set(self.folder.glob("counts.*")) - before
        total = sum(int(re.search(r"^(?:totals|summary): (\d+)", path.read_text(errors="replace"),
                                  re.MULTILINE).group(1)) for path in found)
        if total == 0:
            raise clients.Wrong("callgrind wrote no counts")
        return total


@contextlib.contextmanager
def _under_callgrind(argv, site):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="counts-", dir=site.prefix))
    ours, its = socket.socketpair()
    ours.settimeout(WAIT_S)
    command = ["setpriv", "--pdeathsig", "TERM", *still(site.load, 1, STILL_CONTROL=its.fileno()),
               "valgrind", "--tool=callgrind", "--vgdb=no", f"--callgrind-out-file={folder}/counts.%p",
               "--separate-threads=no", "--dump-before=still_mark", *argv]
    with ours, its, open(folder / "server.out", "wb") as out, subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            pass_fds=(its.fileno(),)) as process:
        its.close()  # so that recv() ends when the server does
        try:
            yield _Counted(process, folder, ours)
        finally:
            process.kill()  # where time stands still there is no end of a drain
