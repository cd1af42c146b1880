"""A TLS 1.3 client that sends what no library would (RFC 8446 5, 6).

Python's ssl does the handshake and tells its secrets by a key log; from there on the records are
made and opened here, so that each may be wrong in whatever way a test likes.
"""

import enum
import hashlib
import hmac
import pathlib
import socket
import ssl
import struct
import tempfile
from typing import NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from . import transport as transports
from .wire import PATIENCE

HEAD_LEN = 5
TAG_LEN = 16
PLAIN_MAX = 2**14
CIPHER_MAX = PLAIN_MAX + 256


class Content(enum.IntEnum):
    CHANGE_CIPHER_SPEC = 20
    ALERT = 21
    HANDSHAKE = 22
    APPLICATION_DATA = 23


class Handshake(enum.IntEnum):
    CLIENT_HELLO = 1
    NEW_SESSION_TICKET = 4
    END_OF_EARLY_DATA = 5
    CERTIFICATE = 11
    CERTIFICATE_REQUEST = 13
    CERTIFICATE_VERIFY = 15
    FINISHED = 20
    KEY_UPDATE = 24


class Alert(enum.IntEnum):
    CLOSE_NOTIFY = 0
    UNEXPECTED_MESSAGE = 10
    BAD_RECORD_MAC = 20
    RECORD_OVERFLOW = 22
    HANDSHAKE_FAILURE = 40
    ILLEGAL_PARAMETER = 47
    DECODE_ERROR = 50
    PROTOCOL_VERSION = 70
    INTERNAL_ERROR = 80
    USER_CANCELED = 90
    NO_RENEGOTIATION = 100
    NO_APPLICATION_PROTOCOL = 120


WARNING, FATAL = 1, 2

SUITES = {
    "TLS_AES_128_GCM_SHA256": (hashlib.sha256, 16, AESGCM),
    "TLS_AES_256_GCM_SHA384": (hashlib.sha384, 32, AESGCM),
    "TLS_CHACHA20_POLY1305_SHA256": (hashlib.sha256, 32, ChaCha20Poly1305),
}


def record(kind, body, version=0x0303, length=None):
    """One record without protection; `length` lies about the body's."""
    return struct.pack("!BHH", kind, version, len(body) if length is None else length) + body


def message(kind, body=b"", length=None):
    """One handshake message."""
    return struct.pack("!I", kind << 24 | (len(body) if length is None else length)) + body


def key_update(request=0):
    return message(Handshake.KEY_UPDATE, bytes([request]))


def expand_label(make_hash, secret, label, length):
    """RFC 8446 7.1, with an empty context; one block of HKDF-Expand suffices for all of ours."""
    info = struct.pack("!HB", length, 6 + len(label)) + b"tls13 " + label + b"\0"
    return hmac.new(secret, info + b"\x01", make_hash).digest()[:length]


class Keys:
    """One direction of a connection: traffic key, IV and sequence number."""

    def __init__(self, suite, secret):
        self.make_hash, self.key_len, self.aead_class = SUITES[suite]
        self._use(secret)

    def _use(self, secret):
        self.secret = secret
        self.aead = self.aead_class(expand_label(self.make_hash, secret, b"key", self.key_len))
        self.iv = int.from_bytes(expand_label(self.make_hash, secret, b"iv", 12), "big")
        self.sequence = 0

    def update(self):
        self._use(expand_label(self.make_hash, self.secret, b"traffic upd",
                               self.make_hash().digest_size))

    def _next_nonce(self):
        nonce = (self.iv ^ self.sequence).to_bytes(12, "big")
        self.sequence += 1
        return nonce

    def seal_inner(self, inner, outer=Content.APPLICATION_DATA, version=0x0303):
        """A record around `inner`, whatever that is."""
        head = struct.pack("!BHH", outer, version, len(inner) + TAG_LEN)
        return head + self.aead.encrypt(self._next_nonce(), inner, head)

    def seal(self, kind, content, padding=0, **kwargs):
        return self.seal_inner(content + bytes([kind]) + bytes(padding), **kwargs)

    def open(self, sealed):
        inner = self.aead.decrypt(self._next_nonce(), sealed[HEAD_LEN:], sealed[:HEAD_LEN])
        inner = inner.rstrip(b"\0")
        return inner[-1], inner[:-1]


class Received(NamedTuple):
    type: int
    content: bytes


