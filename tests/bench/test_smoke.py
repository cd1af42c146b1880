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
CLIENTS = ("h2load", "wrk", "curl", "openssl", "taskset", "setpriv")

# One of each kind, and the bytes of its bodies.
CELLS = {"h2c-1k-c10-m32": 1024, "h2c-304-c10-m32": 0, "h2c-range-c10-m32": 16384,
         "h2c-gz-c10-m32": 10240, "h2-10k-c10-m32": 10240, "h2-resumed": 6, "h2-full": 6,
         "h1-1k-wrk-c50-p16": 1024}
OTHERS = ["open-h2c-1k", "idle-h2"]
ROUNDS = 1


def some_peer():
    return next((name for name in servers.PEERS if servers.find_binary(name)), None)


def bench(*options):
    if "--quick" not in options:
        options += ("--quick",)
    return subprocess.run([context.BENCH / "run", "--no-setup", *map(str, options)],
                          capture_output=True, text=True, check=False, timeout=240)


class Smoke(unittest.TestCase):
    def setUp(self):
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="weirbench-smoke-"))
        self.addCleanup(shutil.rmtree, self.out)

    def run_cells(self, *options):
        done = bench("--only", f"^({'|'.join([*CELLS, *OTHERS])})$",
                     "--rounds", ROUNDS, "--seconds", 0.01, "--out", self.out, "--weir", WEIR, *options)
        self.saved = saved = json.loads((self.out / "results.json").read_text())
        return done, {(cell["workload"], cell["server"]): cell for cell in saved["cells"]}

    def check_measured(self, cell):
        self.assertEqual((cell["state"], cell["reason"]), ("ok", ""))
        self.assertEqual(len(cell["samples"]), ROUNDS)
        body = CELLS[cell["workload"]]
        for sample in cell["samples"]:
            self.assertGreater(sample["requests"], 0)
            if sample["data_bytes"] is not None:  # wrk does not say
                self.assertEqual(sample["data_bytes"], sample["requests"] * body)
            self.assertGreater(sample["server_cpu_s"], 0)
            self.assertGreaterEqual(sample["peak_rss_kib"], sample["anon_rss_kib"])
        self.assertGreater(cell["wire_in"], body)
        if self.saved["tracer"]:
            self.assertIsNotNone(cell["syscalls"])
        if cell["workload"] not in ("h2-full", "h2-resumed"):
            latency = cell["latency_us"]
            ordered = [latency[p] for p in ("p50", "p90", "p99", "p99.9")]
            self.assertEqual(ordered, sorted(ordered))

    def test_a_peer_and_weir_are_measured_side_by_side(self):
        peer = some_peer()
        done, cells = self.run_cells("--servers", f"weir,{peer}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({w for w, _ in cells}, set(CELLS))
        for workload in CELLS:
            self.check_measured(cells[workload, peer])
            if os.access(WEIR, os.X_OK):
                self.check_measured(cells[workload, "weir"])
            else:
                self.assertEqual(cells[workload, "weir"]["state"], "missing")
        for row in self.saved["open_loop"]:
            self.assertNotIn("error", row)
            self.assertGreaterEqual(row["median"]["p99"], row["median"]["p50"])
        self.assertIn(peer, {row["server"] for row in self.saved["open_loop"]})
        for row in self.saved["idle"]:
            self.assertIn(row["state"], ("ok", "missing"), row)
        self.assertIn(peer, done.stdout)
        self.assertIn("h2c-304-c10-m32", (self.out / "report.md").read_text())
        self.assertTrue((self.out / "cpu-h2c.svg").read_text().startswith("<svg"))

    def test_a_server_that_cannot_run_is_an_error_and_not_a_number(self):
        peer = some_peer()
        done, cells = self.run_cells("--servers", peer, "--peer", f"{peer}={shutil.which('false')}")
        self.assertEqual(done.returncode, 1)
        for cell in cells.values():
            self.assertEqual((cell["state"], cell["samples"]), ("error", []))
        self.assertIn("error", done.stdout)

    def test_wrong_options_are_refused(self):
        for options in (["--only", "nothing-of-that-name"], ["--only", "("], ["--profile", "nothing"], ["--servers", "iis"],
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
