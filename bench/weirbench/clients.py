"""The programs that ask: their command lines, and what their output says.

Every parser returns an `Outcome` or raises `Wrong`: an answer that is not the expected one ends
the cell, it never becomes a number.
"""

import json
import os
import pathlib
import re
import resource
import subprocess
import threading
from dataclasses import dataclass

from . import workloads

SUITE = "TLS_AES_128_GCM_SHA256"
GROUP = "X25519"
# Groups of the key exchange: what h2load is told, and the word by which it reports them.
GROUPS = {"X25519": "X25519", "P-256": "ECDH prime256v1"}
WRK_TRIALS = 1  # connections that wrk makes to see whether it can
PIPELINE = pathlib.Path(__file__).resolve().parent.parent / "pipeline.lua"


class Wrong(Exception):
    """An answer that must not be measured: statuses, lengths, TLS parameters, a failed client."""


@dataclass(frozen=True)
class Outcome:
    requests: int
    seconds: float  # as the client measured it
    data_bytes: int | None = None  # bodies; None where the client does not say
    frame_bytes: int | None = None  # HTTP/2 frames received, without TLS
    header_bytes: int | None = None  # header blocks received, compressed


@dataclass(frozen=True)
class Finished:
    outcome: Outcome
    cpu_seconds: float  # of the client
    output: str
    command: list


def command(workload, port, amount, site, group=GROUP, log=None):
    """argv of the client; `amount` is requests for all but wrk, seconds for it."""
    make = {"h2load": _h2load, "wrk": _wrk, "load": _load}[workload.client]
    return make(workload, port, amount, site, group, log)


def _urls(workload, port):
    scheme = "https" if workload.tls else "http"
    return [f"{scheme}://127.0.0.1:{port}{path}" for path in workload.content.paths]


def _h2load(workload, port, amount, _site, group, log):
    argv = ["h2load", f"-n{amount}", f"-c{min(workload.connections, amount)}",
            f"-m{workload.streams}", f"--tls13-ciphers={SUITE}", f"--groups={group}"]
    argv += [f"--header={field}" for field in workload.content.fields]
    if workload.protocol in ("h1", "h1s"):
        argv.append("--h1")
    if log:
        argv.append(f"--log-file={log}")
    return argv + _urls(workload, port)


def _wrk(workload, port, amount, site, group, _log):
    argv = ["env", f"LD_PRELOAD={site.load.parent / 'weir-connects.so'}"]
    if workload.tls:  # it has no options for what it offers
        argv.append(f"OPENSSL_CONF={site.tls_offer(SUITE, group)}")
    argv += ["wrk", "-t1", f"-c{workload.connections}", f"-d{amount}"]
    if workload.streams > 1:
        return argv + [f"-s{PIPELINE}", _urls(workload, port)[0], "--", str(workload.streams)]
    return argv + _urls(workload, port)[:1]


def _load(workload, port, amount, site, group, log):
    return load_command(workload, port, site, group, (
        f"--connections={min(workload.connections, amount)}", f"--streams={workload.streams}",
        f"--requests={amount}", *(["--per-connection=1"] if workload.connects else []),
        *(["--resume"] if workload.resume else []), *([f"--log={log}"] if log else [])))


def load_command(workload, port, site, group, more):
    """weir-load for the files and answers of the workload; `more` says how many and how fast."""
    content = workload.content
    argv = [str(site.load), f"--root={site.root}", f"--status={content.status}"]
    if len(content.paths) > 1:
        argv.append(f"--paths={site.paths_file(workload.body)}")
    else:
        argv.append(f"--path={content.paths[0]}")
    if workload.body == "many":
        argv += [f"--pattern={workloads.MANY_SIZE}", f"--shuffle={amount_seed(more)}"]
    if content.coding:
        argv.append(f"--suffix={'.gz' if content.coding == 'gzip' else '.br'}")
    elif content.file and content.sizes[0]:
        argv.append(f"--body={site.root / content.file}:{content.start}:{content.sizes[0]}")
    argv += [f"--field={field}" for field in content.fields]
    if workload.protocol in ("h1", "h1s"):
        argv.append("--http1")
    if workload.tls:
        argv += ["--tls", f"--suite={SUITE}", f"--group={group}"]
    return [*argv, *more, str(port)]


def amount_seed(more):
    """Of the order of a set of files: the same for all servers that are asked for as much."""
    return 1 + sum(map(len, more))


def run(running, workload, amount, site, place, timeout_s, port=None, log=None, under=(),
        begins=None):
    """Run the workload's client to its end in its `place`, and check what it reports.

    It asks the server `running`, or whoever relays for it on `port`. `under` is put before it all.
    begins() is called when the requests are about to begin, by a client that can wait with them.
    """
    group = running.server.recipe.group
    argv = command(workload, port or running.port, amount, site, group, log)
    before = children_cpu_seconds()
    if begins and workload.client == "load" and not workload.connects:
        argv.insert(1, "--wait")
        done = _started_process([*place, *argv], timeout_s, begins)
    else:
        done = finished_process([*under, *place, *argv], timeout_s, argv[0])
    cpu = children_cpu_seconds() - before
    outcome = PARSERS[workload.client](done, workload, amount, group)
    if workload.client == "load":
        cpu = read_load(done)["cpu_seconds"]  # without connecting
    return Finished(outcome, cpu, done, argv)


