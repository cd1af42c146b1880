"""Who takes part, and how each is started and stopped.

A peer is a binary and templates in bench/peers: NAME.tuned.conf, a configuration file, or
NAME.tuned.args, a line of arguments for each kind of listener; and NAME.stock.*, which is what the
package comes with. weir is one more of the second kind.
"""

import hashlib
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field, replace

from . import clients, process, site as sites

PEERS_DIR = pathlib.Path(__file__).resolve().parent.parent / "peers"
START_S = 10.0
STOP_S = 5.0
PORT_NAMES = ("H1", "H2C", "CLEAR", "TLS")

EVERYTHING = frozenset({"h1", "h1s", "h2c", "h2"})


class CannotStart(Exception):
    """The server did not come up; the message has its last words."""


@dataclass(frozen=True)
class Recipe:
    """How a kind of server is run; {binary}, {config}, {prefix} and {args} are filled in."""

    program: str
    command: str
    version: str  # argument that prints the version
    protocols: frozenset = EVERYTHING
    group: str = clients.GROUP  # of the key exchange
    lacks: frozenset = frozenset()  # bodies that it cannot answer with
    codings: frozenset = frozenset()  # for which it sends a compressed sibling of a file
    clear_ports: dict = field(default_factory=dict)  # where cleartext protocols need own ports

    def port_name(self, protocol):
        if protocol in ("h2", "h1s"):
            return "TLS"
        return self.clear_ports.get(protocol, "CLEAR")


RECIPES = {
    "nginx": Recipe("nginx", "{binary} -c {config} -p {prefix}/", "-v",
                    codings=frozenset({"gzip"}), clear_ports={"h1": "H1", "h2c": "H2C"}),
    "h2o": Recipe("h2o", "{binary} -c {config}", "--version",
                  codings=frozenset({"gzip", "br"})),
    "lighttpd": Recipe("lighttpd", "{binary} -D -f {config}", "-v"),
    # Why P-256: nghttpd 1.52 knows no other group, and has no option for it.
    "nghttpd": Recipe("nghttpd", "{binary} {args}", "--version",
                      protocols=frozenset({"h2c", "h2"}), group="P-256",
                      lacks=frozenset({"range"})),
    "weir": Recipe("weir", "{binary} {args}", "--version", codings=frozenset({"gzip", "br"})),
}
PEERS = ("nginx", "h2o", "lighttpd", "nghttpd")


@dataclass(frozen=True)
class Server:
    name: str  # as the report shows it
    kind: str  # a key of RECIPES
    wanted: str  # the program's name or path
    binary: str | None  # where it is; None: not on this machine
    extra: tuple = ()  # arguments put before the template's
    style: str = "tuned"  # or stock: which of the templates
    only: bool = False  # takes part where a workload names it among its variants, nowhere else

    @property
    def recipe(self):
        return RECIPES[self.kind]

    @property
    def file_name(self):
        return self.name.replace("/", "_").replace(":", "-")

    @property
    def is_weir(self):
        return self.kind == "weir"

    @property
    def is_stock(self):
        return self.style == "stock"

    def takes_part(self, workload):
        if self.is_stock:
            return workload.stock or not self.only
        return not self.only or self.name.partition(":")[2] in workload.variants

    def why_not(self, workload):
        """Why this server cannot take part, or None."""
        if self.binary is None:
            return "missing"
        coding = workload.content.coding
        if workload.protocol not in self.recipe.protocols or workload.body in self.recipe.lacks:
            return "not offered"
        if coding and (coding not in self.recipe.codings or self.is_stock):
            return "not offered"
        if self.is_stock and workload.connections > 200:
            return "not offered"  # more connections than it is configured for
        return None

    def template(self):
        return next(PEERS_DIR.glob(f"{self.kind}.{self.style}.*"))

    def accepts(self, prefix):
        """Whether a weir of this build takes these arguments at all."""
        if self.binary is None:
            return False
        done = subprocess.run([self.binary, "--check", *self.extra, str(prefix)],
                              capture_output=True, check=False, timeout=10)
        return done.returncode == 0

    def version(self):
        if self.binary is None:
            return None
        try:
            done = subprocess.run([self.binary, self.recipe.version], capture_output=True,
                                  text=True, check=False, timeout=10)
        except (OSError, subprocess.TimeoutExpired) as e:
            return f"unknown ({e})"
        said = (done.stdout + done.stderr).strip()
        version = said.splitlines()[0] if said else "unknown"
        if not self.is_weir:
            return version
        digest = hashlib.sha256(pathlib.Path(self.binary).read_bytes()).hexdigest()
        return f"{version} (program's SHA-256 {digest[:16]})"  # builds of one version differ

    def snapshot(self, folder):
        """This server run from a copy of its program: one that is rebuilt during a run stays the same."""
        if self.binary is None or not self.is_weir:
            return self
        copy = folder / f"{self.file_name}.program"
        shutil.copy2(self.binary, copy)
        return replace(self, binary=str(copy))

    def start(self, site, workload, place):
        return Running(self, site, workload, place)


