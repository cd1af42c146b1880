"""Records and messages that are wrong after the handshake, and the alert that each must get.

The alert comes sealed, it is the last record, and FIN follows it (RFC 8446 5, 6).

What is known to have broken others, by rows; the tests of each bear its name, those in
tests/unit in a comment:

    T1   a record's head over 2^14 + 256: record_overflow, and nothing of its body is awaited
    T2   a record too short for a tag: bad_record_mac; the cipher is not asked
    T3   a wrong tag, whichever bit: bad_record_mac, nothing is delivered
    T4   content over 2^14: record_overflow; padding without a type: unexpected_message
    T5   2^24 records under one key: a KeyUpdate of ours before  tests/unit/test_tls_key_update.c
    T6   KeyUpdates without end, two in a record: unexpected_message; requests get one answer
    T7   KeyUpdates that are malformed, or cut by other records
    T8   empty records without end: unexpected_message
    T9   alerts without end or malformed; a fatal one ends the connection without a word
    T10  unknown types, records without protection: unexpected_message
    T11  handshake messages after the handshake: unexpected_message, by the first four bytes
    T12  the hand-over from OpenSSL: no byte is lost, no nonce used twice  tests/unit/test_tls_conn.c
    T13  close_notify before FIN both ways; FIN alone is a truncation
    T14  early data is off, and what comes is skipped to a limit    tests/unit/test_tls_handshake.c
    T15  tickets: keys change, a name of its own, nothing is stored           test_tls_interop.py
    T16  ALPN without overlap: no_application_protocol; without ALPN HTTP/1.1
    T17  a ClientHello in pieces, slow, long, or without end
    T18  TLS 1.2 and older: protocol_version
"""

import concurrent.futures
import ssl

import pytest

from harness import frames, tls13
from harness import transport as transports
from harness.frames import MAX_WINDOW, DEFAULT_WINDOW, Setting
from harness.tls13 import (CIPHER_MAX, FATAL, PLAIN_MAX, TAG_LEN, WARNING, Alert, Content,
                           Handshake, key_update, message, record)
from harness.tree import BIG_LEN
from harness.wire import PATIENCE, Wire

KEY_UPDATES_MAX = 32  # in a row, without data
EMPTY_RECORDS_MAX = 32
WARNINGS_MAX = 4
HANDSHAKE_BYTES_MAX = 32 * 1024


@pytest.fixture
def transport():
    return transports.BY_NAME["tls"]


@pytest.fixture
def client(server):
    with tls13.Client(server) as connected:
        yield connected


HELLO = frames.PREFACE + frames.settings()


def get(client, stream=1, path=b"/one.bin"):
    """A GET as bytes, from the static table alone."""
    return frames.headers(stream, b"\x82\x87\x01\x09localhost\x04" + bytes([len(path)]) + path)


def ask(client, path=b"/one.bin"):
    """The connection still works: a whole HTTP/2 exchange in one record."""
    client.send(client.data(HELLO + get(client, path=path)))
    return client.read_data(lambda data: data.endswith(b"x"))


