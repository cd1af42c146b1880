"""What is measured, and what is demanded of weir.

Every protocol is crossed with every body, and small bodies with every number of connections and of
requests in flight on each: `--all`; the small ones alone, briefly: `--sweep`. DEFAULT names those that run
without either. A workload's name says
what it is: h2-1k-c10-m32 asks for the file of 1 KiB on 10 connections with 32 requests in flight on
each; -wrk by wrk, which has one in flight, or 16 (-p16).

DEMANDS holds, by the same names, the most that weir's server CPU time per request may be as a share of
somebody else's.
"""

from dataclasses import dataclass, replace

KIB = 1024
MIB = 1024 * KIB

# Files of the site, by name. Their content is noise from a fixed seed: nothing compresses it.
FILES = {
    "6b.bin": 6,
    "1k.bin": 1 * KIB,
    "10k.bin": 10 * KIB,
    "16k.bin": 16 * KIB,
    "100k.bin": 100 * KIB,
    "1m.bin": 1 * MIB,
    "100m.bin": 100 * MIB,
}

# A page of 20 files, about 1.2 MB: name, size, sizes of its .gz and .br siblings (0: it has none).
MIX = (
    ("index.html", 14_200, 4_100, 3_500), ("about.html", 6_800, 2_300, 1_950),
    ("site.css", 62_000, 12_400, 10_300), ("print.css", 3_100, 1_050, 900),
    ("app.js", 310_000, 96_000, 83_000), ("vendor.js", 182_000, 58_000, 50_500),
    ("chart.js", 74_000, 24_500, 21_800), ("worker.mjs", 18_500, 6_300, 5_600),
    ("boot.js", 1_900, 820, 700), ("data.json", 48_000, 7_900, 6_200),
    ("strings.json", 22_000, 6_900, 5_900), ("icons.svg", 27_000, 8_800, 7_600),
    ("logo.svg", 2_400, 1_100, 960), ("text.woff2", 41_000, 0, 0), ("bold.woff2", 43_000, 0, 0),
    ("hero.avif", 148_000, 0, 0), ("photo.webp", 96_000, 0, 0), ("face.jpg", 52_000, 0, 0),
    ("favicon.ico", 15_100, 0, 0), ("site.webmanifest", 560, 300, 250),
)
# The plain file that a compressed one is compared with has as many bytes as its .gz sibling.
PAGE, PAGE_GZ = ("page.js", 32 * KIB), 10 * KIB

# of every file: seconds since the epoch, and the same as a date of HTTP
MODIFIED = (1735689600, "Wed, 01 Jan 2025 00:00:00 GMT")

MANY, MANY_SIZE = 100_000, 1 * KIB  # files that are their own path, repeated


@dataclass(frozen=True)
class Body:
    paths: tuple  # asked for in turn
    sizes: tuple  # what each answer must have; one for all, where there is one
    file: str = ""  # the file that holds the bytes of the answer, if there is one only
    start: int = 0  # where in it they begin
    status: int = 200
    fields: tuple = ()  # of the request
    coding: str = ""  # content coding that the answer must have


def _file(name, **more):
    return Body(("/" + name,), (FILES[name],), name, **more)


BODIES = {name.partition(".")[0]: _file(name) for name in FILES} | {
    "304": Body(("/1k.bin",), (0,), status=304, fields=("if-modified-since: " + MODIFIED[1],)),
    "range": Body(("/100m.bin",), (16 * KIB,), "100m.bin", 32 * MIB, 206,
                  (f"range: bytes={32 * MIB}-{32 * MIB + 16 * KIB - 1}",)),
    "mix": Body(tuple(f"/mix/{n}" for n, *_ in MIX), tuple(size for _, size, *_ in MIX)),
    "mix-gz": Body(tuple(f"/mix/{n}" for n, *_ in MIX), tuple(gz or size for _, size, gz, _ in MIX),
                   fields=("accept-encoding: gzip",), coding="gzip"),
    "mix-br": Body(tuple(f"/mix/{n}" for n, *_ in MIX), tuple(br or size for _, size, _, br in MIX),
                   fields=("accept-encoding: br",), coding="br"),
    "gz": Body(("/page.js",), (PAGE_GZ,), "page.js.gz", fields=("accept-encoding: gzip",),
               coding="gzip"),
    "plain": Body(("/plain.js",), (PAGE_GZ,), "plain.js"),
    "many": Body(tuple(f"/many/{i // 1000:02}/{i % 1000:03}.txt" for i in range(MANY)),
                 (MANY_SIZE,)),
}

