"""Bytes on the wire: a relay between client and server that counts, TLS and all.

Used once per server and workload, outside the measured rounds. What is counted is the payload of
TCP in each direction.
"""

import socket
import threading

PIECE = 1 << 18


class Tap:
    """`with Tap(port) as tap`: connect to tap.port; then read tap.to_client and tap.to_server."""

    def __init__(self, server_port):
        self.server_port = server_port
        self.to_client = self.to_server = 0
        self.lock = threading.Lock()
        self.threads = []

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept(), which close() would not
        self.acceptor.join()
        self.listener.close()
        for thread in self.threads:
            thread.join(timeout=10)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.server_port))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            pair = threading.Thread(target=self._relay, args=(client, server), daemon=True)
            pair.start()
            self.threads.append(pair)

    def _relay(self, client, server):
        up = threading.Thread(target=self._copy, args=(client, server, "to_server"), daemon=True)
        up.start()
        self._copy(server, client, "to_client")
        up.join()
        client.close()
        server.close()

    def _copy(self, source, sink, counter):
        count = 0
        try:
            while data := source.recv(PIECE):
                count += len(data)
                sink.sendall(data)
        except OSError:
            pass  # a side that closes early ends this direction; the client's checks judge it
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        with self.lock:
            setattr(self, counter, getattr(self, counter) + count)
