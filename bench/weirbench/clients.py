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
import sys
from dataclasses import dataclass

SUITE = "TLS_AES_128_GCM_SHA256"
GROUP = "X25519"
# Groups of the key exchange: what h2load is told, and the word by which it reports them.
GROUPS = {"X25519": "X25519", "P-256": "ECDH prime256v1"}


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


def command(workload, url, amount, site, group=GROUP):
    """(argv, environment) of the client; `amount` is requests for all but wrk, seconds for it."""
    env = dict(os.environ)
    if workload.client == "h2load":
        argv = ["h2load", f"-n{amount}", f"-c{min(workload.connections, amount)}",
                f"-m{workload.streams}", f"--tls13-ciphers={SUITE}", f"--groups={group}"]
        if workload.protocol in ("h1", "h1s"):
            argv.append("--h1")
        return argv + [url], env
    if workload.client == "wrk":
        return ["wrk", "-t1", f"-c{workload.connections}", f"-d{amount}", url], env
    program = pathlib.Path(__file__).with_name("resume.py")
    env["OPENSSL_CONF"] = str(site.openssl_conf(SUITE, group))
    return [sys.executable, str(program), f"--connections={amount}",
            f"--lanes={workload.connections}", f"--size={workload.size}", url], env


def run(running, workload, amount, site, place, timeout_s, port=None):
    """Run the workload's client to its end in its `place`, and check what it reports.

    It asks the server `running`, or whoever relays for it on `port`.
    """
    group = running.server.recipe.group
    argv, env = command(workload, running.url_of(workload, port), amount, site, group)
    before = _children_cpu_seconds()
    try:
        done = subprocess.run([*place, *argv], env=env, check=False,
                              capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired as e:
        raise Wrong(f"{argv[0]} was not done after {timeout_s:.0f} s") from e
    cpu = _children_cpu_seconds() - before
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Wrong(f"{argv[0]} failed with {done.returncode}: {' '.join(last)}")
    outcome = PARSERS[workload.client](done.stdout, workload, amount, group)
    return Finished(outcome, cpu, done.stdout, argv)


def _children_cpu_seconds():
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
    (ok,) = map(int, _find(r"^status codes: (\d+) 2xx", text, "the count of statuses"))
    if not total == started == done == good == ok == amount or failed or errored or timeout:
        raise Wrong(f"of {amount} requests {done} done, {ok} with 2xx, {failed} failed,"
                    f" {errored} errored, {timeout} timed out")
    frames, headers, data = map(int, _find(
        r"^traffic: \S+ \((\d+)\) total, \S+ \((\d+)\) headers .*?, \S+ \((\d+)\) data",
        text, "the traffic"))
    if data != amount * workload.size:
        raise Wrong(f"{data} bytes of bodies instead of {amount * workload.size}")
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
    requests = int(requests)
    read = parse_bytes(read)
    if requests == 0 or read * 1.01 < requests * workload.size:  # wrk rounds to two places
        raise Wrong(f"{requests} responses of {workload.size} bytes, but {read:.0f} bytes read")
    return Outcome(requests, parse_seconds(seconds))


def parse_resume(text, workload, amount, _group=None):
    try:
        said = json.loads(text)
    except ValueError as e:
        raise Wrong("no JSON from the resuming client") from e
    if said["error"]:
        raise Wrong(said["error"])
    first = min(workload.connections, amount)  # the first of each lane has nothing to resume
    if said["connections"] != amount or said["resumed"] != amount - first:
        raise Wrong(f"{said['resumed']} of {said['connections']} connections resumed,"
                    f" {amount - first} of {amount} expected")
    if said["suites"] != [SUITE] or said["versions"] != ["TLSv1.3"]:
        raise Wrong(f"negotiated {said['versions']}, {said['suites']}")
    return Outcome(amount, said["seconds"], amount * workload.size)


CLIENTS = {"h2load": "h2load", "wrk": "wrk", "resume": None}  # and the program each needs
PARSERS = {"h2load": parse_h2load, "wrk": parse_wrk, "resume": parse_resume}


def steps(workload):
    """Amounts are multiples of this: every stream of every connection does the same work."""
    return 1 if workload.client == "wrk" else workload.in_flight