# protocol: (over TLS, what curl reports as the version of HTTP, words for the report)
PROTOCOLS = {
    "h2c": (False, "2", "HTTP/2, cleartext"),
    "h2": (True, "2", "HTTP/2 over TLS 1.3"),
    "h1": (False, "1.1", "HTTP/1.1, cleartext"),
    "h1s": (True, "1.1", "HTTP/1.1 over TLS 1.3"),
}
MANY_CONNECTIONS = 50
SMALL = ("6b", "1k", "10k")
CONNECTIONS = (1, 10, 50, 256, 1000)
STREAMS = (1, 4, 32, 100)


@dataclass(frozen=True)
class Demand:
    """The most that the figure of `subject` may be.

    As a share of: "best", the peer that costs least; a server; "@NAME", the subject itself in that
    workload. "" means that the limit is the figure itself.
    """

    limit: float
    against: str = "best"
    subject: str = "weir"
    metric: str = "cpu_us"  # or syscalls

    @property
    def variants(self):
        """Names of the variants of weir that it is about."""
        named = (who.partition("weir:")[2] for who in (self.subject, self.against))
        return tuple(filter(None, named))


@dataclass(frozen=True)
class Workload:
    name: str
    protocol: str  # a key of PROTOCOLS
    body: str  # a key of BODIES
    connections: int
    streams: int = 1  # requests in flight per connection
    client: str = "h2load"  # a key of clients.CLIENTS
    connects: int = 0  # not 0: so many connections of one request each, a fixed number
    resume: bool = False  # each but the first with the ticket of the one before
    group: str = ""  # those of a group take turns in the same rounds
    variants: tuple = ()  # weirs that take part besides the usual one
    stock: bool = False  # the peers' stock configurations take part

    @property
    def tls(self):
        return PROTOCOLS[self.protocol][0]

    @property
    def transport(self):
        return "tls" if self.tls else "clear"

    @property
    def content(self):
        return BODIES[self.body]

    @property
    def in_flight(self):
        return self.connections * self.streams

    @property
    def unit(self):
        return "connection" if self.connects else "request"

    @property
    def step(self):
        """Amounts are multiples of it: all streams do the same work, all files equally often."""
        if self.client == "wrk":
            return 1
        paths = len(self.content.paths)
        if paths == MANY:
            return MANY  # fewer would be a smaller set of files, which a cache may hold
        return self.in_flight if paths == 1 else self.connections * paths

    def bytes_of(self, requests):
        """Bytes in the bodies of so many answers, a multiple of the step."""
        sizes = self.content.sizes
        return sum(sizes) * requests // len(sizes)

    @property
    def size(self):
        """Bytes of an answer, on average."""
        return self.bytes_of(1)

    @property
    def is_swept(self):
        """A point of the sweep over connections and streams."""
        return (self.body in SMALL and self.client != "wrk" and not self.connects
                and self.connections in CONNECTIONS and self.streams in STREAMS)

    @property
    def demands(self):
        """Those about servers that take part."""
        return tuple(d for d in DEMANDS.get(self.name, ()) if set(d.variants) <= set(self.variants))


def shaped(protocol, body, connections, streams, **more):
    """Many connections by weir-load: with h2load the handshakes would be what is measured."""
    if connections >= MANY_CONNECTIONS:
        more.setdefault("client", "load")
    return Workload(f"{protocol}-{body}-c{connections}-m{streams}", protocol, body, connections,
                    streams, **more)


def by_wrk(protocol, body, deep=1, **more):
    tail = f"-p{deep}" if deep > 1 else ""
    return Workload(f"{protocol}-{body}-wrk-c50{tail}", protocol, body, 50, deep, "wrk", **more)


BACK_ENDS = ("epoll", "uring")
WAYS = ("copy", "copy-cached", "openssl", "ipsec-mb", "vaes")  # of output and encryption, where the build has them

SPECIAL = (
    shaped("h2c", "304", 10, 32, group="304"),
    shaped("h2c", "1k", 10, 32, group="304"),
    shaped("h2c", "range", 10, 32, group="range"),
    shaped("h2c", "16k", 10, 32, group="range"),
    shaped("h2c", "gz", 10, 32, group="gz"),
    shaped("h2c", "plain", 10, 32, group="gz"),
    shaped("h2c", "many", 10, 32, client="load"),
    shaped("h2", "1k", 10, 32, variants=WAYS, stock=True),
    shaped("h2", "100k", 10, 32, variants=WAYS),
    shaped("h2", "mix-gz", 10, 32),
    shaped("h2c", "1k", 50, 1, variants=BACK_ENDS),
    shaped("h2", "1k", 50, 1, variants=BACK_ENDS),
    shaped("h2c", "1k", 400, 4, variants=BACK_ENDS),
    shaped("h2", "1k", 400, 4, variants=BACK_ENDS),
    Workload("h2-full", "h2", "6b", 2000, connects=2000),
    Workload("h2-resumed", "h2", "6b", 8, client="load", connects=2000, resume=True),
    by_wrk("h1", "1k", variants=BACK_ENDS),
    by_wrk("h1", "10k"),
    by_wrk("h1", "1k", 16),
    by_wrk("h1s", "1k"),
)


