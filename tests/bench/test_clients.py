"""What the clients print becomes numbers, and whatever is not right becomes an error."""

import json
import pathlib
import tempfile
import unittest

import context  # noqa: F401 (sets the path)
from weirbench import clients, measure, stats, syscalls
from weirbench import workloads
from weirbench.workloads import Workload

CLEAR = Workload("clear", "h2c", "1k", connections=10, streams=32)
TLS = Workload("tls", "h2", "1k", connections=10, streams=32)
WRK = Workload("wrk", "h1", "1k", connections=50, client="wrk")
RESUMED = Workload("resumed", "h2", "6b", connections=8, connects=2000, client="load", resume=True)

H2LOAD = """\
starting benchmark...
spawning thread #0: 10 total client(s). 300 total requests
{tls}Application protocol: h2
progress: 100% done

finished in 17.87ms, 16786.03 req/s, 20.41MB/s
requests: 300 total, 300 started, {done} done, {good} succeeded, {failed} failed, {failed} errored, \
0 timeout
status codes: {good} 2xx, {other} 3xx, {bad} 4xx, 0 5xx
traffic: 373.54KB (382500) total, 4.10KB (4200) headers (space savings 91.00%), 300.00KB ({data}) data
                     min         max         mean         sd        +/- sd
time for request:      137us      1.22ms       411us       161us    84.00%
"""
H2LOAD_TLS = """\
TLS Protocol: {version}
Cipher: {suite}
Server Temp Key: {group} 253 bits
"""
WRK_TEXT = """\
Running 1s test @ http://127.0.0.1:20400/1k.bin
  1 threads and 50 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.16ms  426.65us   3.64ms   76.12%
    Req/Sec    34.66k     3.16k   40.41k    63.64%
  37911 requests in 1.10s, {read} read
{errors}Requests/sec:  34411.02
Transfer/sec:     41.84MB
connects: {connects}
"""


def h2load(tls="", done=300, good=300, failed=0, bad=0, other=0, data=307200):
    return H2LOAD.format(tls=tls, done=done, good=good, failed=failed, bad=bad, other=other,
                         data=data)


def tls_lines(version="TLSv1.3", suite=clients.SUITE, group="X25519"):
    return H2LOAD_TLS.format(version=version, suite=suite, group=group)


class H2load(unittest.TestCase):
    def test_a_good_run_becomes_numbers(self):
        found = clients.parse_h2load(h2load(), CLEAR, 300)
        self.assertEqual(found, clients.Outcome(300, 0.01787, 307200, 382500, 4200))

    def test_a_good_tls_run_too(self):
        found = clients.parse_h2load(h2load(tls_lines()), TLS, 300)
        self.assertEqual(found.requests, 300)

    def test_a_server_with_another_group_is_held_to_that_group(self):
        text = h2load(tls_lines(group="ECDH prime256v1"))
        self.assertEqual(clients.parse_h2load(text, TLS, 300, "P-256").requests, 300)
        with self.assertRaises(clients.Wrong):
            clients.parse_h2load(text, TLS, 300, "X25519")

    def test_whatever_is_not_right_is_refused(self):
        for name, text, workload, amount in (
                ("a failed request", h2load(done=299, good=299, failed=1), CLEAR, 300),
                ("an error status", h2load(good=299, bad=1), CLEAR, 300),
                ("a short body", h2load(data=307199), CLEAR, 300),
                ("another number of requests", h2load(), CLEAR, 301),
                ("no output", "", CLEAR, 300),
                ("cleartext where TLS is due", h2load(), TLS, 300),
                ("an old version", h2load(tls_lines(version="TLSv1.2")), TLS, 300),
                ("another suite", h2load(tls_lines(suite="TLS_AES_256_GCM_SHA384")), TLS, 300)):
            with self.subTest(name), self.assertRaises(clients.Wrong):
                clients.parse_h2load(text, workload, amount)


