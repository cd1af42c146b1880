"""The static probes of weir are there, cost what a nop costs, and the scripts that use them work."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import context
from weirbench import servers, site as sites

WEIR = pathlib.Path(os.environ.get("WEIR", "/nonexistent"))
SKIP = 77
TRACED_S = 100  # of which bpftrace needs two, and to attach
SCRIPTS = context.BENCH / "trace"
HEADER = context.BENCH.parent / "include/internal/probes.h"


def notes():
    return subprocess.run(["readelf", "--notes", "--wide", WEIR], capture_output=True, text=True,
                          check=True).stdout


def documented():
    """{name: number of arguments} of the table in probes.h"""
    rows = re.findall(r"^ \*     (\w+) +\(([\w, ]+)\)", HEADER.read_text(), re.MULTILINE)
    return {name: arguments.count(",") + 1 for name, arguments in rows}


class Probes(unittest.TestCase):
    def test_each_that_the_header_lists_is_in_the_program_with_its_arguments(self):
        found = dict(re.findall(r"Provider: weir\s+Name: (\w+).*?Arguments: ([^\n]*)", notes(),
                                re.DOTALL))
        self.assertEqual({name: len(arguments.split()) for name, arguments in found.items()},
                         documented())

    def test_each_is_a_nop(self):
        for name, place in re.findall(r"Provider: weir\s+Name: (\w+)\s+Location: 0x([0-9a-f]+)",
                                      notes()):
            at = int(place, 16)
            code = subprocess.run(["objdump", "-d", f"--start-address={at}",
                                   f"--stop-address={at + 1}", WEIR],
                                  capture_output=True, text=True, check=True).stdout
            self.assertRegex(code, r"\bnop\b", name)


class Scripts(unittest.TestCase):
    def test_they_use_no_probe_that_is_not_there(self):
        for script in SCRIPTS.glob("*.bt"):
            used = set(re.findall(r"usdt:@WEIR@:weir:(\w+)", script.read_text()))
            self.assertTrue(used and used <= set(documented()), script.name)

    def test_attached_they_tell_of_the_requests_that_were_made(self):
        reason = cannot_attach()
        if reason:
            self.skipTest(reason)
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "six").write_bytes(b"sluice")
            port = sites.free_ports(("CLEAR",))["CLEAR"]
            argv = ["setpriv", "--pdeathsig", "TERM", WEIR, "-w", "1", "--no-pin", "-l",
                    f"127.0.0.1:{port}", root]
            with subprocess.Popen(argv, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as weir:
                try:
                    while not servers.listens(port):
                        self.assertIsNone(weir.poll())
                    self.check_split(weir, port)
                finally:
                    weir.kill()  # or the end of the block waits for it, and a failure is never told

    def check_split(self, weir, port):
        with tempfile.TemporaryFile("w+") as words, subprocess.Popen(
                [SCRIPTS / "trace", "split", str(weir.pid), "0", "2"], stdout=words, stderr=words,
                start_new_session=True) as tracer:
            try:
                ended = self.ask_until_ended(tracer, port)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(tracer.pid, signal.SIGKILL)  # what the script has started, too
            words.seek(0)
            said = words.read()
        self.assertTrue(ended, f"bpftrace has not ended after {TRACED_S} s: {said}")
        seen = re.search(r"(\d+) of (\d+) requests took 0 us", said)
        self.assertIsNotNone(seen, said)
        self.assertGreater(int(seen.group(1)), 0)
        for part in ("queueing", "handling", "kernel"):
            self.assertGreater(int(re.search(rf"{part} (\d+)", said).group(1)), 0, said)

    def ask_until_ended(self, tracer, port):
        """Requests without a pause: it does not say when it has attached. False: the time was up."""
        end = time.monotonic() + TRACED_S
        while time.monotonic() < end:
            if tracer.poll() is not None:
                return True
            subprocess.run(["curl", "-s", "--max-time", "10", "--http2-prior-knowledge", "-o",
                            "/dev/null", f"http://127.0.0.1:{port}/six"], check=True)
        return False


def cannot_attach():
    """Why bpftrace cannot be used here, or None."""
    if os.geteuid() != 0 or shutil.which("bpftrace") is None:
        return "bpftrace needs to be installed, and root"
    done = subprocess.run(["bpftrace", "-e", "BEGIN { exit(); }"], capture_output=True, text=True,
                          check=False, timeout=60)
    return None if done.returncode == 0 else f"bpftrace does not work here: {done.stderr.strip()}"


if __name__ == "__main__":
    if not os.access(WEIR, os.X_OK) or shutil.which("readelf") is None:
        print("skipped: no weir, or no readelf")
        sys.exit(SKIP)
    if "Provider: weir" not in notes():
        print("skipped: weir was built without <sys/sdt.h> (Debian package systemtap-sdt-dev)")
        sys.exit(SKIP)
    unittest.main()
