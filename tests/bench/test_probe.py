"""The look at one answer before a server is measured: only the right one passes."""

import hashlib
import http.server
import pathlib
import shutil
import socket
import sys
import tempfile
import threading
import unittest

import context  # noqa: F401 (sets the path)
from weirbench import probe, tap
from weirbench.clients import Wrong
from weirbench.workloads import Workload

SIX = Workload("six", "h1", "6b", connections=1)
BODY = b"sluice"
SKIP = 77


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers = {
        "/right": (200, BODY, {}),
        "/other-bytes": (200, b"sluicE", {}),
        "/short": (200, b"sluic", {}),
        "/not-found": (404, BODY, {}),
        "/encoded": (200, BODY, {"Content-Encoding": "br"}),
    }

    def do_GET(self):
        status, body, fields = self.answers[self.path]
        self.send_response(status)
        for name, value in (fields | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Old(Handler):
    protocol_version = "HTTP/1.0"


class Probe(unittest.TestCase):
    def serve(self, handler=Handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def setUp(self):
        self.prefix = pathlib.Path(tempfile.mkdtemp(prefix="weirbench-probe-"))
        self.addCleanup(shutil.rmtree, self.prefix)
        self.sha256 = hashlib.sha256(BODY).hexdigest()

    def check(self, port, path):
        return probe.check(SIX, f"http://127.0.0.1:{port}{path}", (len(BODY), self.sha256),
                           self.prefix)

    def test_the_right_answer_passes_and_its_fields_are_returned(self):
        self.assertIn("Content-Length: 6", self.check(self.serve(), "/right"))

    def test_any_other_answer_is_refused(self):
        port = self.serve()
        for path in ("/other-bytes", "/short", "/not-found", "/encoded"):
            with self.subTest(path), self.assertRaises(Wrong):
                self.check(port, path)

    def test_another_version_of_http_is_refused(self):
        with self.assertRaises(Wrong):
            self.check(self.serve(Old), "/right")

    def test_nobody_listening_is_refused(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            with self.assertRaises(Wrong):
                self.check(unused.getsockname()[1], "/right")


class Tap(unittest.TestCase):
    def test_every_byte_is_relayed_and_counted_in_its_direction(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with tap.Tap(listener.getsockname()[1]) as counter:
                with socket.create_connection(("127.0.0.1", counter.port)) as client:
                    server, _ = listener.accept()
                    with server:
                        client.sendall(b"q" * 1000)
                        self.assertEqual(read(server, 1000), b"q" * 1000)
                        server.sendall(b"a" * 300000)
                        server.shutdown(socket.SHUT_WR)
                        self.assertEqual(read(client, 300001), b"a" * 300000)
        self.assertEqual((counter.to_server, counter.to_client), (1000, 300000))


def read(sock, most):
    data = b""
    while len(data) < most and (piece := sock.recv(most - len(data))):
        data += piece
    return data


if __name__ == "__main__":
    if shutil.which("curl") is None:
        print("skipped: curl is not installed")
        sys.exit(SKIP)
    unittest.main()
