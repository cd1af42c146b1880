"""Very many clients at once: processes with a share of the connections each, because a process has
a limit of descriptors, and addresses of their own, because an address has only so many ports."""

import contextlib
import multiprocessing
import os
import resource
import socket
import struct

SPARE = 200  # descriptors of a process for everything else
PORTS = 5_000  # connections from an address: the more of its ports are used, the longer takes one
REQUEST = b"GET /one.bin HTTP/1.1\r\nhost: a\r\n\r\n"
PATIENCE = 60  # seconds


class Crowd:
    """`count` connections to a port of 127.0.0.1, each of which has been answered once."""

    def __init__(self, port, count):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        processes = max(-(-count // (hard - SPARE)), 4)
        self._ends, self._processes = [], []
        for i in range(processes):
            mine = count // processes + (i < count % processes)
            ours, theirs = multiprocessing.Pipe()
            child = multiprocessing.Process(target=_take_part, daemon=True,
                                            args=(theirs, port, i + 1, mine))
            child.start()
            theirs.close()
            self._ends.append(ours)
            self._processes.append(child)
        self._answers()

    def ask_all(self):
        """One request on every connection; how many were answered."""
        for end in self._ends:
            end.send("ask")
        return self._answers()

    def close(self):
        for end, process in zip(self._ends, self._processes):
            with contextlib.suppress(OSError):  # it may have ended by itself
                end.send("end")
            end.close()
            process.join(PATIENCE)

    def _answers(self):
        count = 0
        for end in self._ends:
            assert end.poll(PATIENCE), "a client does not get on"
            answer = end.recv()
            assert isinstance(answer, int), answer
            count += answer
        return count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _take_part(end, port, number, count):
    """What each process does: connect, then answer the other end until that is closed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    socks = []
    try:
        for i in range(count):  # a server may throw out who says nothing for long
            socks.append(_connect(port, f"127.0.{number}.{1 + i // PORTS}"))
            socks[-1].sendall(REQUEST)
        end.send(_answered(socks))
        while end.recv() == "ask":
            for sock in socks:
                sock.sendall(REQUEST)
            end.send(_answered(socks))
    except OSError as error:
        end.send(f"connection {len(socks)} of process {number}: {error}")
    os._exit(0)  # all at once


def _connect(port, address):
    sock = socket.socket()
    sock.settimeout(PATIENCE)
    sock.setsockopt(socket.SOL_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: one that the peer knows not
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no TIME_WAIT
    sock.bind((address, 0))
    sock.connect(("127.0.0.1", port))
    return sock


def _answered(socks):
    return sum(sock.recv(4096).startswith(b"HTTP/1.1 200") for sock in socks)
