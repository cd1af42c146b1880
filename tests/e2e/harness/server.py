"""A weir process: start it, know where it listens, stop it, and hold it to a clean end."""

import functools
import json
import os
import pathlib
import re
import resource
import select
import signal
import stat
import subprocess
import tempfile
import time

from . import sandbox
from . import transport as transports

START_TIMEOUT = 30  # seconds
STOP_TIMEOUT = 60  # a drain may take 30
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:",
           "WEIR_ASSERT", "assertion failed")


def binary():
    """The program under test: $WEIR_BINARY, or the release build of this tree."""
    named = os.environ.get("WEIR_BINARY")
    root = pathlib.Path(__file__).resolve().parents[3]
    return pathlib.Path(named) if named else root / "build" / "release" / "weir"


def back_end():
    """How the program talks to the network: $WEIR_IO, or what it takes by itself."""
    return os.environ.get("WEIR_IO", "auto")


@functools.cache
def is_sanitized():
    """Sanitizer builds are slower, and their allocator is not ours to count."""
    content = binary().read_bytes()
    return b"__asan_init" in content or b"__tsan_init" in content


def environment(finds_leaks=True):
    """Sanitizers end the process at the first report, with a status of their own."""
    return {**os.environ,
            "ASAN_OPTIONS": f"detect_leaks={finds_leaks:d}:exitcode=99",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "TSAN_OPTIONS": "halt_on_error=1:exitcode=99"}


class Server:
    """Own: the process; stop() ends it.  `descriptors` bounds RLIMIT_NOFILE; `refused` is a pair of
    a system call's number and the errno that it shall fail with; `cgroup` is the folder of one."""

    def __init__(self, directory, transport, options=(), listen=None, descriptors=None,
                 refused=None, pinned=False, cgroup=None, within=()):
        self.transport = transport
        self.stats = None
        self._log = tempfile.TemporaryFile(prefix="weir-log-")
        self._out = b""
        listen = transport.listen if listen is None else listen
        pin = () if pinned else ("--no-pin",)
        self.command = [*within, str(binary()), "--stats", *pin, "--io", back_end(), *listen, *options,
                        str(directory)]
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log,
            env=environment(), preexec_fn=lambda: _confine(descriptors, refused, cgroup))
        self.addresses = self._wait_for_addresses(listen.count("-l") + listen.count("-s"))

    # ---- where it is ----

    @property
    def port(self):
        """Of the first TCP listener."""
        found = (re.fullmatch(r"https?://127\.0\.0\.1:(\d+)/?", a) for a in self.addresses)
        return next(int(match[1]) for match in found if match)

    def connect(self, receive_buffer=None):
        """A socket to the server, past any TLS handshake."""
        return self.transport.wrap(transports.open_tcp(self.port, receive_buffer))

    def url(self, path="/"):
        return f"{self.transport.scheme}://127.0.0.1:{self.port}{path}"

    @property
    def pid(self):
        return self.process.pid

    def cpu_seconds(self):
        """Processor time of all threads so far."""
        tasks = pathlib.Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int(task.joinpath("schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def limit_descriptors(self, spare):
        """From here on it can open `spare` descriptors more than it has; None: as many as we."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        soft = most if spare is None else self.descriptor_count() + spare
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (soft, most))

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def descriptor_count(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def sockets_and_files_count(self):
        """Of its descriptors; directories are watched from the second second of a file's demand on."""
        found = 0
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                mode = os.stat(f"/proc/{self.pid}/fd/{number}").st_mode
            except FileNotFoundError:
                continue  # closed in between
            found += stat.S_ISSOCK(mode) or stat.S_ISREG(mode)
        return found

    # ---- its end ----

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def pause(self):
        """Stop the process; when this returns, no thread of it runs."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def resume(self):
        self.signal(signal.SIGCONT)

    def wait(self, timeout=STOP_TIMEOUT):
        """Wait for the process to end by itself; returns its exit status."""
        out, _ = self.process.communicate(timeout=timeout)
        self._out += out
        return self.process.returncode

    def stop(self):
        """End the process if it still runs, and check everything that must hold at any end."""
        try:
            if self.process.poll() is None:
                self.signal()
            status = self.wait()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.wait()
            raise AssertionError(f"weir did not stop; its log:\n{self.log()}") from None
        log = self.log()
        print(f"$ {' '.join(self.command)}\n{log}")
        assert not [line for line in log.splitlines() if any(r in line for r in REPORTS)]
        assert status == 0, f"exit status {status}"
        self.stats = json.loads(self._out.splitlines()[-1])
        print(json.dumps(self.stats))
        assert self.stats["blocks_referenced"] == 0
        connections = self.stats["connections"]
        assert connections["accepted"] == connections["closed"]

    def log(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")

    # ---- inside ----

    def _wait_for_addresses(self, count):
        deadline = time.monotonic() + START_TIMEOUT
        addresses = []
        while len(addresses) < count:
            readable = select.select([self.process.stdout], [], [], deadline - time.monotonic())[0]
            more = os.read(self.process.stdout.fileno(), 65536) if readable else b""
            if not more:
                self.process.kill()
                status = self.wait()
                raise AssertionError(f"weir did not start (status {status}):\n{self.log()}")
            self._out += more
            addresses = re.findall(r"^weir: listening on (.+?)(?: \(.+ alone\))?\n",
                                   self._out.decode(), re.MULTILINE)
        return addresses


def _confine(descriptors, refused, cgroup):
    if descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
    if cgroup is not None:
        (cgroup / "cgroup.procs").write_text("0")
    if refused is not None:
        sandbox.refuse(*refused)
