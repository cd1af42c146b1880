"""What was found: the printed table, report.md, results.json and the raw output of the clients."""

from dataclasses import asdict

from . import stats
from .workloads import PROTOCOLS

MARKS = {
    "c": "the client was the limit: requests per second are a lower bound (server below"
         f" {stats.SERVER_BUSY:.0%} and client above {stats.CLIENT_IDLE:.0%} of its core)",
    "~": f"noisy: rounds differ by more than {stats.NOISY_SPREAD:.0%}, or others took more than"
         f" {stats.NOISY_OTHERS:.0%} of the server's core",
    "p": "key exchange on P-256: this server has no X25519",
}


class Results:
    """All cells of a run, and what follows from them."""

    def __init__(self, facts, workloads, servers):
        self.facts, self.workloads, self.servers = facts, workloads, servers
        self.cells = {}  # (workload's name, server's name): Cell

    def add(self, cells):
        for cell in cells:
            self.cells[cell.workload, cell.server] = cell

    def cell(self, workload, server):
        return self.cells.get((workload.name, server))

    def measured(self):
        return [w for w in self.workloads if any(self.cell(w, s) for s in self.servers)]

    def ok_cells(self, workload):
        cells = (self.cell(workload, s) for s in self.servers)
        return {c.server: c for c in cells if c is not None and c.ok}

    def weirs(self):
        return [s for s in self.servers if is_weir(s)]

    def rival(self, workload):
        """The peer that counts: the named one, else the one that costs least."""
        peers = {n: c for n, c in self.ok_cells(workload).items() if not is_weir(n)}
        if workload.against:
            return peers.get(workload.against)
        name = stats.best({n: c.summary("cpu_us").median for n, c in peers.items()})
        return peers.get(name)

    def ratio(self, workload, name="weir"):
        """Of a weir to the rival, or None where one of them has no figure."""
        ours, theirs = self.ok_cells(workload).get(name), self.rival(workload)
        if ours is None or theirs is None:
            return None
        return stats.ratio(ours.cpu_us, theirs.cpu_us)

    def verdict(self, workload):
        found = self.ratio(workload)
        return stats.verdict(found, workload.target) if found else None

    def to_json(self):
        verdicts = {}
        for w in self.measured():
            found, rival = self.ratio(w), self.rival(w)
            verdicts[w.name] = {
                "rival": rival.server if rival else None,
                "ratio": asdict(found) if found else None,
                "target": w.target,
                "verdict": self.verdict(w),
            }
        return {
            "format": 1,
            **self.facts,
            "workloads": [asdict(w) | {"size": w.size} for w in self.measured()],
            "cells": [c.to_json() for c in self.cells.values()],
            "verdicts": verdicts,
        }


def is_weir(server):
    return server == "weir" or server.startswith("weir:")


def number(value):
    """Three or four digits, no exponent: 0.62, 12.3, 123, 45,678."""
    for below, places in ((10, 2), (100, 1)):
        if value < below:
            return f"{value:.{places}f}"
    return f"{value:,.0f}"


def marks(cell):
    found = {"c": cell.client_bound, "~": cell.noisy, "p": cell.odd_group}
    return "".join(mark for mark, holds in found.items() if holds)


def _figure(cell):
    if cell is None:
        return "-"
    if not cell.ok:
        return cell.state
    return number(cell.summary("cpu_us").median) + (" " + marks(cell)).rstrip()


def brief(results, workload):
    """A line per server, as soon as the workload is done."""
    for server in results.servers:
        cell = results.cell(workload, server)
        if not cell.ok:
            yield f"{server:12} {cell.state}{': ' + cell.reason if cell.reason else ''}"
            continue
        cpu = cell.summary("cpu_us")
        yield (f"{server:12} {number(cpu.median):>9} µs CPU per {workload.unit}"
               f" [{number(cpu.low)}, {number(cpu.high)}]"
               f"  {number(cell.summary('rate').median):>9}/s {marks(cell)}".rstrip())


def _columns(results):
    return ["workload", *results.servers, "best peer", "weir / peer", "demanded", ""]


