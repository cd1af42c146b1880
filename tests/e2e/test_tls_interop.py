"""Clients that others wrote, over TLS: they agree with the server on what is said."""

import email.utils
import hashlib
import json
import re
import shutil
import ssl
import subprocess
import time

import pytest

from harness import frames, tls_tools, tools
from harness import server as servers
from harness import transport as transports
from harness.peer import Peer
from harness.tls_tools import Certificate, s_client
from harness.tree import BIG_LEN, content
from harness.wire import Wire

REQUEST = b"GET /small.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
SUITES = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
ENGINES = ["openssl", "ipsec-mb"] + (["vaes"] if tls_tools.has_vaes() else [])


@pytest.fixture
def transport():
    return transports.BY_NAME["tls"]


@pytest.fixture(scope="session")
def big_hash():
    return hashlib.sha256(content(BIG_LEN)).hexdigest()


# ---- curl, nghttp, h2load ----


def test_curl_speaks_http2(server, tree):
    for name in ("small.txt", "large.bin"):
        answer = tools.curl(server, f"/{name}")
        assert (answer.protocol, answer.status, answer.body) == ("HTTP/2", 200, tree.files[name])


def test_curl_speaks_http1(server, tree):
    for options in (["--http1.1"], ["--no-alpn"]):
        answer = tools.curl(server, "/large.bin", *options)
        assert (answer.protocol, answer.body) == ("HTTP/1.1", tree.files["large.bin"])


@pytest.mark.parametrize("options", [[], ["--http1.1"]], ids=["h2", "http1"])
def test_curl_gets_100_mib(server, big_hash, options):
    with subprocess.Popen(["curl", "-sS", "--insecure", *options, server.url("/big.bin")],
                          stdout=subprocess.PIPE) as curl:
        digest = hashlib.file_digest(curl.stdout, "sha256")
    assert (curl.returncode, digest.hexdigest()) == (0, big_hash)
    server.stop()
    last = 1 if options else 0  # over HTTP/1.1 it is copied, once the others have left
    assert server.stats["body"] == {"mapped": BIG_LEN - last, "pooled": 0, "copied": last}


def test_curl_at_a_slow_pace(server, tree):
    answer = tools.curl(server, "/large.bin", "--limit-rate", "4M")
    assert answer.body == tree.files["large.bin"]


def test_nghttp(server, tree):
    names = ["small.txt", "large.bin", "one.bin"]
    assert tools.nghttp(server, *(f"/{name}" for name in names)) == \
        b"".join(tree.files[name] for name in names)


@pytest.mark.parametrize("options", [(), ("--h1",)], ids=["h2", "http1"])
def test_h2load(start, tree, options):
    server = start(tree.root, workers=2)
    load = tools.h2load(server, "/small.txt", "/large.bin", requests=400, clients=20,
                        options=options)

    assert (load.succeeded, load.failed, load.errored) == (400, 0, 0)
    assert "TLSv1.3" in load.text


# ---- openssl s_client ----


@pytest.mark.row("T16")
@pytest.mark.parametrize("options, said", [
    (["-alpn", "h2"], "ALPN protocol: h2"), (["-alpn", "http/1.1"], "ALPN protocol: http/1.1"),
    (["-alpn", "http/1.1,h2"], "ALPN protocol: h2"), ([], "No ALPN negotiated")])
def test_s_client_and_the_protocol(server, options, said):
    with s_client(server, *options) as client:
        client.wait(b"Verify return code")
        assert said in client.end()


@pytest.mark.parametrize("suite", SUITES)
def test_s_client_and_each_suite(server, tree, suite):
    with s_client(server, "-ciphersuites", suite) as client:
        client.wait(f"Cipher is {suite}".encode()).tell(REQUEST).wait(tree.files["small.txt"])


@pytest.mark.parametrize("group, said", [
    ("X25519", b"X25519"), ("P-256", b"prime256v1"), ("P-384", b"secp384r1")])