def get_http1(client):
    client.send(client.data(b"GET /one.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    return client.read_data(lambda data: data.endswith(b"\r\n\r\nx"))


# ---- the table ----


def flipped(sealed, at):
    return sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1:]


def replaced(client):
    """A record sent twice: the second has the wrong sequence number."""
    sealed = client.data(HELLO)
    return sealed + sealed


def of_old_key(client):
    old = client.tx.aead, client.tx.iv, client.tx.sequence + 1
    blob = client.update()
    client.tx.aead, client.tx.iv, client.tx.sequence = old
    return blob + client.data(HELLO)


def before_its_time(client):
    """Under the next key, without a KeyUpdate."""
    client.tx.update()
    return client.data(HELLO)


def interleaved(client, between):
    """`between` makes what stands between two parts of a KeyUpdate."""
    first, last = key_update()[:3], key_update()[3:]
    return client.handshake(first) + between() + client.handshake(last)


MAC, OVERFLOW, UNEXPECTED = Alert.BAD_RECORD_MAC, Alert.RECORD_OVERFLOW, Alert.UNEXPECTED_MESSAGE
DATA, HANDSHAKE = Content.APPLICATION_DATA, Content.HANDSHAKE

WRONG = {
    # judged by the head alone, nothing of the body is awaited
    "T1 length over the limit": (OVERFLOW, lambda c: record(DATA, b"", length=CIPHER_MAX + 1)),
    "T1 length 65535": (OVERFLOW, lambda c: record(DATA, b"", length=65535)),
    "T2 length 0": (MAC, lambda c: record(DATA, b"")),
    "T2 length 1": (MAC, lambda c: record(DATA, b"x")),
    "T2 a tag and nothing else": (MAC, lambda c: record(DATA, bytes(16))),
    "T2 a right tag over nothing": (MAC, lambda c: c.tx.seal_inner(b"")),
    "T3 random bytes": (MAC, lambda c: record(DATA, bytes(range(100)))),
    "T3 the longest, wrong": (MAC, lambda c: record(DATA, bytes(PLAIN_MAX + 1 + TAG_LEN))),
    "T3 the same record twice": (MAC, replaced),
    "T3 the key before the update": (MAC, of_old_key),
    "T3 the key before its time": (MAC, before_its_time),
    "T3 another version under the tag": (MAC, lambda c: flipped(c.data(HELLO), 2)),
    "T4 room for content over the limit": (OVERFLOW, lambda c: record(DATA, bytes(CIPHER_MAX))),
    "T4 content over the limit": (OVERFLOW, lambda c: c.data(bytes(PLAIN_MAX + 1))),
    "T4 content over the limit by far": (OVERFLOW, lambda c: c.data(bytes(CIPHER_MAX - 17))),
    "T4 no type": (UNEXPECTED, lambda c: c.tx.seal_inner(bytes(1))),
    "T4 no type in padding": (UNEXPECTED, lambda c: c.tx.seal_inner(bytes(1000))),
    "T6 two KeyUpdates in one record": (UNEXPECTED, lambda c: c.handshake(key_update() * 2)),
    "T6 KeyUpdates without end": (UNEXPECTED, lambda c: b"".join(
        c.update() for _ in range(KEY_UPDATES_MAX + 1))),
    "T6 requests of KeyUpdates without end": (UNEXPECTED, lambda c: b"".join(
        c.update(1) for _ in range(KEY_UPDATES_MAX + 1))),
    "T7 KeyUpdate of value 2": (Alert.ILLEGAL_PARAMETER, lambda c: c.handshake(key_update(2))),
    "T7 KeyUpdate of value 255": (Alert.ILLEGAL_PARAMETER, lambda c: c.handshake(key_update(255))),
    "T7 KeyUpdate of length 0": (Alert.DECODE_ERROR,
                              lambda c: c.handshake(message(Handshake.KEY_UPDATE))),
    "T7 KeyUpdate of length 2": (Alert.DECODE_ERROR,
                              lambda c: c.handshake(message(Handshake.KEY_UPDATE, b"\0\0"))),
    "T7 bytes behind a KeyUpdate": (UNEXPECTED, lambda c: c.handshake(key_update() + b"\0")),
    "T7 data within a KeyUpdate": (UNEXPECTED, lambda c: interleaved(c, lambda: c.data(HELLO))),
    "T7 empty data within a KeyUpdate": (UNEXPECTED, lambda c: interleaved(c, lambda: c.data(b""))),
    "T7 an alert within a KeyUpdate": (UNEXPECTED, lambda c: interleaved(
        c, lambda: c.alert(Alert.USER_CANCELED))),
    "T8 empty records without end": (UNEXPECTED, lambda c: b"".join(
        c.data(b"") for _ in range(EMPTY_RECORDS_MAX + 1))),
    "T8 empty padded records without end": (UNEXPECTED, lambda c: b"".join(
        c.data(b"", padding=100) for _ in range(EMPTY_RECORDS_MAX + 1))),
    "T9 user_canceled without end": (UNEXPECTED, lambda c: b"".join(
        c.alert(Alert.USER_CANCELED) for _ in range(WARNINGS_MAX + 1))),
    "T9 a warning": (UNEXPECTED, lambda c: c.alert(Alert.NO_RENEGOTIATION)),
    "T9 an error as a warning": (UNEXPECTED, lambda c: c.alert(Alert.HANDSHAKE_FAILURE)),
    "T9 an empty alert": (UNEXPECTED, lambda c: c.tx.seal(Content.ALERT, b"")),
    "T9 an alert of one byte": (Alert.DECODE_ERROR, lambda c: c.tx.seal(Content.ALERT, b"\x01")),
    "T9 an alert of three bytes": (Alert.DECODE_ERROR,
                                lambda c: c.tx.seal(Content.ALERT, b"\x01\0\0")),
    "T9 two alerts in one record": (Alert.DECODE_ERROR,
                                 lambda c: c.tx.seal(Content.ALERT, b"\x01\x5a" * 2)),
    "T10 type 0 with content": (UNEXPECTED, lambda c: c.tx.seal_inner(bytes(20))),
    "T10 type 19": (UNEXPECTED, lambda c: c.tx.seal(19, b"x")),
    "T10 type 24, heartbeat": (UNEXPECTED, lambda c: c.tx.seal(24, b"\x01\0\x01x" + bytes(16))),
    "T10 type 255": (UNEXPECTED, lambda c: c.tx.seal(255, b"x")),
    "T10 change_cipher_spec": (UNEXPECTED, lambda c: record(Content.CHANGE_CIPHER_SPEC, b"\x01")),
    "T10 change_cipher_spec, sealed": (UNEXPECTED,
                                   lambda c: c.tx.seal(Content.CHANGE_CIPHER_SPEC, b"\x01")),
    "T10 an alert without protection": (UNEXPECTED, lambda c: record(Content.ALERT, b"\x02\x28")),
    "T10 a handshake message without protection": (UNEXPECTED,
                                               lambda c: record(HANDSHAKE, key_update())),
    "T10 an unknown type without protection": (UNEXPECTED, lambda c: record(99, b"x" * 100)),
    "T10 cleartext HTTP/2": (UNEXPECTED, lambda c: HELLO),
    "T10 sealed under another outer type": (UNEXPECTED, lambda c: c.data(HELLO, outer=HANDSHAKE)),
    "T11 an empty handshake record": (UNEXPECTED, lambda c: c.handshake(b"")),
    "T11 a message of 16 MiB": (UNEXPECTED, lambda c: c.handshake(
        message(Handshake.CERTIFICATE, length=2**24 - 1))),
    "T11 a KeyUpdate of 16 MiB": (Alert.DECODE_ERROR, lambda c: c.handshake(
        message(Handshake.KEY_UPDATE, length=2**24 - 1))),
    "T11 a KeyUpdate that turns into something else": (UNEXPECTED, lambda c: interleaved(
        c, lambda: c.handshake(b"\x01\0" + message(Handshake.CLIENT_HELLO)))),
} | {f"T11 {kind.name} after the handshake": (UNEXPECTED, lambda c, kind=kind: c.handshake(
    message(kind, bytes(40)))) for kind in Handshake if kind != Handshake.KEY_UPDATE}


@pytest.mark.parametrize("alert, wrong", WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_gets_its_alert_and_the_connection_ends(server, alert, wrong):
    with tls13.Client(server) as client:
        client.send(wrong(client))

        assert client.read_end() == alert
        assert client.over == "fin"
    with tls13.Client(server) as other:
        ask(other)
    server.stop()
    assert server.stats["tls"]["alerts_sent"] == 1
    assert server.stats["requests"] == 1


@pytest.mark.parametrize("alert, wrong", [WRONG[name] for name in (
    "T1 length over the limit", "T3 random bytes", "T7 KeyUpdate of value 2",
    "T8 empty records without end")])
def test_the_alert_comes_behind_responses_that_were_due(client, alert, wrong):
    ask(client)

    client.send(client.data(get(client, stream=3)), wrong(client))

    assert client.read_end() == alert


@pytest.mark.parametrize("wrong", [WRONG["T3 random bytes"],
                                   WRONG["T6 two KeyUpdates in one record"]])
def test_nothing_behind_what_is_wrong_is_taken(server, wrong):
    with tls13.Client(server) as client:
        ask(client)
        client.send(wrong[1](client), client.data(get(client, stream=3)))

        assert client.read_end() == wrong[0]
    server.stop()
    assert server.stats["requests"] == 1


@pytest.mark.row("T3")
def test_any_bit_of_a_record_is_under_its_tag(server):
    size = len(tls13.Keys("TLS_AES_128_GCM_SHA256", bytes(32)).seal(Content.ALERT, b"\1\x5a"))
    for at in range(5, size):
        with tls13.Client(server) as client:
            client.send(flipped(client.alert(Alert.USER_CANCELED), at))
            assert client.read_end() == Alert.BAD_RECORD_MAC, f"byte {at}"


# ---- what is strange but right ----


RIGHT = {
    "padding": lambda c: c.data(HELLO, padding=1000),
    "padding to the limit": lambda c: c.data(HELLO, padding=PLAIN_MAX - len(HELLO)),
    "a record for each byte": lambda c: b"".join(c.data(HELLO[i:i + 1])
                                                 for i in range(len(HELLO))),
    "empty records up to the limit": lambda c: b"".join(
        c.data(b"") for _ in range(EMPTY_RECORDS_MAX)) + c.data(HELLO),
    "KeyUpdates up to the limit": lambda c: b"".join(
        c.update() for _ in range(KEY_UPDATES_MAX)) + c.data(HELLO),
    "KeyUpdates between data": lambda c: b"".join(
        c.update(1) + c.data(HELLO[i:i + 1]) for i in range(len(HELLO))),
    "a KeyUpdate in several records": lambda c: (
        interleaved(c, bytes), c.tx.update(), c.data(HELLO))[::2],
    "user_canceled up to the limit": lambda c: b"".join(
        c.alert(Alert.USER_CANCELED) for _ in range(WARNINGS_MAX)) + c.data(HELLO),
    "user_canceled as fatal": lambda c: c.alert(Alert.USER_CANCELED, FATAL) + c.data(HELLO),
}


@pytest.mark.parametrize("right", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_merely_strange_is_served(client, right):
    blob = right(client)
    client.send(*(blob if isinstance(blob, tuple) else (blob,)))
    client.send(client.data(get(client)))

    client.read_data(lambda data: data.endswith(b"x"))


def test_the_longest_record_is_taken(client):
    """A record of 2^14 bytes of content: PING frames beyond what fits are answered."""
    fill = frames.frame(0xBB, 0, 0, bytes(PLAIN_MAX - len(HELLO) - frames.HEAD_LEN))
    client.send(client.data(HELLO + fill), client.data(get(client)))

    client.read_data(lambda data: data.endswith(b"x"))


def test_records_may_come_byte_by_byte(client):
    for byte in client.data(HELLO) + client.update(1) + client.data(get(client)):
        client.send(bytes([byte]))

    client.read_data(lambda data: data.endswith(b"x"))
    assert client.updates == [0]


def test_many_records_may_come_in_one_segment(client):
    client.send(client.data(HELLO), *(client.data(get(client, stream=2 * i + 1))
                                      for i in range(50)))

    client.read_data(lambda data: data.count(b"x") >= 50)


# ---- KeyUpdate ----


def test_a_key_update_is_answered_only_if_it_asks(client):
    ask(client)
    client.send(client.update(0), client.data(frames.ping(b"unasked!")))
    client.read_data(lambda data: b"unasked!" in data)
    assert client.updates == []

    client.send(client.update(1), client.data(frames.ping(b"answered")))
    client.read_data(lambda data: b"answered" in data)
    assert client.updates == [0]


@pytest.mark.row("T6")
def test_requests_that_come_together_get_one_answer(client):
    ask(client)
    client.send(*(client.update(1) for _ in range(5)), client.data(frames.ping(b"together")))
    client.read_data(lambda data: b"together" in data)

    assert client.updates == [0]


def test_keys_change_again_and_again_in_a_large_response(client):
    """Both directions change keys while 100 MiB go out, and every record opens."""
    client.send(client.data(
        frames.PREFACE + frames.settings({Setting.INITIAL_WINDOW_SIZE: MAX_WINDOW}) +
        frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW) + get(client, path=b"/big.bin")))
    received, asked = 0, 0
    while received < BIG_LEN:
        got = client.read()
        assert got.type == Content.APPLICATION_DATA
        received += len(got.content)
        if received > asked * 4 * 2**20 and asked < 20:
            client.send(client.update(1), client.data(frames.ping()))
            asked += 1

    assert len(client.updates) > 5


# ---- the end ----


@pytest.mark.row("T13")
def test_close_notify_is_answered_by_close_notify(client):
    ask(client)
    client.send(client.alert(Alert.CLOSE_NOTIFY))

    assert client.read_end() == Alert.CLOSE_NOTIFY
    assert client.over == "fin"


@pytest.mark.row("T13")
@pytest.mark.parametrize("with_fin", [True, False])
def test_a_response_goes_on_after_the_clients_close_notify(client, tree, with_fin):
    client.send(client.data(
        frames.PREFACE + frames.settings({Setting.INITIAL_WINDOW_SIZE: MAX_WINDOW}) +
        frames.window_update(0, MAX_WINDOW - DEFAULT_WINDOW) + get(client, path=b"/large.bin")),
        client.alert(Alert.CLOSE_NOTIFY))
    if with_fin:
        client.shut()

    data = b""
    while (got := client.read()).type == Content.APPLICATION_DATA:
        data += got.content
    assert got == (Content.ALERT, bytes([WARNING, Alert.CLOSE_NOTIFY]))
    assert len(data) > len(tree.files["large.bin"])
    assert client.read() is None and client.over == "fin"


@pytest.mark.row("T13")
def test_http1_answers_what_was_asked_before_close_notify(server):
    with tls13.Client(server, alpn=("http/1.1",)) as client:
        client.send(client.data(b"GET /one.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                    client.alert(Alert.CLOSE_NOTIFY))

        data = b""
        while (got := client.read()).type == Content.APPLICATION_DATA:
            data += got.content
        assert data.startswith(b"HTTP/1.1 200 ") and data.endswith(b"\r\n\r\nx")
        assert client.read_end() is None


@pytest.mark.row("T13")
def test_http1_with_connection_close_ends_with_close_notify(server):
    with tls13.Client(server, alpn=("http/1.1",)) as client:
        client.send(client.data(b"GET /one.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))

        assert client.read_end() == Alert.CLOSE_NOTIFY
        assert client.over == "fin"


@pytest.mark.row("T13")
def test_goaway_is_followed_by_close_notify(client):
    ask(client)
    client.send(client.data(frames.ping()[:-1] + b"\0" + frames.frame(0, 0, 0, b"x")))

    assert client.read_end() == Alert.CLOSE_NOTIFY


@pytest.mark.row("T13")
def test_a_drain_ends_with_close_notify(server):
    with tls13.Client(server) as client:
        ask(client)
        server.signal()

        assert client.read_end() == Alert.CLOSE_NOTIFY
        assert client.over == "fin"
    assert server.wait() == 0


@pytest.mark.row("T13")
@pytest.mark.parametrize("cut", [0, 3, 5, 20, -1])
def test_fin_without_close_notify_is_counted_as_a_truncation(server, cut):
    with tls13.Client(server) as client:
        ask(client)
        client.send(client.data(get(client, stream=3))[:cut])
        client.shut()
        client.read_end()
    server.stop()

    assert server.stats["tls"]["truncations"] == 1
    assert server.stats["requests"] == 1


@pytest.mark.row("T9")
@pytest.mark.parametrize("description", [Alert.INTERNAL_ERROR, Alert.BAD_RECORD_MAC])
def test_a_fatal_alert_ends_the_connection_without_an_answer(server, description):
    with tls13.Client(server) as client:
        ask(client)
        client.send(client.alert(description, FATAL))

        assert client.read_end() is None
    server.stop()
    assert server.stats["tls"]["alerts_received"] == 1
    assert server.stats["tls"]["alerts_sent"] == 0


@pytest.mark.row("T13")
def test_nothing_is_taken_behind_close_notify(server):
    with tls13.Client(server) as client:
        ask(client)
        client.send(client.alert(Alert.CLOSE_NOTIFY), client.data(get(client, stream=3)))

        assert client.read_end() == Alert.CLOSE_NOTIFY
    server.stop()
    assert server.stats["requests"] == 1


# ---- the hand-over, and the handshake itself ----


@pytest.mark.row("T12")
def test_a_request_may_come_in_one_segment_with_finished(server):
    """What OpenSSL did not read of a segment goes to the records."""
    with tls13.Client(server, finishes=False) as client:
        client.send(client.flight, client.data(HELLO), client.data(get(client)))

        client.read_data(lambda data: data.endswith(b"x"))
        assert client.tickets > 0  # the sequence goes on behind them


@pytest.mark.row("T12")
@pytest.mark.parametrize("size", [1, 2, 7])
def test_finished_and_a_request_may_come_in_pieces(server, size):
    with tls13.Client(server, finishes=False) as client:
        blob = client.flight + client.data(HELLO + get(client))
        for at in range(0, len(blob), size):
            client.send(blob[at:at + size])

        client.read_data(lambda data: data.endswith(b"x"))


def hello_of(alpn=("h2",), version=None):
    """A ClientHello record as ssl makes it, and the state that goes with it."""
    context = transports.tls_context(alpn)
    if version is not None:
        context.maximum_version = version
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read(), tls, incoming, outgoing


# as long as a hello with a post-quantum key share
LONG_OFFER = ("h2", *(f"{n}".rjust(250, "x") for n in range(6)))


@pytest.mark.row("T17")
@pytest.mark.parametrize("fragment", [1, 3, 100])
@pytest.mark.parametrize("segment", [1, 10**6])
@pytest.mark.parametrize("offer", [("h2",), LONG_OFFER], ids=["short", "long"])
def test_a_client_hello_may_come_in_pieces(server, offer, fragment, segment):
    """In records of so many bytes, in segments of so many."""
    hello, tls, incoming, outgoing = hello_of(offer)
    body = hello[5:]
    blob = b"".join(record(Content.HANDSHAKE, body[i:i + fragment], version=0x0301)
                    for i in range(0, len(body), fragment))
    with transports.open_tcp(server.port) as sock:
        for at in range(0, len(blob), segment):
            sock.sendall(blob[at:at + segment])
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                incoming.write(sock.recv(65536))
    assert tls.selected_alpn_protocol() == "h2"


def plain_alert(sock):
    """The alert of a handshake that has no keys yet, read to the end of the connection."""
    said = b""
    try:
        while more := sock.recv(65536):
            said += more
    except ConnectionError:
        pass
    assert len(said) == 7 and said[0] == Content.ALERT, said
    return Alert(said[6])


@pytest.mark.row("T18")
@pytest.mark.parametrize("version", [0x0303, 0x0302, 0x0301, 0x0300, 0x0002])
def test_an_older_version_gets_protocol_version(server, version):
    hello = bytearray(hello_of(version=ssl.TLSVersion.TLSv1_2)[0])
    hello[9:11] = version.to_bytes(2, "big")  # legacy_version, which it goes by
    with transports.open_tcp(server.port) as sock:
        sock.sendall(hello)
        assert plain_alert(sock) == Alert.PROTOCOL_VERSION
    server.stop()
    assert server.stats["tls"]["handshake_faults"] == 1


@pytest.mark.row("T16")
@pytest.mark.parametrize("offer", [["ftp"], ["h3"], ["h2c", "http/1.0"], ["h"]])
def test_an_offer_without_overlap_gets_no_application_protocol(server, offer):
    with transports.open_tcp(server.port) as sock:
        sock.sendall(hello_of(offer)[0])
        assert plain_alert(sock) == Alert.NO_APPLICATION_PROTOCOL


@pytest.mark.row("T16")
@pytest.mark.parametrize("offer, chosen", [
    (("http/1.1", "h2"), "h2"), (("x", "h2"), "h2"), (("http/1.1",), "http/1.1"), ((), None)])
def test_the_protocol_that_is_chosen(server, offer, chosen):
    with tls13.Client(server, alpn=offer) as client:
        assert client.alpn == chosen
        if chosen == "h2":
            ask(client)
        else:
            get_http1(client)


@pytest.mark.row("T16")
@pytest.mark.parametrize("offer", [("http/1.1",), ()])
def test_http2_where_http1_was_chosen_is_an_error(server, offer):
    with tls13.Client(server, alpn=offer) as client:
        client.send(client.data(HELLO))

        data = client.read_data(lambda data: b"\r\n\r\n" in data)
        assert data.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 505 "))


@pytest.mark.row("T16")
def test_http1_where_http2_was_chosen_is_an_error(server):
    with tls13.Client(server) as client:
        client.send(client.data(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))

        assert client.read_end() == Alert.CLOSE_NOTIFY
    server.stop()
    assert server.stats["requests"] == 0


GARBAGE = {
    "cleartext HTTP/1.1": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "cleartext HTTP/2": HELLO,
    "zeros": bytes(1000),
    "data before the handshake": record(Content.APPLICATION_DATA, bytes(100)),
    "an alert": record(Content.ALERT, b"\x02\x28"),
    "Finished": record(Content.HANDSHAKE, message(Handshake.FINISHED, bytes(32))),
    "a ClientHello of nothing": record(Content.HANDSHAKE, message(Handshake.CLIENT_HELLO)),
    "a ClientHello of 16 MiB": record(Content.HANDSHAKE, message(
        Handshake.CLIENT_HELLO, bytes(16000), length=2**24 - 1)) * 3,
    "more than a handshake may have": record(Content.HANDSHAKE, message(
        Handshake.CLIENT_HELLO, bytes(16000), length=100_000)) * 3,
    "change_cipher_spec without end": record(Content.CHANGE_CIPHER_SPEC, b"\x01") * 20_000,
}


@pytest.mark.row("T17")
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_instead_of_a_client_hello_ends_the_connection(server, garbage):
    with transports.open_tcp(server.port) as sock:
        sock.settimeout(PATIENCE)
        try:
            sock.sendall(garbage)
            while sock.recv(65536):
                pass
        except ConnectionError:
            pass
    with Wire.connect(server) as wire:
        assert wire.get("/one.bin").body == b"x"
    server.stop()
    assert server.stats["tls"]["handshakes"] == 1


def silent(server, opening, drip=b""):
    """Read until the server has had enough, sending a byte of `drip` now and then."""
    with transports.open_tcp(server.port) as sock:
        sock.settimeout(PATIENCE)
        sock.sendall(opening)
        sock.settimeout(1 if drip else PATIENCE)
        for at in range(len(drip) or 1):
            try:
                if not sock.recv(65536):
                    return "ended"
                return "answered"
            except TimeoutError:
                sock.sendall(drip[at:at + 1])
            except ConnectionError:
                return "ended"
    return "held"


@pytest.mark.row("T17")
def test_a_handshake_that_does_not_get_to_its_end_is_cut(server):
    hello = hello_of()[0]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waits = [pool.submit(silent, server, b""), pool.submit(silent, server, hello[:100]),
                 pool.submit(silent, server, b"", drip=hello[:60])]
    assert [wait.result() for wait in waits] == ["ended"] * 3
