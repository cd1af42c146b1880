"""Certificates, and command line clients that are talked with while they run."""

import contextlib
import datetime
import os
import pathlib
import select
import subprocess
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from .wire import PATIENCE


def has_vaes():
    """Can this processor do AES and carry-less multiplication on 256-bit registers?"""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii")
    except OSError:
        return False
    return {"avx2", "vaes", "vpclmulqdq"} <= set(text.split())


class Certificate:
    """A certificate for localhost and its key; signed by `issuer`, or by itself."""

    def __init__(self, key=None, issuer=None, name="localhost", is_authority=False):
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.utcnow()
        builder = (x509.CertificateBuilder().subject_name(subject)
                   .issuer_name(issuer.certificate.subject if issuer else subject)
                   .public_key(self.key.public_key()).serial_number(x509.random_serial_number())
                   .not_valid_before(now - datetime.timedelta(days=1))
                   .not_valid_after(now + datetime.timedelta(days=1))
                   .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
                   .add_extension(x509.BasicConstraints(is_authority or issuer is None, None),
                                  True))
        self.certificate = builder.sign((issuer or self).key, hashes.SHA256())

    @property
    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self):
        return self.key.private_bytes(serialization.Encoding.PEM,
                                      serialization.PrivateFormat.PKCS8,
                                      serialization.NoEncryption())


def rsa_key():
    return rsa.generate_private_key(65537, 2048)


class Talk:
    """A program that is told something when it has said something, not after a while."""

    def __init__(self, *command):
        self.said = b""
        self._seen = 0
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def wait(self, mark):
        """Until it says `mark`, behind what was waited for before."""
        deadline = time.monotonic() + PATIENCE
        while (at := self.said.find(mark, self._seen)) < 0:
            out = self.process.stdout
            ready = select.select([out], [], [], max(0, deadline - time.monotonic()))[0]
            more = os.read(out.fileno(), 65536) if ready else b""
            assert more, f"{mark!r} never came: {self.said[-4000:].decode(errors='replace')}"
            self.said += more
        self._seen = at + len(mark)
        return self

    def tell(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()
        return self

    def end(self):
        """Close its input and let it end; returns all that it said."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        while more := os.read(self.process.stdout.fileno(), 65536):
            self.said += more
        self.process.stdout.close()
        self.process.wait(PATIENCE)
        return self.said.decode(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def s_client(server, *options):
    return Talk("openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", *options)
