"""A client that resumes TLS 1.3 sessions over HTTP/2, since h2load cannot. Run as a program.

Several lanes (threads) each open one connection after the other; each sends one request and offers
the newest ticket its predecessor was given, as a browser does. The answer is checked: status 200, the
length of the body, and that every connection but the first of a lane was resumed.
"""

import argparse
import json
import socket
import ssl
import sys
import threading
import time
import urllib.parse

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD = 9
DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY = 0, 1, 3, 4, 7
END_STREAM, END_HEADERS = 0x1, 0x4
STATUS_200 = 0x88  # RFC 7541, static table entry 8, indexed


class Refused(Exception):
    """The server's answer is not the one that was asked for."""


def frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags])
            + stream.to_bytes(4, "big") + payload)


def request(authority, path):
    """Preface, empty SETTINGS, and a GET in HEADERS without Huffman codes or indexing."""
    block = bytes([0x82, 0x87])  # :method GET, :scheme https
    for index, value in ((4, path.encode()), (1, authority.encode())):  # :path, :authority
        block += bytes([index, len(value)]) + value
    return PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_STREAM | END_HEADERS, 1, block)


def read_answer(read):
    """(first byte of the header block that is not a table size update, bytes of body) of stream 1."""
    buffered = b""
    status = None
    body = 0
    while True:
        while len(buffered) < FRAME_HEAD:
            buffered += _more(read)
        length = int.from_bytes(buffered[:3], "big")
        kind, flags = buffered[3], buffered[4]
        stream = int.from_bytes(buffered[5:9], "big")
        while len(buffered) < FRAME_HEAD + length:
            buffered += _more(read)
        payload = buffered[FRAME_HEAD:FRAME_HEAD + length]
        buffered = buffered[FRAME_HEAD + length:]
        if kind == GOAWAY or (kind == RST_STREAM and stream == 1):
            raise Refused(f"frame of type {kind} instead of an answer")
        if stream != 1 or kind not in (DATA, HEADERS):
            continue
        if kind == HEADERS:
            status = next(b for b in payload if b & 0xE0 != 0x20)
        else:
            body += length
        if flags & END_STREAM:
            return status, body


def _more(read):
    data = read(65536)
    if not data:
        raise Refused("connection closed before the answer was complete")
    return data


class Lane(threading.Thread):
    def __init__(self, context, address, ask, size, count):
        super().__init__()
        self.context, self.address, self.ask, self.size, self.count = (
            context, address, ask, size, count)
        self.resumed = self.done = 0
        self.error = None
        self.suites, self.versions = set(), set()

    def run(self):
        session = None
        try:
            for _ in range(self.count):
                session = self.connect(session)
                self.done += 1
        except (OSError, Refused) as e:
            self.error = f"connection {self.done + 1} of a lane: {e}"

    def connect(self, session):
        with socket.create_connection(self.address, timeout=30) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.context.wrap_socket(plain, server_hostname="localhost",
                                          session=session) as tls:
                if tls.selected_alpn_protocol() != "h2":
                    raise Refused("h2 was not selected")
                tls.sendall(self.ask)
                status, body = read_answer(tls.recv)
                if status != STATUS_200 or body != self.size:
                    raise Refused(f"not a 200 with {self.size} bytes but {body} bytes")
                self.resumed += tls.session_reused
                self.suites.add(tls.cipher()[0])
                self.versions.add(tls.version())
                tls.sendall(frame(GOAWAY, 0, 0, bytes(8)))
                session = tls.session
                close_orderly(tls)
                return session


def close_orderly(tls):
    """Send close_notify: a server that keeps sessions forgets one whose connection was just cut."""
    tls.setblocking(False)  # so that the peer's own close_notify is not waited for
    try:
        tls.unwrap()
    except OSError:
        pass  # sent, and the peer's is not there yet


def make_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    return context


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--lanes", type=int, required=True)
    parser.add_argument("--size", type=int, required=True, help="bytes of the body")
    parser.add_argument("url")
    options = parser.parse_args()
    url = urllib.parse.urlsplit(options.url)
    context = make_context()
    ask = request(url.netloc, url.path)
    per_lane, rest = divmod(options.connections, options.lanes)
    lanes = [Lane(context, (url.hostname, url.port), ask, options.size, per_lane + (i < rest))
             for i in range(options.lanes)]
    start = time.monotonic()
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    json.dump({
        "seconds": time.monotonic() - start,
        "connections": sum(lane.done for lane in lanes),
        "resumed": sum(lane.resumed for lane in lanes),
        "suites": sorted(set().union(*(lane.suites for lane in lanes))),
        "versions": sorted(set().union(*(lane.versions for lane in lanes))),
        "error": next((lane.error for lane in lanes if lane.error), None),
    }, sys.stdout)


if __name__ == "__main__":
    main()