@pytest.mark.parametrize("more", ["", ":X448"], ids=["alone", "with another"])
def test_s_client_and_each_group(server, tree, group, said, more):
    with s_client(server, "-groups", group + more) as client:
        client.wait(said).wait(b"Verify return").tell(REQUEST).wait(tree.files["small.txt"])


def test_s_client_is_asked_for_another_group(server, tree):
    """Its first guess is one that the server does not have: HelloRetryRequest."""
    with s_client(server, "-groups", "X448:P-256", "-msg") as client:
        client.wait(b"prime256v1").wait(b"Verify return").tell(REQUEST)
        client.wait(tree.files["small.txt"])
        assert client.end().count(", ClientHello") == 2


@pytest.mark.row("T16")
@pytest.mark.row("T18")
@pytest.mark.parametrize("options, alert", [
    (["-tls1_2"], "tlsv1 alert protocol version"),
    (["-alpn", "ftp"], "tlsv1 alert no application protocol"),
    (["-groups", "X448"], "handshake failure"),
])
def test_s_client_gets_the_alert(server, options, alert):
    with s_client(server, *options) as client:
        assert alert in client.end()
    server.stop()
    assert server.stats["tls"] | {"handshakes": 0, "handshake_faults": 1} == server.stats["tls"]


def test_s_client_changes_keys(server, tree):
    """K asks for a KeyUpdate in return, k does not."""
    with s_client(server, "-msg") as client:
        client.wait(b"Verify return")
        for key in (b"K", b"k", b"k", b"K"):
            client.tell(key + b"\n").wait(b"KEYUPDATE")
        client.tell(REQUEST).wait(tree.files["small.txt"])
        said = client.end()
    assert said.count("<<< TLS 1.3, Handshake [length 0005], KeyUpdate") in (1, 2)
    server.stop()
    assert server.stats["tls"]["key_updates"] >= 4


def test_s_client_with_short_records(server, tree):
    """RFC 6066 4: a client may ask for records of 512 bytes."""
    with s_client(server, "-maxfraglen", "512", "-msg", "-quiet") as client:
        client.tell(REQUEST.replace(b"small.txt", b"page.bin"))
        said = client.wait(b"Alert").end()
    lengths = [int.from_bytes(bytes.fromhex(head), "big") for head in re.findall(
        r"<<< .*RecordHeader.*\n +17 03 03 (.. ..)", said)]
    assert lengths and max(lengths) <= 512 + 1 + 16


def test_short_records_carry_a_long_body(server, tree):
    """Their overhead is beyond what is set aside for full ones: output stops and goes on."""
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-maxfraglen", "512",
         "-quiet", "-ign_eof"], input=REQUEST.replace(b"small.txt", b"large.bin"),
        capture_output=True, timeout=60, check=False)
    assert done.stdout.endswith(tree.files["large.bin"])


# ---- tickets ----


def first_visit(server, session, *options):
    with s_client(server, "-sess_out", session, *options) as client:
        client.wait(b"Verify return").tell(REQUEST).wait(b"New Session Ticket")
        said = client.wait(b"read R BLOCK").end()
    assert "\nNew, TLSv1.3" in said
    return said


def is_resumed(server, tree, session, *options):
    with s_client(server, "-sess_in", session, *options) as client:
        client.wait(b"Verify return").tell(REQUEST).wait(tree.files["small.txt"])
        said = client.end()
    assert ("\nReused, TLSv1.3" in said) != ("\nNew, TLSv1.3" in said)
    return "\nReused, TLSv1.3" in said


@pytest.mark.row("T15")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("suite", SUITES)
def test_tickets_are_taken_by_every_worker(start, tree, tmp_path, suite, engine):
    server = start(tree.root, "--aead", engine, workers=2)
    session = tmp_path / "session"
    said = first_visit(server, session, "-ciphersuites", suite)
    assert re.findall(r"Max Early Data: (\d+)", said) == ["0"] * said.count("Max Early Data")

    assert all(is_resumed(server, tree, session, "-ciphersuites", suite) for _ in range(8))
    server.stop()
    assert server.stats["tls"]["resumed"] == 8


