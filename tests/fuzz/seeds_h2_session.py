#!/usr/bin/env python3
"""Make the inputs that fuzz_h2_session starts from.

usage: seeds_h2_session.py SERVER-PORT FOLDER

Real clients (nghttp, h2load, curl) talk to a server on that port of the loopback through a proxy
that writes down what they say.  Behind these come sequences that no client sends by itself.
"""
import pathlib
import socket
import struct
import subprocess
import sys
import threading

import hpack

MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
PRIORITY, PRIORITY_UPDATE = 2, 16
END, END_HEADERS = 1, 4

# The first byte of an input: see fuzz_h2_session.c.
WHOLE = 7 << 5


def pump(source, sink, heard):
    while data := source.recv(65536):
        heard += data
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def capture(port, command):
    """What the client says while the command runs, all its connections one after another."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    client = subprocess.Popen([word.replace("URL", url) for word in command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    heard, threads = bytearray(), []
    while client.poll() is None:
        try:
            near = listener.accept()[0]
        except TimeoutError:
            continue
        near.setblocking(True)
        far = socket.create_connection(("127.0.0.1", port))
        threads += [threading.Thread(target=pump, args=(near, far, heard)),
                    threading.Thread(target=pump, args=(far, near, bytearray()))]
        for thread in threads[-2:]:
            thread.start()
    for thread in threads:
        thread.join()
    return bytes(heard)


COMMANDS = {
    "nghttp": ["nghttp", "-n", "URL/size?20000", "URL/none", "URL/pool?300"],
    "nghttp-upload": ["nghttp", "-n", "-d", __file__, "--trailer", "x-sum: 1", "URL/late?10"],
    "nghttp-window": ["nghttp", "-n", "-w", "10", "-W", "12", "URL/size?30000"],
    "nghttp-table": ["nghttp", "-n", "-c", "64", "--encoder-header-table-size=0", "URL/slow?900"],
    "h2load": ["h2load", "-n8", "-c1", "-m4", "URL/size?300"],
    "curl": ["curl", "-s", "--http2-prior-knowledge", "URL/size?1000", "-o", "/dev/null"],
    "curl-post": ["curl", "-s", "--http2-prior-knowledge", "-d", "a=b", "URL/late?1"],
    "curl-head": ["curl", "-s", "--http2-prior-knowledge", "-I", "URL/size?1000"],
}


class Script:
    def __init__(self, plan=WHOLE):
        self.bytes = bytearray([plan]) + MAGIC
        self.encoder = hpack.Encoder()
        self.frame(SETTINGS, 0, 0)
        self.frame(SETTINGS, 1, 0)

    def frame(self, kind, flags, stream, payload=b""):
        self.bytes += struct.pack(">I", len(payload))[1:] + bytes([kind, flags])
        self.bytes += struct.pack(">I", stream) + payload
        return self

    def fields(self, stream, flags, fields, cut=16384):
        block = self.encoder.encode(fields)
        self.frame(HEADERS, flags | (END_HEADERS if len(block) <= cut else 0), stream, block[:cut])
        for at in range(cut, len(block), cut):
            last = END_HEADERS if at + cut >= len(block) else 0
            self.frame(CONTINUATION, last, stream, block[at:at + cut])
        return self

    def ask(self, stream, path, flags=END, method="GET", more=(), cut=16384):
        fields = [(":method", method), (":scheme", "http"), (":authority", "a"), (":path", path)]
        return self.fields(stream, flags, fields + list(more), cut)

    def number(self, kind, stream, number):
        return self.frame(kind, 0, stream, struct.pack(">I", number))

    def setting(self, key, value):
        return self.frame(SETTINGS, 0, 0, struct.pack(">HI", key, value))


def scripts():
    for i, plan in enumerate((0, 2, 4, 6, 8 + 2, 16 + 4, 16 + 6)):
        script = Script(WHOLE & 64 | plan | (i + 1) % 6 << 5)
        for stream, path in enumerate(("/size?40000", "/pool?20", "/cut?2000", "/slow?9000",
                                       "/late?300", "/none", "/status?99", "/other")):
            script.ask(2 * stream + 1, path)
        yield f"paths-{i}", script
    for i, plan in enumerate((0, 2, 4, 6)):
        script = Script(WHOLE & 64 | plan | (i + 1) << 5)
        for stream, path in enumerate(("/stream?40000", "/made?20", "/drip?9000", "/break?300")):
            script.ask(2 * stream + 1, path)
        yield f"streams-{i}", script
    yield "long", Script().ask(1, "/size?9").ask(3, "/long").ask(5, "/size?9")
    yield "trailers", Script().ask(1, "/late?1", 0, "POST").frame(DATA, 0, 1, b"x").fields(
        1, END, [("x", "y")]).fields(1, END, [("x", "y")])
    yield "length", Script().ask(1, "/late?1", 0, "POST", [("content-length", "3")]).frame(
        DATA, END, 1, b"xy")
    yield "continued", Script().ask(1, "/size?10", more=[("x", "y" * 40)], cut=9)
    yield "too-continued", Script().ask(1, "/size?10", more=[("x", "y" * 40)], cut=5)
    yield "many-fields", Script().ask(1, "/size?1", more=[("a", "b")] * 120).ask(3, "/size?1")
    yield "too-many-fields", Script().ask(1, "/size?1", more=[("a", "b")] * 220)
    yield "resets", Script().ask(1, "/size?90000").number(RST, 1, 8).ask(3, "/late?9").number(
        RST, 3, 8).number(RST, 1, 8)
    yield "tables", Script().setting(1, 0).ask(1, "/size?1").setting(1, 4096).ask(
        3, "/size?1").setting(1, 100).ask(5, "/size?1")
    yield "windows", Script(WHOLE | 2).setting(4, 0).ask(1, "/size?500").number(
        WINDOW, 1, 1).setting(4, 7).number(WINDOW, 1, 400).setting(4, 0).number(WINDOW, 1, 200)
    yield "overflow", Script().ask(1, "/late?1").number(WINDOW, 1, 0x7fffff00).setting(4, 80000)
    yield "priorities", Script().frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\5u=1,i").ask(
        7, "/size?30000", more=[("priority", "u=7, i")]).frame(
            PRIORITY, 0, 7, b"\0\0\0\0\0").ask(5, "/size?1").frame(0xbb, 255, 3, b"what")
    yield "goaway", Script(WHOLE | 16).ask(1, "/late?1").frame(PING, 0, 0, b"12345678").frame(
        PING, 1, 0, b"weirbye\0").ask(3, "/size?1").frame(GOAWAY, 0, 0, b"\0" * 8 + b"bye")
    malformed = Script(WHOLE | 4).ask(1, "/size?60000")
    for stream in range(3, 50, 2):
        malformed.fields(stream, END, [("x", "y")])
    yield "malformed", malformed.ask(51, "/size?1")
    refused = Script(64 | 2)
    for stream in range(1, 211, 2):
        refused.ask(stream, "/late?1")
    yield "refused", refused
    yield "padded", Script().ask(1, "/late?1", 0, "POST").frame(
        DATA, 8, 1, b"\3abc\0\0\0").frame(DATA, 9, 1, b"\2\0\0")


def main():
    port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name, command in COMMANDS.items():
        (folder / name).write_bytes(bytes([WHOLE]) + capture(port, command))
    for name, script in scripts():
        (folder / name).write_bytes(bytes(script.bytes))


if __name__ == "__main__":
    main()
