"""What the clients print becomes numbers, and whatever is not right becomes an error."""

import json
import unittest

import context  # noqa: F401 (sets the path)
from weirbench import clients, resume
from weirbench.workloads import Workload

CLEAR = Workload("clear", "h2c", "1k.bin", connections=10, streams=32)
TLS = Workload("tls", "h2", "1k.bin", connections=10, streams=32)
WRK = Workload("wrk", "h1", "1k.bin", connections=50, client="wrk")
RESUMED = Workload("resumed", "h2", "6b.bin", connections=8, connects=2000, client="resume")

H2LOAD = """\
starting benchmark...
spawning thread #0: 10 total client(s). 300 total requests
{tls}Application protocol: h2
progress: 100% done

finished in 17.87ms, 16786.03 req/s, 20.41MB/s
requests: 300 total, 300 started, {done} done, {good} succeeded, {failed} failed, {failed} errored, \
0 timeout
status codes: {good} 2xx, 0 3xx, {bad} 4xx, 0 5xx
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
"""


def h2load(tls="", done=300, good=300, failed=0, bad=0, data=307200):
    return H2LOAD.format(tls=tls, done=done, good=good, failed=failed, bad=bad, data=data)


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
        found = clients.parse_wrk(WRK_TEXT.format(read="46.10MB", errors=""), WRK, 1)
        self.assertEqual((found.requests, found.seconds), (37911, 1.1))

    def test_whatever_is_not_right_is_refused(self):
        for name, read, errors in (
                ("an error status", "46.10MB", "  Non-2xx or 3xx responses: 1\n"),
                ("a socket error", "46.10MB",
                 "  Socket errors: connect 0, read 1, write 0, timeout 0\n"),
                ("too few bytes", "6.80MB", "")):
            with self.subTest(name), self.assertRaises(clients.Wrong):
                clients.parse_wrk(WRK_TEXT.format(read=read, errors=errors), WRK, 1)

    def test_units(self):
        for text, seconds in (("610us", 0.00061), ("7.31ms", 0.00731), ("4.53s", 4.53),
                              ("1.50m", 90.0)):
            self.assertAlmostEqual(clients.parse_seconds(text), seconds)
        for text, size in (("0B", 0), ("185B", 185), ("2.00KB", 2048), ("1.50MB", 1572864),
                           ("1.00GB", 1 << 30)):
            self.assertEqual(clients.parse_bytes(text), size)


class Resume(unittest.TestCase):
    def said(self, **changes):
        return json.dumps({"seconds": 1.0, "connections": 100, "resumed": 92, "error": None,
                           "suites": [clients.SUITE], "versions": ["TLSv1.3"]} | changes)

    def test_all_but_the_first_of_each_lane_must_be_resumed(self):
        self.assertEqual(clients.parse_resume(self.said(), RESUMED, 100).requests, 100)
        for changes in ({"resumed": 91}, {"connections": 99}, {"error": "refused"},
                        {"suites": ["TLS_AES_256_GCM_SHA384"]}):
            with self.subTest(changes), self.assertRaises(clients.Wrong):
                clients.parse_resume(self.said(**changes), RESUMED, 100)

    def read(self, answer, piece):
        pieces = [answer[i:i + piece] for i in range(0, len(answer), piece)] + [b""]
        return resume.read_answer(lambda _: pieces.pop(0))

    def test_an_answer_is_read_from_pieces_of_any_size(self):
        answer = (resume.frame(resume.SETTINGS, 0, 0)
                  + resume.frame(resume.HEADERS, resume.END_HEADERS, 1, b"\x20\x88rest")
                  + resume.frame(resume.DATA, 0, 1, b"abc")
                  + resume.frame(resume.DATA, resume.END_STREAM, 1, b"def"))
        for piece in (1, 2, 9, 10, 1000):
            self.assertEqual(self.read(answer, piece), (resume.STATUS_200, 6))

    def test_anything_but_an_answer_is_refused(self):
        for answer in (b"", resume.frame(resume.GOAWAY, 0, 0, bytes(8)),
                       resume.frame(resume.RST_STREAM, 0, 1, bytes(4)),
                       resume.frame(resume.DATA, 0, 1, b"abc")):
            with self.subTest(answer=answer), self.assertRaises(resume.Refused):
                self.read(answer, 1000)


if __name__ == "__main__":
    unittest.main()