def finished_process(argv, timeout_s, name):
    """Standard output of a program that must succeed."""
    name = os.path.basename(name)
    try:
        done = subprocess.run(argv, check=False, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout_s)
    except subprocess.TimeoutExpired as e:
        raise Wrong(f"{name} was not done after {timeout_s:.0f} s") from e
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Wrong(f"{name} failed with {done.returncode}: {' '.join(last)}")
    return done.stdout


def _started_process(argv, timeout_s, begins):
    """As finished_process(), of a client that says when it is connected, and waits."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as client:
        late = threading.Timer(timeout_s, client.kill)
        late.start()
        try:
            if client.stderr.readline().startswith("connected"):
                begins()
                client.stdin.write("\n")
                client.stdin.flush()
            return client.stdout.read()
        finally:
            late.cancel()


def check_bytes(running, workload, site, place, requests):
    """So many answers compared byte for byte, whatever the workload's client looks at."""
    connections = min(4, requests)
    argv = load_command(workload, running.port, site, running.server.recipe.group, (
        f"--connections={connections}", "--streams=4", f"--requests={requests}"))
    parse_load(finished_process([*place, *argv], 60, argv[0]), None, requests)


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _find(pattern, text, what):
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise Wrong(f"{what} is not in the client's output")
    return found.groups()


def parse_seconds(text):
    """A duration as h2load and wrk print it: 7.31ms, 4.53s, 1.10m."""
    number, unit = _find(r"^([\d.]+)(us|ms|s|m|h)$", text, f"a time ({text})")
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}[unit]


def parse_bytes(text):
    """A size as wrk prints it: 46.10MB, powers of 1024, rounded to two places."""
    number, unit = _find(r"^([\d.]+)([KMGT]?)B$", text, f"a size ({text})")
    return float(number) * 1024 ** " KMGT".index(unit or " ")


def parse_h2load(text, workload, amount, group=GROUP):
    total, started, done, good, failed, errored, timeout = map(int, _find(
        r"^requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed,"
        r" (\d+) errored, (\d+) timeout", text, "the count of requests"))
    classes = list(map(int, _find(r"^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx",
                                  text, "the count of statuses")))
    right = classes[workload.content.status // 100 - 2]
    if not total == started == done == good == right == amount or failed or errored or timeout:
        raise Wrong(f"of {amount} requests {done} done, {right} with the right status, {failed}"
                    f" failed, {errored} errored, {timeout} timed out")
    frames, headers, data = map(int, _find(
        r"^traffic: \S+ \((\d+)\) total, \S+ \((\d+)\) headers .*?, \S+ \((\d+)\) data",
        text, "the traffic"))
    if data != workload.bytes_of(amount):
        raise Wrong(f"{data} bytes of bodies instead of {workload.bytes_of(amount)}")
    if workload.tls:
        _check_tls(text, group)
    (seconds,) = _find(r"^finished in ([^,]+),", text, "the time")
    return Outcome(amount, parse_seconds(seconds), data, frames, headers)


def _check_tls(text, group):
    protocol, suite = _find(r"^TLS Protocol: (\S+)\nCipher: (\S+)", text, "the TLS parameters")
    (exchange,) = _find(r"^Server Temp Key: (.+?) \d+ bits", text, "the group of the key exchange")
    if (protocol, suite, exchange) != ("TLSv1.3", SUITE, GROUPS[group]):
        raise Wrong(f"negotiated {protocol}, {suite}, {exchange}")


def parse_wrk(text, workload, _amount, _group=None):
    requests, seconds, read = _find(r"^ *(\d+) requests in (\S+), (\S+) read", text, "the count")
    errors = re.search(r"Socket errors: .*|Non-2xx or 3xx responses: .*", text)
    if errors:
        raise Wrong(errors.group())
    (connects,) = _find(r"^connects: (\d+)", text, "how many connections it made")
    anew = int(connects) - workload.connections - WRK_TRIALS
    if anew > 0:
        raise Wrong(f"the server closed {anew} connections: wrk went on with new ones")
    requests = int(requests)
    read = parse_bytes(read)
    if requests == 0 or read * 1.01 < workload.bytes_of(requests):  # wrk rounds to two places
        raise Wrong(f"{requests} responses of {workload.size} bytes, but {read:.0f} bytes read")
    return Outcome(requests, parse_seconds(seconds))


def read_load(text):
    """What weir-load says, an object, which has compared every byte."""
    try:
        said = json.loads(text)
    except ValueError as e:
        raise Wrong("no JSON from weir-load") from e
    if said["error"]:
        raise Wrong(said["error"])
    return said


def parse_load(text, workload, amount, _group=None):
    said = read_load(text)
    if said["requests"] != amount:
        raise Wrong(f"{said['requests']} requests instead of {amount}")
    if workload is not None and workload.connects:
        # the first connection of each lane has nothing to resume
        resumed = amount - min(workload.connections, amount) if workload.resume else 0
        if (said["connections"], said["resumed"]) != (amount, resumed):
            raise Wrong(f"{said['resumed']} of {said['connections']} connections resumed,"
                        f" {resumed} of {amount} expected")
    return Outcome(amount, said["seconds"], said["bytes"])


CLIENTS = {"h2load": "h2load", "wrk": "wrk", "load": None}  # and the program each needs
PARSERS = {"h2load": parse_h2load, "wrk": parse_wrk, "load": parse_load}
