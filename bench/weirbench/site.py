"""What all servers of a run share: the files, the certificate, a temporary prefix, free ports."""

import hashlib
import os
import pathlib
import random
import shutil
import socket
import subprocess
import tempfile

from . import workloads

SEED = 20531  # of the files' content: the same bytes in every run and on every machine
PIECE = 1 << 20


class Site:
    """A directory that lives as long as the `with` block; readable by servers that drop root."""

    def __init__(self, load=None):
        self.load = load  # the program weir-load

    def __enter__(self):
        self.prefix = pathlib.Path(tempfile.mkdtemp(prefix="weirbench-"))
        self.prefix.chmod(0o755)
        self.root = self.prefix / "root"
        self.cert = self.prefix / "cert.pem"
        self.key = self.prefix / "key.pem"
        self.written = set()
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.prefix, ignore_errors=True)

    def write_files(self, bodies):
        """The files that these bodies (names) are made of."""
        self.root.mkdir(exist_ok=True)
        sizes = {}
        for name in bodies:
            sizes |= _files_of(name)
        for name in sorted(set(sizes) - self.written):
            _write_noise(self.root / name, sizes[name])
            self.written.add(name)
        if "many" in bodies and not (self.root / "many").exists():
            _write_many(self.root)

    def paths_file(self, body):
        """The paths of a body, one a line, for clients that read them."""
        path = self.prefix / f"{body}.paths"
        if not path.exists():
            path.write_text("".join(p + "\n" for p in workloads.BODIES[body].paths))
        return path

    def expected(self, body):
        """(length, SHA-256) of the first answer."""
        content = workloads.BODIES[body]
        if content.sizes[0] == 0:
            return 0, hashlib.sha256(b"").hexdigest()
        suffix = {"gzip": ".gz", "br": ".br"}.get(content.coding, "")
        path = self.root / (content.file or content.paths[0][1:] + suffix)
        digest = hashlib.sha256()
        with open(path, "rb") as f:
            f.seek(content.start)
            left = content.sizes[0]
            while left > 0 and (piece := f.read(min(left, PIECE))):
                digest.update(piece)
                left -= len(piece)
        return content.sizes[0], digest.hexdigest()

    def write_certificate(self, under=()):
        """ECDSA on P-256, self-signed: what the figures of all servers stand on."""
        subprocess.run(
            [*under, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", self.key, "-out", self.cert, "-days", "30",
             "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, capture_output=True)
        self.key.chmod(0o644)  # a server may read it after it has dropped root

    def tls_offer(self, suite, group):
        """A configuration of OpenSSL by which a client offers TLS 1.3 with these alone."""
        path = self.prefix / "offer.cnf"
        path.write_text("openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = offer\n"
                        f"[offer]\nMinProtocol = TLSv1.3\nCiphersuites = {suite}\nGroups = {group}\n")
        return path

    def fill(self, template, ports):
        """Put this site's paths and `ports` ({name: number}) in the place of @WORDS@."""
        words = {
            "PREFIX": self.prefix, "ROOT": self.root, "CERT": self.cert, "KEY": self.key,
            "USER_LINE": "user: root" if os.geteuid() == 0 else "# not root: no user to change to",
        }
        words |= {f"PORT_{name}": port for name, port in ports.items()}
        for word, value in words.items():
            template = template.replace(f"@{word}@", str(value))
        return template


def _files_of(body):
    """{name: size}"""
    if body == "many":
        return {}
    if body.startswith("mix"):
        found = {}
        for name, *sizes in workloads.MIX:
            found |= {f"mix/{name}{suffix}": size
                      for suffix, size in zip(("", ".gz", ".br"), sizes) if size}
        return found
    if body in ("gz", "plain"):
        page, size = workloads.PAGE
        return {page: size, page + ".gz": workloads.PAGE_GZ, "plain.js": workloads.PAGE_GZ}
    name = workloads.BODIES[body].file or workloads.BODIES[body].paths[0][1:]
    return {name: workloads.FILES[name]}


def _write_noise(path, size):
    path.parent.mkdir(exist_ok=True)
    rng = random.Random(f"{SEED} {path.name}")
    piece = rng.randbytes(min(size, PIECE))
    with open(path, "wb") as out:
        while size > 0:
            part = piece[:size]
            out.write(part)
            size -= len(part)
    os.utime(path, (workloads.MODIFIED[0],) * 2)


def _write_many(root):
    """Each is its own path, repeated: a wrong one is noticed without a copy of all of them."""
    size = workloads.MANY_SIZE
    for path in workloads.BODIES["many"].paths:
        name = root / path[1:]
        if name.name == "000.txt":
            name.parent.mkdir(parents=True, exist_ok=True)
        line = path.encode() + b"\n"
        name.write_bytes((line * (size // len(line) + 1))[:size])


def free_ports(names):
    """A free loopback port for each name; all are held until the last is known, so none repeats."""
    held = []
    try:
        for _ in names:
            held.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            held[-1].bind(("127.0.0.1", 0))
        return {name: s.getsockname()[1] for name, s in zip(names, held)}
    finally:
        for s in held:
            s.close()