def alert_of(received):
    """The description in an alert record."""
    level, description = received.content
    assert level == (WARNING if description == Alert.CLOSE_NOTIFY else FATAL)
    return Alert(description)


class Client:
    """A connection past its handshake.  `finishes` is false: the last flight waits in `flight`."""

    def __init__(self, server, alpn=("h2",), finishes=True):
        self.sock = transports.open_tcp(server.port)
        self.sock.settimeout(PATIENCE)
        self.over = None  # how the connection ended: "fin" or "reset"
        self.updates = []  # the request field of each KeyUpdate that came
        self.tickets = 0
        self._in = bytearray()
        with tempfile.TemporaryDirectory(prefix="weir-keylog-") as directory:
            self._shake_hands(pathlib.Path(directory) / "keys", alpn)
        if finishes:
            self.send(self.flight)

    def _shake_hands(self, keylog, alpn):
        context = transports.tls_context(alpn)
        context.keylog_filename = str(keylog)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.sock.sendall(outgoing.read())
                incoming.write(self.sock.recv(65536))
        self.flight = outgoing.read()
        self._in += incoming.read()
        self.alpn = tls.selected_alpn_protocol()
        secrets = {line.split()[0]: bytes.fromhex(line.split()[2])
                   for line in keylog.read_text().splitlines() if not line.startswith("#")}
        suite = tls.cipher()[0]
        self.tx = Keys(suite, secrets["CLIENT_TRAFFIC_SECRET_0"])
        self.rx = Keys(suite, secrets["SERVER_TRAFFIC_SECRET_0"])

    # ---- out ----

    def send(self, *chunks):
        self.sock.sendall(b"".join(chunks))

    def data(self, content, **kwargs):
        """A sealed record of application data."""
        return self.tx.seal(Content.APPLICATION_DATA, content, **kwargs)

    def alert(self, description, level=WARNING):
        return self.tx.seal(Content.ALERT, bytes([level, description]))

    def handshake(self, content, **kwargs):
        return self.tx.seal(Content.HANDSHAKE, content, **kwargs)

    def update(self, request=0):
        """A KeyUpdate; what is sealed afterwards is under the next key."""
        sealed = self.handshake(key_update(request))
        self.tx.update()
        return sealed

    def shut(self):
        """End our direction of the TCP connection, with or without a word before."""
        self.sock.shutdown(socket.SHUT_WR)

    # ---- in ----

    def read(self):
        """The next record, opened; None at the end.  Tickets and KeyUpdates are taken in."""
        while (got := self._next_record()) is not None:
            if got.type != Content.HANDSHAKE:
                return got
            self._note_handshake(got.content)
        return None

    def read_data(self, until):
        """Application data until `until(data)` holds."""
        data = b""
        while not until(data):
            got = self.read()
            assert got is not None, f"the connection ended ({self.over}) after {data[-200:]!r}"
            assert got.type == Content.APPLICATION_DATA, got
            data += got.content
        return data

    def read_end(self):
        """Read to the end; returns the alert that came last, or None.  Nothing may follow it."""
        last = None
        while (got := self.read()) is not None:
            assert last is None, f"{got} came after an alert"
            last = alert_of(got) if got.type == Content.ALERT else None
        return last

    def _next_record(self):
        if not self._fill(HEAD_LEN):
            return None
        size = HEAD_LEN + struct.unpack_from("!H", self._in, 3)[0]
        assert size <= HEAD_LEN + CIPHER_MAX
        if not self._fill(size):
            return None
        sealed = bytes(self._in[:size])
        del self._in[:size]
        assert sealed[0] == Content.APPLICATION_DATA, f"a record without protection: {sealed!r}"
        return Received(*self.rx.open(sealed))

    def _fill(self, size):
        while len(self._in) < size:
            try:
                more = self.sock.recv(65536)
            except ConnectionError:
                self.over = "reset"
                return False
            if not more:
                self.over = "fin"
                assert not self._in, "the connection ended within a record"
                return False
            self._in += more
        return True

    def _note_handshake(self, content):
        while content:
            size = 4 + int.from_bytes(content[1:4], "big")
            kind, body, content = content[0], content[4:size], content[size:]
            assert kind in (Handshake.NEW_SESSION_TICKET, Handshake.KEY_UPDATE), kind
            if kind == Handshake.NEW_SESSION_TICKET:
                self.tickets += 1
            else:
                assert not content, "a KeyUpdate must end its record"
                self.updates.append(body[0])
                self.rx.update()

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
