"""How measurements go wrong: each of the ways is provoked, and is an error or marked in the report.

The numbers are those of the table in bench/README.md. What a client's words alone tell (2 and 10 in part, 9,
14, and 7 of wrk) is provoked in test_clients.py, one answer that is wrong in test_probe.py.
"""

import contextlib
import copy
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import types
import unittest
from unittest import mock

import context  # noqa: F401 (sets the path)
from test_report import FACTS, SMALL, OpenLoop, cell, results
from weirbench import clients, details, measure, openreport, renewals, report
from weirbench.workloads import WORKLOADS

ANSWER = b"HTTP/1.1 200 OK\r\n%sContent-Length: 2\r\n\r\nok"


def figure(made):
    """What the table says of the cell."""
    return report.markdown(results(SMALL, made, cell(SMALL, "h2o", 2, 2, 2))).partition(SMALL.name)[2]


class Marked(unittest.TestCase):
    def changed(self, **changes):
        found = cell(SMALL, "weir", 1, 1, 1)
        for sample in found.samples:
            for name, value in changes.items():
                setattr(sample, name, value)
        return found

    def test_a_good_cell_has_no_mark(self):
        self.assertEqual(report.marks(cell(SMALL, "weir", 1, 1, 1)), "")

    def test_1_a_client_that_is_the_limit(self):
        self.assertEqual(report.marks(self.changed(server_share=0.6, client_share=0.99)), "c")

    def test_4_a_client_that_sent_late(self):
        found = results(SMALL)
        late = OpenLoop().row("weir", 40) | {"late_p99": 39}
        found.open_loop = [late, OpenLoop().row("nginx", 40)]
        self.assertIn("39 ~", [column for row in openreport.rows(found) for column in row])

    def test_5_what_is_in_flight_is_in_each_name(self):
        for workload in WORKLOADS:
            if not workload.connects:
                self.assertIn(f"c{workload.connections}", workload.name)
                depth = f"p{workload.streams}" if workload.client == "wrk" else f"m{workload.streams}"
                self.assertTrue(workload.streams == 1 or depth in workload.name, workload.name)

    def test_6_and_8_what_is_not_measured_is_said(self):
        said = report.markdown(results(SMALL, cell(SMALL, "weir", 1, 1, 1)))
        for words in ("window is 2^30", "The page cache is warm", "logging on: weir writes no"):
            self.assertIn(words, said)

    def test_10_another_group_of_the_key_exchange(self):
        found = cell(SMALL, "weir", 1, 1, 1)
        found.odd_group = "P-256"
        self.assertEqual(report.marks(found), "p")

    def test_11_noise_and_short_rounds(self):
        self.assertEqual(report.marks(cell(SMALL, "weir", 1, 1, 2)), "~")
        self.assertEqual(report.marks(self.changed(others_share=0.2)), "~")
        self.assertIn("Short rounds of 1 s", report.markdown(results(SMALL)))

    def test_11_and_12_cores_that_are_shared(self):
        for change, words in (({"siblings": True}, "two threads of one core"),
                              ({"client_core": 0}, "shared one core")):
            found = results(SMALL)
            found.facts = copy.deepcopy(FACTS)
            found.facts["environment"] |= change
            self.assertIn(words, report.markdown(found))

    def test_13_memory_is_in_each_cell(self):
        found = results(SMALL, cell(SMALL, "weir", 1, 1, 1))
        self.assertIn("| 2.00 | 1.00 |", details.markdown(found))


class Wrong(unittest.TestCase):
    def test_3_a_log_that_lacks_requests_gives_no_percentile(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="weirbench-mistakes-"))
        self.addCleanup(shutil.rmtree, folder)
        found = cell(SMALL, "weir", 1, 1, 1)
        found.amount = 320
        turn = measure.Turn(SMALL, found, None)

        def logs_too_few(*_, log):
            log.write_text("1\t200\t5\n" * 319)

        with mock.patch.object(measure, "_run", logs_too_few), self.assertRaises(clients.Wrong):
            measure._latencies(turn, types.SimpleNamespace(prefix=folder), None)
        self.assertEqual(found.latency_us, {})

    def test_an_error_withdraws_the_figures(self):
        found = cell(SMALL, "weir", 1, 1, 1)
        found.fail("wrong")
        self.assertFalse(found.ok)
        self.assertIn("error", figure(found))


class Renewals(unittest.TestCase):
    """7: h2load, of HTTP/1.1, says nothing of connections that were closed and opened again."""

    def serve(self, most):
        """The port of a server that closes a connection after so many requests."""
        listener = socket.create_server(("127.0.0.1", 0))

        def answer(connection):
            with connection, contextlib.suppress(ConnectionResetError):
                for left in range(most, 0, -1):
                    if not connection.recv(4096):
                        return
                    connection.sendall(ANSWER % (b"Connection: close\r\n" if left == 1 else b""))

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=accept)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(listener.close)
        self.addCleanup(listener.shutdown, socket.SHUT_RDWR)
        return listener.getsockname()[1]

    def ask(self, port):
        """By h2load, which takes no offence."""
        said = subprocess.run(["h2load", "--h1", "-n40", "-c2", f"http://127.0.0.1:{port}/"], check=True,
                              capture_output=True, text=True, timeout=60).stdout
        self.assertIn(" 40 succeeded", said)

    @unittest.skipIf(shutil.which("h2load") is None, "h2load is not installed")
    def test_those_are_counted_that_the_server_closed_and_no_others(self):
        for most, closed in ((5, True), (1 << 30, False)):
            port = self.serve(most)
            self.ask(port)
            self.assertEqual(len(renewals.closed_by(port)) > 0, closed)

    def test_they_mark_the_cell(self):
        found = cell(SMALL, "weir", 1, 1, 1)
        found.samples[1].renewed = 3
        self.assertEqual(report.marks(found), "r")
        self.assertEqual(found.to_json()["summary"]["cpu_us"]["median"], 1)
        self.assertEqual(found.to_json()["renewed"], 3)
        self.assertIn("1.00 r", figure(found))


if __name__ == "__main__":
    unittest.main()