def _row(results, workload):
    found, rival = results.ratio(workload), results.rival(workload)
    return [
        workload.name,
        *(_figure(results.cell(workload, s)) for s in results.servers),
        rival.server if rival else "none",
        f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]" if found else "-",
        f"≤ {workload.target:.2f}" if workload.target else "-",
        results.verdict(workload) or ("not measured" if workload.target else ""),
    ]


def _align(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *rest = (cell.ljust(w) if i == 0 else cell.rjust(w)
                        for i, (cell, w) in enumerate(zip(row, widths)))
        yield "  ".join([first, *rest]).rstrip()


def table(results):
    """Server CPU time in µs per request (handshakes: per connection), and the verdicts."""
    rows = [_columns(results)] + [_row(results, w) for w in results.measured()]
    lines = ["server CPU, µs per request (handshakes: per connection), medians"
             " of interleaved rounds", ""]
    lines += _align(rows)
    lines += [""] + [f"{mark}  {meaning}" for mark, meaning in MARKS.items()]
    lines += [f"   {c.workload} on {c.server}: {c.reason}"
              for c in results.cells.values() if c.state == "error"]
    return "\n".join(lines)


def _md_table(rows):
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    out = ["| " + " | ".join(head) + " |",
           "| --- |" + " ---: |" * (len(head) - 1)]
    return out + ["| " + " | ".join(row) + " |" for row in body]


def markdown(results):
    facts = results.facts
    out = [f"# weir and its peers, {facts['started']}", ""]
    if facts["quick"]:
        out += ["**A quick run: rounds are too short to be quoted.**", ""]
    out += [f"Server CPU time per request (of handshakes: per connection) in µs, from the kernel's"
            f" accounting of all threads and processes of the server; median of {facts['rounds']}"
            f" interleaved rounds of about {facts['seconds']:g} s. The ratio is that of the medians;"
            " in brackets the smallest and largest ratio of neighbouring rounds; a verdict with `?`"
            " is one on which the rounds do not agree.", ""]
    out += _md_table([_columns(results)] + [_row(results, w) for w in results.measured()])
    out += [""] + [f"- `{mark}` {meaning}" for mark, meaning in MARKS.items()] + [""]
    out += _variants(results)
    for protocol, (_, _, words) in PROTOCOLS.items():
        workloads = [w for w in results.measured() if w.protocol == protocol]
        if workloads:
            out += [f"## {words}", "", f"![CPU per request]({plot_name(protocol)})", ""]
            for w in workloads:
                out += _details(results, w)
    out += _environment(facts) + _method()
    return "\n".join(out) + "\n"


def plot_name(protocol):
    return f"cpu-{protocol}.svg"


def _variants(results):
    names = [s for s in results.weirs() if s != "weir"]
    rows = []
    for w in results.measured():
        cells = results.ok_cells(w)
        for name in names:
            if name in cells and "weir" in cells:
                r = stats.ratio(cells[name].cpu_us, cells["weir"].cpu_us)
                rows.append([w.name, name, f"{r.value:.2f} [{r.low:.2f}, {r.high:.2f}]"])
    if not rows:
        return []
    return ["## Variants of weir", ""] + _md_table([["workload", "variant", "variant / weir"],
                                                    *rows]) + [""]


def _details(results, workload):
    shape = f"{workload.connections} connections × {workload.streams} in flight"
    if workload.connects:
        amount = max((c.amount for c in results.ok_cells(workload).values()), default=0)
        shape = (f"{amount:,} connections of one request each,"
                 f" {min(workload.connections, amount):,} at a time")
    head = ["server", "CPU µs", "min", "max", "requests/s", "MB/s", "server", "client", "others",
            "peak RSS MiB", "anonymous MiB", "wire B/response", "header B/response", "marks"]
    rows = [head]
    for server in results.servers:
        cell = results.cell(workload, server)
        if cell is None:
            continue
        rows.append(_detail(cell, workload) if cell.ok else
                    [server, cell.state, *[""] * (len(head) - 3), cell.reason])
    return [f"### {workload.name}", "",
            f"{workload.size:,} bytes of body, {shape}, by {workload.client}.", "",
            *_md_table(rows), ""]


def _detail(cell, workload):
    def middle(name):
        return cell.summary(name).median

    cpu = cell.summary("cpu_us")
    sample = cell.samples[0]
    header = sample.header_bytes / sample.requests if sample.header_bytes is not None else None
    return [
        cell.server, number(cpu.median), number(cpu.low), number(cpu.high),
        number(middle("rate")), number(middle("rate") * workload.size / 1e6),
        *(f"{middle(name):.0%}" for name in ("server_share", "client_share", "others_share")),
        *(number(middle(name) / 1024) for name in ("peak_rss_kib", "anon_rss_kib")),
        f"{cell.wire_in:,.1f}" if cell.wire_in is not None else "-",
        f"{header:.1f}" if header is not None else "-",
        marks(cell),
    ]


def _environment(facts):
    env = facts["environment"]
    warnings = []
    if env["siblings"]:
        warnings.append("- **server and client ran on two threads of one core**")
    if env["server_core"] == env["client_core"]:
        warnings.append("- **server and client shared one core**")
    return ["## Where", "",
            f"- {env['cpu']}, {env['cores']} cores"
            f"{' (a virtual machine)' if env['hypervisor'] else ''}, {env['memory_mib']} MiB,"
            f" {env['system']}, Linux {env['kernel']}, governor {env['governor'] or 'unknown'}",
            f"- server on core {env['server_core']}, client on core {env['client_core']},"
            f" niceness {env['niceness']}; loopback,"
            f" MTU {env['loopback_mtu']}; files on {env['files_on']}",
            f"- load average {env['load_average'][0]:.2f} before"
            + (f", {facts['load_average_after'][0]:.2f} after"
               if "load_average_after" in facts else ""),
            f"- revision of this repository: {env['revision'] or 'unknown'}",
            *(f"- {name}: {said}" for name, said in facts["servers"].items()),
            *(f"- client {name}: {said or 'missing'}" for name, said in env["clients"].items()),
            *warnings, ""]


def _method():
    return ["## How, and what these figures do not say", ""] + [f"- {line}" for line in (
        "The figure that counts is server CPU time per request, which does not depend on how fast the"
        " client is. Where the client was the limit the cell is marked, and its rate is a lower bound.",
        "Same bytes for all: each server's answer is fetched once and its status, version, length and"
        " SHA-256 compared, content codings refused; then h2load's statuses and the sum of body bytes"
        " must be exact in every run (wrk: no error, no status beyond 3xx, bytes to match).",
        "No latencies are quoted, neither means nor h2load's time to the first byte: these are closed"
        " loops, which hide stalls.",
        "Runs are a fixed number of requests, so none is cut off in flight; wrk's are timed and leave at"
        " most 50 uncounted.",
        "h2load's flow control window is 2^30: it never holds a server back. There is no delay or loss.",
        "Tuned configurations (in `raw/`, templates in `bench/peers`): logging off, connections never"
        " renewed, open files cached, one worker. nginx checks a cached file again after an hour, h2o"
        " and nghttpd keep descriptors, lighttpd keeps stat results. Logging and stock configurations"
        " are not measured here. lighttpd announces 8 concurrent streams and cannot be told otherwise.",
        "TLS is checked in every run: 1.3, TLS_AES_128_GCM_SHA256, X25519; the certificate is ECDSA"
        " P-256. nghttpd has no X25519 and takes P-256 for the key exchange, so its handshakes are not"
        " comparable. Full and resumed handshakes are workloads of their own; all other connections are"
        " long-lived. kTLS is off.",
        "The files fit the caches; no cold cache and no large working set is measured here.",
        "Peak RSS has shared and mapped pages in it (a server that maps its files is charged for the"
        " page cache); the anonymous part stands beside it.",
        "Bytes on the wire are payloads of TCP, counted in a separate run through a relay.",
    )] + [""]


def write_raw(results, folder):
    """Configurations, command lines and the clients' own words."""
    folder.mkdir(exist_ok=True)
    for cell in results.cells.values():
        if not cell.server_command:
            continue
        name = cell.server.replace("/", "_").replace(":", "-")
        (folder / f"{name}.config.txt").write_text(cell.config)
        text = f"server: {' '.join(cell.server_command)}\n" \
               f"client: {' '.join(map(str, cell.client_command))}\n"
        for turn, output in enumerate(cell.outputs, 1):
            text += f"\n== round {turn}\n{output}"
        (folder / f"{cell.workload}.{name}.txt").write_text(text)
