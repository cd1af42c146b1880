"""A raw HTTP/1.1 client: it sends what it is told and reads responses by their content-length."""

from . import transport as transports
from .wire import PATIENCE


class Line:
    """Own: the socket."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(PATIENCE)
        self.buffer = bytearray()

    @classmethod
    def connect(cls, server):
        sock = transports.open_tcp(server.port)
        if server.transport.name == "tls":
            sock = transports.tls_context(["http/1.1"]).wrap_socket(sock)
        return cls(sock)

    def send(self, *chunks):
        self.sock.sendall(b"".join(chunks))

    def ask(self, method, target, fields=()):
        """A request, and its response."""
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost",
                 *(f"{name}: {value}" for name, value in fields), "", ""]
        self.send("\r\n".join(lines).encode())
        response = self.read(has_body=method != "HEAD")
        assert response is not None, "the connection is over"
        return response

    def read(self, has_body=True):
        """One response: (status, [(name, value)], body), or None where the connection is over."""
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            if not self._receive():
                assert not self.buffer, f"the connection ended within a head: {self.buffer!r}"
                return None
        first, *lines = self._take(end + 4).decode("latin-1").split("\r\n")[:-2]
        version, status = first.split(" ")[:2]
        assert version == "HTTP/1.1"
        fields = [tuple(line.split(": ", 1)) for line in lines]
        has_body = has_body and status not in ("204", "304")
        length = int(dict(fields).get("content-length", 0)) if has_body else 0
        while len(self.buffer) < length:
            assert self._receive(), "the connection ended within a body"
        return int(status), fields, self._take(length)

    def _take(self, length):
        taken = bytes(memoryview(self.buffer)[:length])
        del self.buffer[:length]
        return taken

    def _receive(self):
        try:
            more = self.sock.recv(262144)
        except ConnectionError:
            return False
        self.buffer += more
        return bool(more)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