class Running:
    """A server that is up and listens. Use with `with`: nothing of it is left running."""

    def __init__(self, server, site, workload, place):
        self.server = server
        self.ports = sites.free_ports(PORT_NAMES)
        self.port = self.ports[server.recipe.port_name(workload.protocol)]
        self.url = self.url_of(workload)
        self.output = site.prefix / f"{server.file_name}.out"
        self.command, self.config = self._prepare(site, workload)
        # A server must not outlive us, not even when we are killed.
        guard = ["setpriv", "--pdeathsig", "TERM", *place]
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen(guard + self.command, cwd=site.prefix,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            self._wait_until_it_listens()
        except BaseException:
            self.stop()
            raise

    def _prepare(self, site, workload):
        """(argv, text of the configuration) with all words filled in."""
        template = self.server.template()
        text = site.fill(template.read_text(encoding="utf-8"), self.ports)
        args = []
        config = site.prefix / f"{self.server.file_name}.conf"
        if template.suffix == ".args":
            lines = dict(line.split(":", 1) for line in text.splitlines()
                         if line and not line.startswith("#"))
            args = [*self.server.extra, *shlex.split(lines[workload.transport])]
        else:
            config.write_text(text, encoding="utf-8")
        argv = []
        for word in self.server.recipe.command.split():
            if word == "{args}":
                argv += args
            else:
                argv.append(word.format(binary=self.server.binary, config=config,
                                        prefix=site.prefix))
        return argv, text

    def _wait_until_it_listens(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            if not self.alive():
                raise CannotStart(f"ended with {self.process.returncode}: {self.last_words()}")
            if listens(self.port):
                return
            time.sleep(0.02)
        raise CannotStart(f"does not listen after {START_S:.0f} s: {self.last_words()}")

    def url_of(self, workload, port=None):
        scheme = "https" if workload.tls else "http"
        return f"{scheme}://127.0.0.1:{port or self.port}{workload.content.paths[0]}"

    def alive(self):
        return self.process.poll() is None

    def last_words(self):
        said = self.output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return " | ".join(said[-3:]) or "(silent)"

    def pids(self):
        return process.tree(self.process.pid)

    def stop(self):
        pids = self.pids()
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def listens(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def find_binary(name):
    """Debian keeps servers in sbin, which is not on everyone's PATH."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin:/sbin"
    return shutil.which(name, path=path)


def has_stock(name):
    return any(PEERS_DIR.glob(f"{name}.stock.*"))


def peer(name, binary=None, style="tuned", only=False):
    wanted = binary or RECIPES[name].program
    shown = name if style == "tuned" else f"{name}:{style}"
    return Server(shown, name, wanted, find_binary(wanted), style=style, only=only)


def weir(path, name="weir", extra=(), only=False):
    path = pathlib.Path(path)
    usable = path.is_file() and os.access(path, os.X_OK)
    return Server(name, "weir", str(path), str(path.resolve()) if usable else None, tuple(extra),
                  only=only)


def weir_variant(spec, default_path):
    """NAME=ARGS, where a first word with a slash in it is another binary."""
    name, equals, words = spec.partition("=")
    if not name or not equals:
        raise ValueError(f"not NAME=ARGS: {spec}")
    args = shlex.split(words)
    path = args.pop(0) if args and "/" in args[0] and not args[0].startswith("-") else default_path
    return weir(path, f"weir:{name}", args)


# What a workload means by the names of its variants.
VARIANTS = {
    "copy": ("--output", "copy"),
    "copy-cached": ("--output", "copy-cached"),
    "openssl": ("--aead", "openssl"),
    "ipsec-mb": ("--aead", "ipsec-mb"),
    "vaes": ("--aead", "vaes"),
    "epoll": ("--io", "epoll"),
    "uring": ("--io", "uring"),
}


def weir_variants(path, bench_path, everywhere=()):
    """Those that only workloads which name them have, but for those that are wanted everywhere."""
    return [weir(bench_path if "--output" in extra else path, f"weir:{name}", extra,
                 only=name not in everywhere)
            for name, extra in VARIANTS.items()]