def test_a_ticket_may_be_used_with_another_protocol(server, tree, tmp_path):
    session = tmp_path / "session"
    first_visit(server, session, "-alpn", "http/1.1")

    assert is_resumed(server, tree, session)


@pytest.mark.row("T15")
def test_a_ticket_for_another_name_means_a_full_handshake(server, tree, tmp_path):
    session = tmp_path / "session"
    first_visit(server, session, "-servername", "a.example")

    assert not is_resumed(server, tree, session, "-servername", "b.example")
    assert not is_resumed(server, tree, session, "-noservername")
    assert is_resumed(server, tree, session, "-servername", "a.example")
    server.stop()
    assert server.stats["tls"] | {"handshakes": 4, "resumed": 1} == server.stats["tls"]


@pytest.mark.row("T15")
def test_a_ticket_of_another_server_is_not_taken(start, tree, tmp_path):
    session = tmp_path / "session"
    first_visit(start(tree.root), session)

    assert not is_resumed(start(tree.root), tree, session)


def test_python_resumes(server):
    context = transports.tls_context(["http/1.1"])
    with context.wrap_socket(transports.open_tcp(server.port)) as sock:
        sock.sendall(REQUEST)
        while sock.recv(65536):
            pass
        session = sock.session
    with context.wrap_socket(transports.open_tcp(server.port), session=session) as sock:
        assert sock.session_reused
        sock.sendall(REQUEST)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


class Visits:
    """Connections to a server whose ticket keys change each second, which its date field shows."""

    def __init__(self, server):
        self.server = server
        self.context = transports.tls_context(["http/1.1"])

    def __call__(self, session=None):
        """One request; gives whether it resumed, the second of the answer, and a ticket."""
        with self.context.wrap_socket(transports.open_tcp(self.server.port),
                                      session=session) as sock:
            sock.sendall(REQUEST)
            said = b"".join(iter(lambda: sock.recv(65536), b""))
            date = re.search(rb"\r\ndate: ([^\r]+)", said, re.IGNORECASE)[1].decode()
            at = int(email.utils.parsedate_to_datetime(date).timestamp())
            return sock.session_reused, at, sock.session

    def ticket(self):
        """A ticket, and the second that it was surely made in; None if one was just over."""
        _, before, _ = self()
        _, after, session = self()
        return (session, after) if before == after else None

    def in_second(self, second, session):
        """How visits with a ticket go in that second; None if it was over too soon."""
        while (now := self()[1]) < second:
            time.sleep(0.02)
        found = [self(session)[0] for _ in range(8)]
        return found if now == second == self()[1] else None


@pytest.mark.row("T15")
def test_a_ticket_outlives_one_change_of_keys_and_not_two(start, tree):
    """Whichever worker it comes to.  A machine that stalls in the wrong second tries again."""
    visits = Visits(start(tree.root, "--ticket-period", "1", workers=2))
    for _ in range(20):
        if (made := visits.ticket()) is None:
            continue
        session, second = made
        later = visits.in_second(second + 1, session)
        too_late = visits.in_second(second + 2, session)
        if later is not None and too_late is not None:
            assert (later, too_late) == ([True] * 8, [False] * 8)
            return
    pytest.fail("no two seconds were long enough for ten connections")


# ---- GnuTLS ----


def test_gnutls(server, tree):
    with tls_tools.Talk("gnutls-cli", "--insecure", "--inline-commands", "--alpn=http/1.1",
                        "-p", server.port, "127.0.0.1") as client:
        client.wait(b"Simple Client Mode").tell(b"^rekey^\n").tell(REQUEST)
        said = client.wait(tree.files["small.txt"]).end()
    assert "- Description: (TLS1.3-X.509)" in said
    assert "- Application protocol: http/1.1" in said
    server.stop()
    assert server.stats["tls"]["key_updates"] > 0


def test_gnutls_resumes(server):
    with tls_tools.Talk("gnutls-cli", "--insecure", "--resume", "--waitresumption",
                        "-p", server.port, "127.0.0.1") as client:
        client.wait(b"This is a resumed session")
        client.end()
    server.stop()
    assert server.stats["tls"]["resumed"] == 1


