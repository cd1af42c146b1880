"""The command line clients, and what their output says."""

import re
import subprocess
from typing import NamedTuple

RUN_TIMEOUT = 120  # seconds


def run(*command, timeout=RUN_TIMEOUT, check=True):
    """Run a tool to its end; returns what it printed, as bytes."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n"
                             f"{done.stdout[-2000:]!r}\n{done.stderr[-2000:]!r}")
    return done.stdout


class CurlAnswer(NamedTuple):
    status: int
    protocol: str
    fields: dict
    body: bytes


def curl(server, path, *options):
    """One request by curl, told to leave the path as it is; `path` may be a whole URL."""
    url = path if "://" in path else server.url(path)
    out = run("curl", "--silent", "--show-error", "--path-as-is", "--dump-header", "-",
              "--max-time", RUN_TIMEOUT - 10, *server.transport.curl, *options, url)
    head, _, body = out.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    protocol, status = first.split(" ")[:2]
    fields = dict(line.split(": ", 1) for line in lines)
    return CurlAnswer(int(status), protocol, fields, body)


def nghttp(server, *paths, options=()):
    """GETs over one connection by nghttp; returns the bodies one after another."""
    return run("nghttp", "--no-dep", *options, *(server.url(path) for path in paths))


class Load(NamedTuple):
    total: int
    started: int
    done: int
    succeeded: int
    failed: int
    errored: int
    timeout: int
    by_class: dict  # "2xx": count
    data_bytes: int  # of bodies
    text: str


def parse_h2load(text):
    requests = re.search(r"requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, "
                         r"(\d+) failed, (\d+) errored, (\d+) timeout", text)
    classes = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    body = re.search(r"headers \(space savings [^)]*\), [^(]*\((\d+)\) data", text)
    assert requests and classes and body, text
    by_class = dict(zip(("2xx", "3xx", "4xx", "5xx"), map(int, classes.groups())))
    return Load(*map(int, requests.groups()), by_class, int(body[1]), text)


def h2load_command(server, *paths, requests=None, seconds=None, clients=1, streams=1, options=()):
    amount = ("-n", requests) if seconds is None else ("-D", seconds)
    urls = [server.url(path) for path in paths]
    return [str(part) for part in ("h2load", *amount, "-c", clients, "-m", streams, "-t", 1,
                                   *options, *urls)]


def h2load(server, *paths, **kwargs):
    """`requests` over `clients` connections of `streams` concurrent streams."""
    return parse_h2load(run(*h2load_command(server, *paths, **kwargs)).decode())
