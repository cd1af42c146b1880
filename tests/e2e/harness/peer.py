"""A well-behaved client on python3-h2: another implementation's opinion of what the server says.

It keeps its windows by itself unless told not to, and raises on whatever it finds illegal.
"""

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings

from .wire import PATIENCE, Response


class Peer:
    def __init__(self, server, window=None, refills=True, receive_buffer=None):
        """`window`: initial window of each stream, in bytes."""
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        self.refills = refills
        self.responses = {}
        self.terminated = None  # the last GOAWAY
        self.over = False
        self.sock = server.connect(receive_buffer)
        self.sock.settimeout(PATIENCE)
        self.scheme = server.transport.scheme
        if window is not None:
            code = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
            self.h2.local_settings = h2.settings.Settings(client=True, initial_values={code: window})
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def request(self, path="/", method="GET", extra=(), end_stream=True):
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, [(":method", method), (":scheme", self.scheme),
                                      (":authority", "localhost"), (":path", path), *extra],
                             end_stream=end_stream)
        self.responses[stream] = Response()
        self.flush()
        return stream

    def step(self, most=262144):
        """Take in what the socket has, at most `most` bytes; False at its end."""
        received = self.sock.recv(most)
        if not received:
            self.over = True
            return False
        for event in self.h2.receive_data(received):
            self._note(event)
        self.flush()
        return True

    def wait(self, condition):
        while not condition():
            assert self.step(), f"the connection ended before that: {self.responses}"

    def response(self, stream):
        self.wait(lambda: self.responses[stream].done)
        return self.responses.pop(stream)

    def get(self, path="/", **kwargs):
        return self.response(self.request(path, **kwargs))

    def grant(self, amount, stream=None):
        """Give the server window: on a stream, or on the connection."""
        self.h2.increment_flow_control_window(amount, stream)
        self.flush()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _note(self, event):
        if isinstance(event, h2.events.ConnectionTerminated):
            self.terminated = event
            return
        response = self.responses.get(getattr(event, "stream_id", None))
        if response is None:
            return
        if isinstance(event, h2.events.ResponseReceived):
            response.fields = event.headers
        elif isinstance(event, h2.events.DataReceived):
            response.body += event.data
            if self.refills and event.flow_controlled_length:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            response.ended = True
        elif isinstance(event, h2.events.StreamReset):
            response.reset = h2.errors.ErrorCodes(event.error_code)