# ---- node ----

NODE_HTTP2 = """
const http2 = require('http2'), crypto = require('crypto');
const [url, ...paths] = process.argv.slice(1);
const session = http2.connect(url, {rejectUnauthorized: false});
const out = {};
let left = paths.length;
for (const path of paths) {
    const hash = crypto.createHash('sha256');
    const stream = session.request({':path': path});
    stream.on('response', fields => { out[path] = {status: fields[':status']}; });
    stream.on('data', bytes => hash.update(bytes));
    stream.on('end', () => {
        out[path].hash = hash.digest('hex');
        if (--left === 0) {
            out.protocol = session.socket.getProtocol() + ' ' + session.alpnProtocol;
            session.close(() => console.log(JSON.stringify(out)));
        }
    });
}
"""

NODE_TLS = """
const tls = require('tls');
const [port, alpn] = process.argv.slice(1);
let said = '', session;
function visit(again) {
    const options = {host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: [alpn]};
    const socket = tls.connect({...options, session: again && session}, () => {
        said += `${socket.getProtocol()} ${socket.alpnProtocol} ${socket.isSessionReused()}\\n`;
        socket.write('GET /one.bin HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n');
    });
    socket.on('session', ticket => { session = ticket; });
    socket.on('error', error => { said += error.code + '\\n'; console.log(said); });
    socket.resume();
    socket.on('end', () => again ? console.log(said) : visit(true));
}
visit(false);
"""


def test_node_http2(server, tree, big_hash):
    out = json.loads(tools.run("node", "-e", NODE_HTTP2, server.url(), "/small.txt", "/big.bin",
                               "/large.bin"))

    assert out.pop("protocol") == "TLSv1.3 h2"
    assert {path: (answer["status"], answer["hash"]) for path, answer in out.items()} == {
        "/big.bin": (200, big_hash),
        "/small.txt": (200, hashlib.sha256(tree.files["small.txt"]).hexdigest()),
        "/large.bin": (200, hashlib.sha256(tree.files["large.bin"]).hexdigest())}


def test_node_tls(server):
    said = tools.run("node", "-e", NODE_TLS, server.port, "http/1.1").decode().split("\n")

    assert said[:2] == ["TLSv1.3 http/1.1 false", "TLSv1.3 http/1.1 true"]


def test_node_is_told_that_no_protocol_fits(server):
    said = tools.run("node", "-e", NODE_TLS, server.port, "ftp").decode()

    assert said.startswith("ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL")


# ---- Chromium ----


