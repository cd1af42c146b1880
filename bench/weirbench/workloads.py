"""What is measured: one line per workload, and the ratio demanded of weir.

A target is the most that weir's server CPU time per request may be, as a share of the best peer's
(or of the peer named in `against`). Workloads without a target are shown for what they are.
"""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB

# The files of the site, by name. Their content is noise from a fixed seed: nothing compresses it.
FILES = {
    "6b.bin": 6,
    "1k.bin": 1 * KIB,
    "10k.bin": 10 * KIB,
    "100k.bin": 100 * KIB,
    "100m.bin": 100 * MIB,
}

# protocol: (over TLS, what curl reports as the version of HTTP, words for the report)
PROTOCOLS = {
    "h2c": (False, "2", "HTTP/2, cleartext"),
    "h2": (True, "2", "HTTP/2 over TLS 1.3"),
    "h1": (False, "1.1", "HTTP/1.1, cleartext"),
    "h1s": (True, "1.1", "HTTP/1.1 over TLS 1.3"),
}


@dataclass(frozen=True)
class Workload:
    name: str
    protocol: str  # a key of PROTOCOLS
    file: str  # a key of FILES
    connections: int
    streams: int = 1  # requests in flight per connection
    client: str = "h2load"  # a key of clients.CLIENTS
    connects: int = 0  # not 0: so many connections of one request each, a fixed number
    target: float | None = None  # most that weir may cost, relative to the peer
    against: str | None = None  # that peer's name; None: the best one

    @property
    def tls(self):
        return PROTOCOLS[self.protocol][0]

    @property
    def transport(self):
        return "tls" if self.tls else "clear"

    @property
    def size(self):
        return FILES[self.file]

    @property
    def in_flight(self):
        return self.connections * self.streams

    @property
    def unit(self):
        return "connection" if self.connects else "request"


def _many(protocol, file, **more):
    size = file.partition(".")[0]
    shape = {"connections": 10, "streams": 32} | more
    return Workload(name=f"{protocol}-{size}", protocol=protocol, file=file, **shape)


def _few(protocol, file, **more):
    return _many(protocol, file, connections=2, streams=2, **more)


def _wrk(protocol, file, **more):
    return _many(protocol, file, connections=50, streams=1, client="wrk", **more)


WORKLOADS = (
    _many("h2c", "6b.bin", target=0.75),
    _many("h2c", "1k.bin", target=0.75),
    _many("h2c", "10k.bin", target=0.65),
    _many("h2c", "100k.bin"),
    _few("h2c", "100m.bin", target=0.65),
    _many("h2", "6b.bin", target=0.75),
    _many("h2", "1k.bin", target=0.75),
    _many("h2", "10k.bin", target=0.70),
    _many("h2", "100k.bin", target=0.50),
    _few("h2", "100m.bin", target=0.50),
    Workload("h2-full", "h2", "6b.bin", connections=2000, connects=2000,
             target=1.10, against="nginx"),
    Workload("h2-resumed", "h2", "6b.bin", connections=8, connects=2000, client="resume",
             target=1.00, against="nginx"),
    _wrk("h1", "1k.bin"),
    _wrk("h1", "10k.bin"),
)
