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

# For a client that takes no options: the same suite and group that h2load is told to offer.
OPENSSL_CONF = """\
openssl_conf = top
[top]
ssl_conf = tls
[tls]
system_default = client
[client]
MinProtocol = TLSv1.3
Ciphersuites = {suite}
Groups = {group}
"""


class Site:
    """A directory that lives as long as the `with` block; readable by servers that drop root."""

    def __enter__(self):
        self.prefix = pathlib.Path(tempfile.mkdtemp(prefix="weirbench-"))
        self.prefix.chmod(0o755)
        self.root = self.prefix / "root"
        self.cert = self.prefix / "cert.pem"
        self.key = self.prefix / "key.pem"
        self.hashes = {}
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.prefix, ignore_errors=True)

    def write_files(self, names):
        self.root.mkdir(exist_ok=True)
        for name in sorted(set(names) - set(self.hashes)):
            self.hashes[name] = _write_noise(self.root / name, workloads.FILES[name])

    def write_certificate(self):
        """ECDSA on P-256, self-signed: what the figures of all servers stand on."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", self.key, "-out", self.cert, "-days", "30",
             "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, capture_output=True)
        self.key.chmod(0o644)  # a server may read it after it has dropped root

    def openssl_conf(self, suite, group):
        path = self.prefix / f"client-{group}.cnf"
        path.write_text(OPENSSL_CONF.format(suite=suite, group=group))
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


def _write_noise(path, size):
    rng = random.Random(SEED + size)
    piece = rng.randbytes(min(size, PIECE))
    digest = hashlib.sha256()
    with open(path, "wb") as out:
        while size > 0:
            part = piece[:size]
            out.write(part)
            digest.update(part)
            size -= len(part)
    return digest.hexdigest()


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
