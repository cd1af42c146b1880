"""Proxies of Debian's in front of a server: configured in a folder of their own, and reached by a
unix socket there, so that they need no port of their own."""

import pathlib
import socket
import subprocess
import time

START_TIMEOUT = 30  # seconds

# One process; what comes from the server is passed on and not stored.
NGINX = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream origin {{
        server 127.0.0.1:{port};
        keepalive 8;
    }}
    server {{
        listen unix:{front};
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_max_temp_file_size 0;
        }}
    }}
}}
"""

HAPROXY = """
global
    maxconn 1000
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
frontend front
    bind unix@{front}
    default_backend origin
backend origin
    http-reuse always
    server weir 127.0.0.1:{port} {options}
"""


class Proxy:
    """Own: the process; stop() ends it."""

    def __init__(self, folder, command, template, **values):
        self.front = pathlib.Path(folder) / "front.sock"
        config = pathlib.Path(folder) / "proxy.conf"
        config.write_text(template.format(folder=folder, front=self.front, **values))
        self._log = open(pathlib.Path(folder) / "log", "w+b")
        self.process = subprocess.Popen([part.format(config=config, folder=folder)
                                         for part in command],
                                        stdin=subprocess.DEVNULL, stdout=self._log,
                                        stderr=self._log)
        self._wait_until_it_answers()

    def connect(self):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(START_TIMEOUT)
        sock.connect(str(self.front))
        return sock

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=START_TIMEOUT)
        self._log.close()

    def _wait_until_it_answers(self):
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self._log.seek(0)
                    raise AssertionError(self._log.read().decode(errors="replace")) from None
                time.sleep(0.02)


def nginx(folder, port):
    """HTTP/1.1 to the server, connections kept."""
    command = ["/usr/sbin/nginx", "-p", "{folder}", "-e", "stderr", "-c", "{config}"]
    return Proxy(folder, command, NGINX, port=port)


def haproxy(folder, port):
    """HTTP/1.1 to the server, connections kept and shared."""
    command = ["/usr/sbin/haproxy", "-db", "-f", "{config}"]
    return Proxy(folder, command, HAPROXY, port=port, options="")


def haproxy_h2c(folder, port):
    """HTTP/2 to the server, with prior knowledge."""
    command = ["/usr/sbin/haproxy", "-db", "-f", "{config}"]
    return Proxy(folder, command, HAPROXY, port=port, options="proto h2")


ALL = {"nginx": nginx, "haproxy": haproxy, "haproxy-h2c": haproxy_h2c}