class Wrk(unittest.TestCase):
    def test_a_good_run_becomes_numbers(self):
        found = clients.parse_wrk(WRK_TEXT.format(read="46.10MB", errors="", connects=51), WRK, 1)
        self.assertEqual((found.requests, found.seconds), (37911, 1.1))

    def test_whatever_is_not_right_is_refused(self):
        for name, read, errors in (
                ("an error status", "46.10MB", "  Non-2xx or 3xx responses: 1\n"),
                ("a socket error", "46.10MB",
                 "  Socket errors: connect 0, read 1, write 0, timeout 0\n"),
                ("too few bytes", "6.80MB", "")):
            with self.subTest(name), self.assertRaises(clients.Wrong):
                clients.parse_wrk(WRK_TEXT.format(read=read, errors=errors, connects=51), WRK, 1)

    def test_connections_that_wrk_made_anew_are_an_error(self):
        for connects in (52, 1051):
            with self.assertRaisesRegex(clients.Wrong, f"closed {connects - 51} connections"):
                clients.parse_wrk(WRK_TEXT.format(read="46.10MB", errors="", connects=connects), WRK, 1)

    def test_units(self):
        for text, seconds in (("610us", 0.00061), ("7.31ms", 0.00731), ("4.53s", 4.53),
                              ("1.50m", 90.0)):
            self.assertAlmostEqual(clients.parse_seconds(text), seconds)
        for text, size in (("0B", 0), ("185B", 185), ("2.00KB", 2048), ("1.50MB", 1572864),
                           ("1.00GB", 1 << 30)):
            self.assertEqual(clients.parse_bytes(text), size)


class Load(unittest.TestCase):
    def said(self, **changes):
        return json.dumps({"seconds": 1.0, "requests": 100, "connections": 100, "resumed": 92,
                           "bytes": 600, "error": None} | changes)

    def test_all_but_the_first_of_each_lane_must_be_resumed(self):
        self.assertEqual(clients.parse_load(self.said(), RESUMED, 100).requests, 100)
        for changes in ({"resumed": 91}, {"connections": 99}, {"requests": 99},
                        {"error": "refused"}):
            with self.subTest(changes), self.assertRaises(clients.Wrong):
                clients.parse_load(self.said(**changes), RESUMED, 100)

    def test_no_report_is_an_error(self):
        with self.assertRaises(clients.Wrong):
            clients.parse_load("", RESUMED, 100)


class Bodies(unittest.TestCase):
    def test_a_304_is_right_where_it_is_demanded_and_nowhere_else(self):
        unchanged = Workload("unchanged", "h2c", "304", connections=10, streams=32)
        text = h2load(good=0, other=300, data=0).replace("0 succeeded", "300 succeeded")
        self.assertEqual(clients.parse_h2load(text, unchanged, 300).data_bytes, 0)
        for wrong, workload in ((text, CLEAR), (h2load(), unchanged)):
            with self.assertRaises(clients.Wrong):
                clients.parse_h2load(wrong, workload, 300)

    def test_a_mix_is_asked_for_as_a_whole_and_all_its_bytes_are_due(self):
        mix = Workload("mix", "h2c", "mix", connections=3, streams=32)
        self.assertEqual(mix.step, 60)
        self.assertEqual(mix.bytes_of(40), 2 * sum(size for _, size, *_ in workloads.MIX))


class Latencies(unittest.TestCase):
    def test_percentiles_are_values_of_the_log_by_nearest_rank(self):
        found = stats.percentiles(range(1, 1001))
        self.assertEqual(found, {"p50": 500, "p90": 900, "p99": 990, "p99.9": 999})
        self.assertEqual(set(stats.percentiles([7]).values()), {7})
        with self.assertRaises(ValueError):
            stats.percentiles([])

    def test_logs_of_both_clients_are_read_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "log"
            path.write_text("1700000000000000\t200\t137\n1700000000000009\t200\t4\n")
            self.assertEqual(measure.read_log(path, "h2load"), [137, 4])
            path.write_bytes((1500).to_bytes(8, "little") + (2000).to_bytes(8, "little"))
            self.assertEqual(measure.read_log(path, "load"), [1.5, 2.0])


class SystemCalls(unittest.TestCase):
    def test_both_tools_are_understood_and_silence_is_an_error(self):
        self.assertEqual(syscalls.perf_count("# started\n\n1234,,raw_syscalls:sys_enter,9,100.00\n"),
                         1234)
        table = ("% time     seconds  usecs/call     calls    errors syscall\n"
                 " 60.00    0.000063          31         2           read\n"
                 "100.00    0.000063           1        37         1 total\n")
        self.assertEqual(syscalls.strace_count(table), 37)
        for count in (syscalls.perf_count, syscalls.strace_count):
            with self.assertRaises(clients.Wrong):
                count("<not counted>,,raw_syscalls:sys_enter,0,0.00")


if __name__ == "__main__":
    unittest.main()