def _crossed():
    """What no line above says already."""
    found = {w.name: w for w in SPECIAL}
    for protocol in PROTOCOLS:
        for body in SMALL:
            for connections in CONNECTIONS:
                for streams in STREAMS:
                    w = shaped(protocol, body, connections, streams)
                    found.setdefault(w.name, w)
        for body, connections, streams in (("100k", 10, 32), ("1m", 10, 4), ("100m", 2, 2),
                                           ("mix", 10, 32), ("mix-gz", 10, 32), ("mix-br", 10, 32)):
            if protocol.startswith("h1"):
                streams = 1
            w = shaped(protocol, body, connections, streams)
            found.setdefault(w.name, w)
    order = list(PROTOCOLS)
    return tuple(sorted(found.values(), key=lambda w: (w.group == "", order.index(w.protocol))))


WORKLOADS = _crossed()

# What the earlier work on weir set out to reach.
DEMANDS = {
    **{f"h2c-{b}-{shape}": (Demand(0.75),) for b in ("6b", "1k") for shape in
       ("c10-m32", "c256-m100")},
    "h2c-10k-c10-m32": (Demand(0.65),),
    "h2c-10k-c256-m100": (Demand(0.75),),
    "h2c-100m-c2-m2": (Demand(0.65),),
    **{f"h2-{b}-{shape}": (Demand(0.75),) for b in SMALL for shape in ("c10-m32", "c256-m100")},
    "h2-10k-c10-m32": (Demand(0.70),),
    "h2-1k-c10-m32": (Demand(0.75), Demand(0.68, "weir:copy")),
    "h2-100k-c10-m32": (Demand(0.50), Demand(0.50, "weir:copy")),
    "h2-100m-c2-m2": (Demand(0.50),),
    "h2-full": (Demand(1.10, "nginx"),),
    "h2-resumed": (Demand(1.00, "nginx"),),
    "h2c-304-c10-m32": (Demand(0.90, "@h2c-1k-c10-m32"),),
    "h2c-range-c10-m32": (Demand(1.20, "@h2c-16k-c10-m32"),),
    "h2c-gz-c10-m32": (Demand(1.10, "@h2c-plain-c10-m32"),),
    "h2c-many-c10-m32": (Demand(0.80),),
    "h1-1k-wrk-c50": (Demand(0.85), Demand(0.95, "weir:epoll", "weir:uring")),
    "h1-10k-wrk-c50": (Demand(0.80),),
    "h1-1k-wrk-c50-p16": (Demand(0.60),),
    "h1s-1k-wrk-c50": (Demand(0.85),),
    **{name: (Demand(0.95, "weir:epoll", "weir:uring"),
              *((Demand(0.30, "", "weir:uring", "syscalls"),) if name.endswith("c50-m1") else ()))
       for name in ("h2c-1k-c50-m1", "h2-1k-c50-m1", "h2c-1k-c400-m4", "h2-1k-c400-m4")},
}
DEFAULT = tuple(w for w in WORKLOADS if w.name in DEMANDS or w in SPECIAL)
SWEEP = tuple(replace(w, group="", variants=(), stock=False) for w in WORKLOADS if w.is_swept)


def is_default(workload):
    return workload.name in DEMANDS or workload.name in (w.name for w in SPECIAL)


# Constant rate: closed loops hide stalls. (protocol, body, connections, most in flight on each)
OPEN_LOOP = (("h2c", "1k", 10, 100), ("h2", "1k", 10, 100))
OPEN_SHARES = (0.5, 0.8)  # of the peer's peak

# Idle connections: (protocol, requests that each was answered before, at once)
IDLE = {"h1": ("h1", 1), "h2c": ("h2c", 1), "h2c-burst": ("h2c", 32),
        "h1s": ("h1s", 1), "h2": ("h2", 1), "h2-burst": ("h2", 32)}
IDLE_CONNECTIONS = 2000

# Not measured, and why: said in the report.
NOT_YET = {
    "POST of 1 MiB": "weir takes no uploads yet, and the peers have nowhere to put one",
    "logging on": "weir writes no access log yet",
}
