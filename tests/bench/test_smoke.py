"""One tiny cell against a peer, and against weir where it has been built: structure and
correctness of what bench/run leaves behind, never times.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import context
from weirbench import servers

WEIR = pathlib.Path(os.environ.get("WEIR", "/nonexistent"))
SKIP = 77
CLIENTS = ("h2load", "curl", "openssl", "taskset", "setpriv")


def some_peer():
    return next((name for name in servers.PEERS if servers.find_binary(name)), None)


def bench(*options):
    return subprocess.run([context.BENCH / "run", "--no-setup", *map(str, options)],
                          capture_output=True, text=True, check=False, timeout=100)


class Smoke(unittest.TestCase):
    def setUp(self):
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="weirbench-smoke-"))
        self.addCleanup(shutil.rmtree, self.out)

    def run_cells(self, *options):
        done = bench("--only", "^h2c-1k$", "--rounds", 2, "--seconds", 0.01, "--out", self.out,
                     "--weir", WEIR, *options)
        saved = json.loads((self.out / "results.json").read_text())
        return done, {cell["server"]: cell for cell in saved["cells"]}

    def check_measured(self, cell):
        self.assertEqual((cell["state"], cell["reason"]), ("ok", ""))
        self.assertEqual(len(cell["samples"]), 2)
        for sample in cell["samples"]:
            self.assertGreater(sample["requests"], 0)
            self.assertEqual(sample["data_bytes"], sample["requests"] * 1024)
            self.assertGreater(sample["server_cpu_s"], 0)
        self.assertGreater(cell["wire_in"], 1024)

    def test_a_peer_and_weir_are_measured_side_by_side(self):
        peer = some_peer()
        done, cells = self.run_cells("--servers", f"weir,{peer}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(set(cells), {"weir", peer})
        self.check_measured(cells[peer])
        if os.access(WEIR, os.X_OK):
            self.check_measured(cells["weir"])
        else:
            self.assertEqual(cells["weir"]["state"], "missing")
        self.assertIn(peer, done.stdout)
        self.assertIn("h2c-1k", (self.out / "report.md").read_text())
        self.assertTrue((self.out / "cpu-h2c.svg").read_text().startswith("<svg"))

    def test_a_server_that_cannot_run_is_an_error_and_not_a_number(self):
        peer = some_peer()
        done, cells = self.run_cells("--servers", peer, "--peer", f"{peer}={shutil.which('false')}")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(cells[peer]["state"], "error")
        self.assertEqual(cells[peer]["samples"], [])
        self.assertIn("error", done.stdout)

    def test_wrong_options_are_refused(self):
        for options in (["--only", "nothing-of-that-name"], ["--only", "("], ["--servers", "iis"],
                        ["--rounds", "-1"], ["--weir-variant", "noequals"]):
            with self.subTest(options):
                done = bench(*options)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1)


if __name__ == "__main__":
    missing = [c for c in CLIENTS if shutil.which(c) is None]
    if missing or some_peer() is None:
        print(f"skipped: not installed: {' '.join(missing) or 'any peer'}")
        sys.exit(SKIP)
    unittest.main()
