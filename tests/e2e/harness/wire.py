"""A raw HTTP/2 client.  It sends what it is told, however wrong, and keeps what comes back.

Nothing happens behind a test's back but what these switches say:
  answers_settings, answers_ping   acknowledge the server's SETTINGS and PING
  refills                          give back the window of each DATA frame at once
"""

import select
import socket
import ssl
import struct
import time

import hpack

from . import frames
from .frames import Flag, Frame, Setting, Type

PATIENCE = 60  # seconds after which a test is taken to hang; no test succeeds by waiting so long


class Response:
    """What has come on one stream."""

    def __init__(self):
        self.fields = None  # of the final response, pseudo-header fields included
        self.trailers = None
        self.blocks = []  # field sections as they were on the wire
        self.body = bytearray()
        self.ended = False
        self.reset = None  # code of RST_STREAM

    @property
    def status(self):
        return None if self.fields is None else int(self.get(":status"))

    @property
    def done(self):
        return self.ended or self.reset is not None

    def get(self, name, default=None):
        return next((value for key, value in self.fields or [] if key == name), default)

    def __repr__(self):
        return (f"<status={self.status} body={len(self.body)} bytes ended={self.ended}"
                f" reset={self.reset!r}>")


class Wire:
    def __init__(self, sock, answers_settings=True, answers_ping=True, refills=True):
        self.sock = sock
        self.answers_settings = answers_settings
        self.answers_ping = answers_ping
        self.refills = refills
        self.next_stream = 1
        self.encoder = hpack.Encoder()
        self.decoder = hpack.Decoder()
        self.responses = {}
        self.goaways = []
        self.pongs = []
        self.settings = None  # the server's, by identifier
        self.settings_acks = 0
        self.send_windows = {0: frames.DEFAULT_WINDOW}  # stream: change so far; 0: the connection's
        self.over = None  # how the connection ended: "fin" or "reset"
        self.history = []  # the last frames, for messages
        self._in = bytearray()
        self._block = None  # an unfinished field section: HEADERS frame, bytes
        sock.settimeout(PATIENCE)

    @classmethod
    def connect(cls, server, settings=None, handshake=True, receive_buffer=None, **switches):
        """A connection that has sent its preface and, unless told otherwise, exchanged SETTINGS."""
        wire = cls(server.connect(receive_buffer), **switches)
        wire.send(frames.PREFACE, frames.settings(settings or {}))
        if handshake:
            wire.wait(lambda: wire.settings is not None and wire.settings_acks > 0)
        return wire

    # ---- out ----

    def send(self, *chunks):
        try:
            self.sock.sendall(b"".join(chunks))
        except ssl.SSLError as error:
            raise ConnectionError from error  # as a socket without TLS says it

    def request_block(self, path="/", method="GET", extra=(), scheme="http", authority="localhost"):
        fields = [(":method", method), (":scheme", scheme), (":authority", authority),
                  (":path", path), *extra]
        return self.encoder.encode([(k, v) for k, v in fields if v is not None])

    def open_id(self):
        """The id of the next stream, for tests that send its HEADERS themselves."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        return stream

    def request(self, path="/", method="GET", extra=(), end_stream=True, **pseudo):
        """Send a request's HEADERS; returns the stream id."""
        stream = self.open_id()
        block = self.request_block(path, method, extra, **pseudo)
        self.send(frames.headers(stream, block, end_stream))
        return stream

    def send_window(self, stream):
        """Bytes of DATA that the server takes on that stream now."""
        initial = (self.settings or {}).get(Setting.INITIAL_WINDOW_SIZE, frames.DEFAULT_WINDOW)
        return min(self.send_windows[0], initial + self.send_windows.get(stream, 0))

    def send_data(self, stream, payload, end_stream=True):
        """Send a body within the windows; stops where the server resets or answers the stream."""
        view = memoryview(payload)
        while True:
            response = self.responses.get(stream)
            if response is not None and response.done:
                return
            room = min(len(view), self.send_window(stream), frames.MAX_FRAME)
            if view and room == 0:
                assert self.step() is not None, f"the connection ended: {self}"
                continue
            last = room == len(view)
            self.send(frames.data(stream, bytes(view[:room]), end_stream and last))
            self.send_windows[0] -= room
            self.send_windows[stream] = self.send_windows.get(stream, 0) - room
            view = view[room:]
            if last:
                return

    # ---- in ----

    def recv_frame(self):
        """The next frame, or None when the connection is over (then self.over says how)."""
        while (found := self._cut_frame()) is None:
            if self.over or not self._receive():
                return None
        return found

    def step(self):
        """Take the next frame into account; returns it, or None when the connection is over."""
        got = self.recv_frame()
        if got is not None:
            self._note(got)
        return got

    def wait(self, condition):
        """Read frames until `condition()` holds."""
        while not condition():
            if self.step() is None:
                raise AssertionError(f"the connection ended ({self.over}) before that: {self}")

    def response(self, stream):
        """The complete response of a stream, or what came before its reset."""
        self.wait(lambda: stream in self.responses and self.responses[stream].done)
        return self.responses[stream]

    def get(self, path="/", **kwargs):
        return self.response(self.request(path, **kwargs))

    def ping(self, payload=b"roundtri"):
        """When this returns, the server has handled all that was sent before."""
        count = self.pongs.count(payload)
        self.send(frames.ping(payload))
        self.wait(lambda: self.pongs.count(payload) > count)

    def wait_end(self):
        """Read until the connection is over; returns how."""
        while self.step() is not None:
            pass
        return self.over

    def wait_goaway(self):
        """The code of the GOAWAY with which the server ended the connection, or None."""
        self.wait_end()
        return self.goaways[-1].error if self.goaways else None

    def flood(self, blob, until=None):
        """Send `blob` while reading, until it is sent, the connection is over or `until()`."""
        view = memoryview(blob)
        deadline = time.monotonic() + PATIENCE
        while view and not self.over and not (until and until()):
            assert time.monotonic() < deadline, f"the flood does not move on: {self}"
            if self._readable(0) and self._receive():
                self._note_all()
            sent = 0 if self.over else self._send_some(view[:16384])
            view = view[sent:]
            if sent == 0 and not self.over:
                select.select([self.sock], [self.sock], [], 1)
        return len(blob) - len(view)

    # ---- the end ----

    def close(self):
        self.sock.close()

    def abort(self):
        """Cut the connection: RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __str__(self):
        tail = "; ".join(str(f) for f in self.history[-12:])
        return f"responses {self.responses}, last frames: {tail}"

    # ---- inside ----

    def _receive(self):
        """More bytes into the buffer; False when there are no more to come."""
        try:
            got = self.sock.recv(262144)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except TimeoutError:
            raise AssertionError(f"nothing came for {PATIENCE} s: {self}") from None
        except (ConnectionError, ssl.SSLError):
            self.over = "reset"
            return False
        if not got:
            self.over = "fin"
            return False
        self._in += got
        return True

    def _send_some(self, view):
        self.sock.settimeout(0)
        try:
            return self.sock.send(view)
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0
        except (ConnectionError, ssl.SSLError):
            self._note_last_words()
            self.over = self.over or "reset"
            return 0
        finally:
            self.sock.settimeout(PATIENCE)

    def _note_last_words(self):
        """The peer has closed; what it said before may still lie in the socket."""
        while self._readable(0) and self._receive():
            self._note_all()

    def _note_all(self):
        while (got := self._cut_frame()) is not None:
            self._note(got)

    def _readable(self, timeout):
        if isinstance(self.sock, ssl.SSLSocket) and self.sock.pending():
            return True
        return bool(select.select([self.sock], [], [], timeout)[0])

    def _cut_frame(self):
        if len(self._in) < frames.HEAD_LEN:
            return None
        high, low, kind, flags, stream = struct.unpack_from("!HBBBI", self._in)
        end = frames.HEAD_LEN + (high << 8 | low)
        if len(self._in) < end:
            return None
        payload = bytes(memoryview(self._in)[frames.HEAD_LEN:end])
        del self._in[:end]
        return Frame(kind, flags, stream & frames.MAX_WINDOW, payload)

    def _note(self, got):
        self.history.append(got._replace(payload=got.payload[:64]) if got.type == Type.DATA else got)
        del self.history[:-50]
        note = self._NOTES.get(got.type)
        if note is not None:
            note(self, got)

    def _of(self, stream):
        return self.responses.setdefault(stream, Response())

    def _reply(self, *chunks):
        try:
            self.send(*chunks)
        except OSError:
            pass  # the server has closed; what it said before is still to be read

    def _note_data(self, got):
        response = self._of(got.stream)
        response.body += got.payload
        response.ended |= got.ends_stream
        if self.refills and got.payload:
            self._reply(frames.window_update(0, len(got.payload)),
                        b"" if got.ends_stream
                        else frames.window_update(got.stream, len(got.payload)))

    def _note_reset(self, got):
        self._of(got.stream).reset = got.error

    def _note_settings(self, got):
        if got.flags & Flag.ACK:
            self.settings_acks += 1
            return
        self.settings = {**(self.settings or {}), **dict(struct.iter_unpack("!HI", got.payload))}
        if self.answers_settings:
            self._reply(frames.settings(ack=True))

    def _note_ping(self, got):
        if got.flags & Flag.ACK:
            self.pongs.append(got.payload)
        elif self.answers_ping:
            self._reply(frames.ping(got.payload, ack=True))

    def _note_goaway(self, got):
        self.goaways.append(got)

    def _note_window(self, got):
        change = struct.unpack("!I", got.payload)[0]
        self.send_windows[got.stream] = self.send_windows.get(got.stream, 0) + change

    def _note_fields(self, got):
        first, block = self._block or (got, b"")
        block += got.payload
        if not got.flags & Flag.END_HEADERS:
            self._block = (first, block)
            return
        self._block = None
        response = self._of(first.stream)
        fields = self.decoder.decode(block)
        response.blocks.append(block)
        if response.fields is None or response.get(":status", "").startswith("1"):
            response.fields = fields
        else:
            response.trailers = fields
        response.ended |= first.ends_stream

    _NOTES = {
        Type.DATA: _note_data,
        Type.HEADERS: _note_fields,
        Type.CONTINUATION: _note_fields,
        Type.RST_STREAM: _note_reset,
        Type.SETTINGS: _note_settings,
        Type.PING: _note_ping,
        Type.GOAWAY: _note_goaway,
        Type.WINDOW_UPDATE: _note_window,
    }
