"""HTTP/2 frames as bytes (RFC 9113 4.1, 6; RFC 9218 7.1): built without any check, because the
tests need the wrong ones as much as the right ones."""

import enum
import struct
from typing import NamedTuple

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_LEN = 9
MAX_WINDOW = 2**31 - 1
DEFAULT_WINDOW = 65535
MAX_FRAME = 16384


class Type(enum.IntEnum):
    DATA = 0x0
    HEADERS = 0x1
    PRIORITY = 0x2
    RST_STREAM = 0x3
    SETTINGS = 0x4
    PUSH_PROMISE = 0x5
    PING = 0x6
    GOAWAY = 0x7
    WINDOW_UPDATE = 0x8
    CONTINUATION = 0x9
    PRIORITY_UPDATE = 0x10


class Flag:
    NONE = 0x0
    ACK = 0x1
    END_STREAM = 0x1
    END_HEADERS = 0x4
    PADDED = 0x8
    PRIORITY = 0x20


class Error(enum.IntEnum):
    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB


class Setting(enum.IntEnum):
    HEADER_TABLE_SIZE = 0x1
    ENABLE_PUSH = 0x2
    MAX_CONCURRENT_STREAMS = 0x3
    INITIAL_WINDOW_SIZE = 0x4
    MAX_FRAME_SIZE = 0x5
    MAX_HEADER_LIST_SIZE = 0x6
    ENABLE_CONNECT_PROTOCOL = 0x8
    NO_RFC7540_PRIORITIES = 0x9


class Frame(NamedTuple):
    type: int
    flags: int
    stream: int
    payload: bytes

    @property
    def ends_stream(self):
        return self.type in (Type.DATA, Type.HEADERS) and bool(self.flags & Flag.END_STREAM)

    @property
    def error(self):
        """The code of a RST_STREAM or GOAWAY."""
        at = 0 if self.type == Type.RST_STREAM else 4
        return error_of(struct.unpack_from("!I", self.payload, at)[0])

    @property
    def last_stream(self):
        """The last stream id of a GOAWAY."""
        return struct.unpack_from("!I", self.payload)[0] & MAX_WINDOW

    def __str__(self):
        try:
            name = Type(self.type).name
        except ValueError:
            name = f"type {self.type:#x}"
        text = f"{name} stream={self.stream} flags={self.flags:#x} len={len(self.payload)}"
        if self.type == Type.GOAWAY:
            text += f" last={self.last_stream} error={self.error!r} {self.payload[8:]!r}"
        if self.type == Type.RST_STREAM:
            text += f" error={self.error!r}"
        return text


def error_of(code):
    try:
        return Error(code)
    except ValueError:
        return code


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """One frame; `length` lies about the payload's."""
    length = len(payload) if length is None else length
    return struct.pack("!HBBBI", length >> 8, length & 0xFF, kind, flags, stream) + payload


def settings(values=(), ack=False):
    """`values`: a mapping, or pairs where one identifier comes twice."""
    pairs = values.items() if isinstance(values, dict) else values
    payload = b"".join(struct.pack("!HI", key, value) for key, value in pairs)
    return frame(Type.SETTINGS, Flag.ACK if ack else 0, 0, payload)


def ping(payload=b"\0" * 8, ack=False):
    return frame(Type.PING, Flag.ACK if ack else 0, 0, payload)


def window_update(stream, increment):
    return frame(Type.WINDOW_UPDATE, 0, stream, struct.pack("!I", increment))


def rst_stream(stream, error=Error.CANCEL):
    return frame(Type.RST_STREAM, 0, stream, struct.pack("!I", error))


def goaway(last_stream=0, error=Error.NO_ERROR, debug=b""):
    return frame(Type.GOAWAY, 0, 0, struct.pack("!II", last_stream, error) + debug)


def headers(stream, block, end_stream=True, end_headers=True, flags=0):
    flags |= (Flag.END_STREAM if end_stream else 0) | (Flag.END_HEADERS if end_headers else 0)
    return frame(Type.HEADERS, flags, stream, block)


def continuation(stream, block, end_headers=True):
    return frame(Type.CONTINUATION, Flag.END_HEADERS if end_headers else 0, stream, block)


def data(stream, payload=b"", end_stream=False, flags=0):
    return frame(Type.DATA, flags | (Flag.END_STREAM if end_stream else 0), stream, payload)


def priority(stream, depends_on=0, weight=15):
    return frame(Type.PRIORITY, 0, stream, struct.pack("!IB", depends_on, weight))


def priority_update(stream, value):
    return frame(Type.PRIORITY_UPDATE, 0, 0, struct.pack("!I", stream) + value)