def test_chromium_shows_the_welcome_page_over_h2(start, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    root = servers.pathlib.Path(__file__).resolve().parents[2] / "www"
    server = start(root)
    dom = tools.run(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                    "--no-first-run", "--disable-background-networking",
                    "--disable-component-update", "--disable-sync",
                    f"--user-data-dir={tmp_path / 'profile'}", "--ignore-certificate-errors",
                    "--virtual-time-budget=10000", "--dump-dom", server.url()).decode()

    assert 'data-protocol="h2"' in dom
    server.stop()
    assert server.stats["responses"]["2xx"] >= 4
    assert server.stats["responses"]["4xx"] == server.stats["responses"]["5xx"] == 0


# ---- Python, and how bytes come and go ----


def test_python_h2_gets_100_mib(server):
    with Peer(server) as peer:
        assert peer.get("/big.bin").body == content(BIG_LEN)


def test_a_slow_reader_gets_everything_right(server, tree):
    """A small receive buffer, read a little at a time: writes end anywhere within records."""
    with Wire(server.connect(receive_buffer=4096)) as wire:
        wire.send(frames.PREFACE, frames.settings())
        stream = wire.request("/large.bin")
        while not (response := wire.responses.get(stream)) or not response.done:
            if (got := wire._cut_frame()) is not None:
                wire._note(got)
                continue
            wire._in += wire.sock.recv(1500)
        assert response.body == tree.files["large.bin"]


def test_one_byte_at_a_time_in_both_directions(server, tree):
    """Handshake, request, response: each byte is sent alone and read alone."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = transports.tls_context(["http/1.1"]).wrap_bio(incoming, outgoing)
    with transports.open_tcp(server.port, receive_buffer=4096) as sock:
        def flush():
            for byte in outgoing.read():
                sock.sendall(bytes([byte]))

        def patiently(call, *arguments):
            while True:
                try:
                    done = call(*arguments)
                    flush()
                    return done
                except ssl.SSLWantReadError:
                    flush()
                    incoming.write(sock.recv(1))

        patiently(tls.do_handshake)
        patiently(tls.write, REQUEST)
        said = b""
        while not said.endswith(tree.files["small.txt"]):
            said += patiently(tls.read, 1)
    assert said.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("engine", ENGINES)
def test_all_engines_serve_the_same(start, tree, engine, big_hash):
    server = start(tree.root, "--aead", engine)
    with Wire.connect(server) as wire:
        for name in ("empty.txt", "one.bin", "small.txt", "page.bin", "medium.bin", "large.bin"):
            assert wire.get(f"/{name}").body == tree.files[name]
        assert hashlib.sha256(wire.get("/big.bin").body).hexdigest() == big_hash
    for suite in SUITES:
        with s_client(server, "-ciphersuites", suite) as client:
            client.wait(suite.encode()).tell(REQUEST).wait(tree.files["small.txt"])


# ---- certificates ----


@pytest.fixture
def weir(tmp_path):
    def run(*arguments):
        return subprocess.run([str(servers.binary()), *map(str, arguments)], capture_output=True,
                              timeout=30, text=True, check=False, stdin=subprocess.DEVNULL,
                              env=servers.environment())
    return run


def written(directory, **files):
    paths = {name: directory / f"{name}.pem" for name in files}
    for name, text in files.items():
        paths[name].write_bytes(text)
    return paths


@pytest.mark.parametrize("make_key", [lambda: None, tls_tools.rsa_key], ids=["EC", "RSA"])
@pytest.mark.parametrize("in_one_file", [True, False])
def test_a_certificate_chain_from_files(start, tree, tmp_path, make_key, in_one_file):
    """The chain is sent whole: a client that trusts the root alone accepts it."""
    root = Certificate(name="root")
    middle = Certificate(issuer=root, name="middle", is_authority=True)
    leaf = Certificate(key=make_key(), issuer=middle)
    chain = leaf.pem + middle.pem
    if in_one_file:
        files = written(tmp_path, cert=chain + leaf.key_pem)
        options = ["--cert", files["cert"]]
    else:
        files = written(tmp_path, cert=chain, key=leaf.key_pem)
        options = ["--cert", files["cert"], "--key", files["key"]]
    server = start(tree.root, *map(str, options))
    trusted = written(tmp_path, root=root.pem)["root"]

    context = ssl.create_default_context(cafile=str(trusted))
    with context.wrap_socket(transports.open_tcp(server.port),
                             server_hostname="localhost") as sock:
        sock.sendall(REQUEST)
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
    with s_client(server, "-showcerts") as client:
        said = client.wait(b"Verify return").end()
    assert said.count("-----BEGIN CERTIFICATE-----") == 2


def test_the_certificate_of_its_own_is_for_localhost(server):
    with s_client(server, "-showcerts") as client:
        pem = client.wait(b"Verify return").end()
    pem = pem[pem.index("-----BEGIN CERT"):pem.index("-----END CERT")] + "-----END CERTIFICATE-----\n"
    context = ssl.create_default_context(cadata=pem)
    for name in ("localhost", "127.0.0.1", "::1"):
        with context.wrap_socket(transports.open_tcp(server.port), server_hostname=name) as sock:
            assert sock.version() == "TLSv1.3"


def test_a_certificate_of_its_own_is_announced(server):
    assert "self-signed" in server.log()


def wrong_files(directory):
    one, other = Certificate(), Certificate()
    paths = written(directory, cert=one.pem, key=one.key_pem, other=other.key_pem,
                    garbage=b"no PEM at all\n", empty=b"",
                    broken=one.pem.replace(b"M", b"N", 20), rsa=Certificate(
                        key=tls_tools.rsa_key()).key_pem,
                    cut=one.pem[:len(one.pem) // 2])
    missing = directory / "missing.pem"
    return {
        "another key": (paths["cert"], paths["other"]),
        "a key of another kind": (paths["cert"], paths["rsa"]),
        "no such certificate": (missing, paths["key"]),
        "no such key": (paths["cert"], missing),
        "the two swapped": (paths["key"], paths["cert"]),
        "garbage for a certificate": (paths["garbage"], paths["key"]),
        "garbage for a key": (paths["cert"], paths["garbage"]),
        "an empty certificate": (paths["empty"], paths["key"]),
        "an empty key": (paths["cert"], paths["empty"]),
        "a broken certificate": (paths["broken"], paths["key"]),
        "half a certificate": (paths["cut"], paths["key"]),
        "a directory": (directory, paths["key"]),
        "a certificate without key": (paths["cert"], None),
        "a key without certificate": (None, paths["key"]),
    }


WRONG_FILES = ["another key", "a key of another kind", "no such certificate", "no such key",
               "the two swapped", "garbage for a certificate", "garbage for a key",
               "an empty certificate", "an empty key", "a broken certificate",
               "half a certificate", "a directory", "a certificate without key",
               "a key without certificate"]


@pytest.mark.parametrize("check", [True, False], ids=["check", "start"])
@pytest.mark.parametrize("name", WRONG_FILES)
def test_wrong_certificates_get_one_line_and_status_2(weir, tree, tmp_path, name, check):
    cert, key = wrong_files(tmp_path)[name]
    options = [option for pair in (("--cert", cert), ("--key", key)) if pair[1] for option in pair]
    done = weir("-s", "127.0.0.1:0", *options, *(["--check"] if check else []), tree.root)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert any(str(path) in done.stderr for path in (cert, key) if path)


def test_an_unknown_engine_gets_one_line_and_status_2(weir, tree):
    done = weir("--aead", "rot13", "-s", "127.0.0.1:0", tree.root)

    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1 and "rot13" in done.stderr


def test_a_configuration_of_openssl_has_the_last_word(start, tree, tmp_path):
    """It may insist on OpenSSL's own key schedule; the secrets then come in another way."""
    (tmp_path / "openssl.cnf").write_text(
        "openssl_conf = all\n[all]\nalg_section = which\n"
        "[which]\ndefault_properties = provider=default\n")
    server = start(tree.root, within=("env", f"OPENSSL_CONF={tmp_path / 'openssl.cnf'}"))
    with Wire.connect(server) as wire:
        assert wire.get("/small.txt").body == tree.files["small.txt"]


# ---- the key log ----


def test_the_key_log_is_what_the_client_says_too(start, tree, tmp_path):
    log, own = tmp_path / "server.keys", tmp_path / "client.keys"
    server = start(tree.root, "--keylog", str(log))
    context = transports.tls_context(["http/1.1"])
    context.keylog_filename = str(own)
    for _ in range(3):
        with context.wrap_socket(transports.open_tcp(server.port)) as sock:
            sock.sendall(REQUEST)
            sock.recv(65536)

    def lines(path):
        return {line for line in path.read_text().splitlines() if not line.startswith("#")}
    assert {line for line in lines(log) if "TRAFFIC_SECRET_0" in line} == \
        {line for line in lines(own) if "TRAFFIC_SECRET_0" in line}
    assert len({line.split()[1] for line in lines(log)}) == 3
    assert log.stat().st_mode & 0o077 == 0


def test_a_key_log_is_warned_of(start, tree, tmp_path):
    server = start(tree.root, "--keylog", str(tmp_path / "keys"))

    assert "warn" in server.log() and str(tmp_path / "keys") in server.log()


def test_a_key_log_that_cannot_be_opened(weir, tree, tmp_path):
    done = weir("-s", "127.0.0.1:0", "--keylog", tmp_path / "none" / "keys", tree.root)

    assert done.returncode in (1, 2) and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and str(tmp_path) in done.stderr
