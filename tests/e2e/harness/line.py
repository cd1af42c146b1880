"""A raw HTTP/1.1 client: it sends what it is told and reads responses by their content-length."""

from .wire import PATIENCE


class Line:
    """Own: the socket."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(PATIENCE)
        self.buffer = bytearray()

    def ask(self, method, target, fields=()):
        """A request, and its response: (status, [(name, value)], body)."""
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost",
                 *(f"{name}: {value}" for name, value in fields), "", ""]
        self.sock.sendall("\r\n".join(lines).encode())
        return self.read(has_body=method != "HEAD")

    def read(self, has_body=True):
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            assert self._receive(), f"the connection ended within a head: {bytes(self.buffer)!r}"
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
