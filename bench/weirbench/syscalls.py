"""System calls of a server while a client runs: counted by perf's tracepoint, else by strace.

Both slow the server down, so this is a run of its own that gives no times.
"""

import contextlib
import re
import shutil
import signal
import subprocess
import threading

from .clients import Wrong

PERF = ["perf", "stat", "--field-separator=,", "--event=raw_syscalls:sys_enter"]


def tool():
    """Which of the two works here, or None."""
    for name, argv in (("perf", [*PERF, "true"]), ("strace", ["strace", "-c", "-f", "true"])):
        if shutil.which(name):
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20)
            if done.returncode == 0 and re.search(r"^\d+,|total$", done.stderr, re.MULTILINE):
                return name
    return None


def count(which, pids, prefix, run):
    """(system calls of these processes, what run() gives); `run` takes what to put before a command."""
    if which == "perf":
        out = prefix / "syscalls.perf"
        argv = [*PERF, f"--output={out}", "--pid", ",".join(map(str, pids)), "--"]
        result = run(argv)
        return perf_count(out.read_text(encoding="utf-8")), result
    out = prefix / "syscalls.strace"
    with _strace(pids, out):
        result = run([])
    return strace_count(out.read_text(encoding="utf-8")), result


def perf_count(text):
    found = re.search(r"^(\d+),[^,]*,raw_syscalls:sys_enter", text, re.MULTILINE)
    if found is None:
        raise Wrong("perf counted no system calls")
    return int(found.group(1))


def strace_count(text):
    found = re.search(r"^100\.00\s+[\d.]+\s+(?:\d+\s+)?(\d+)(?:\s+\d+)? total$", text, re.MULTILINE)
    if found is None:
        raise Wrong("strace counted no system calls")
    return int(found.group(1))


@contextlib.contextmanager
def _strace(pids, out):
    argv = ["strace", "-c", "-f", "-o", str(out)]
    for pid in pids:
        argv += ["-p", str(pid)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as tracer:
        late = threading.Timer(10, tracer.kill)  # a tracer that may not attach says nothing
        late.start()
        said = tracer.stderr.readline()
        late.cancel()
        if "attached" not in said:
            tracer.kill()
            raise Wrong(f"strace cannot attach: {said.strip()}")
        try:
            yield
        finally:
            tracer.send_signal(signal.SIGINT)
            tracer.stderr.read()
