"""What was found: the printed table, report.md, results.json and the raw output of the clients."""

import json
from dataclasses import asdict, replace

from . import demands, method, openreport, stats
from .workloads import NOT_YET, PROTOCOLS, Demand

MARKS = {
    "c": "the client was the limit: requests per second are a lower bound (server below"
         f" {stats.SERVER_BUSY:.0%} and client above {stats.CLIENT_IDLE:.0%} of its core)",
    "~": f"noisy: rounds differ by more than {stats.NOISY_SPREAD:.0%}, or others took more than"
         f" {stats.NOISY_OTHERS:.0%} of the server's core",
    "p": "key exchange on P-256: this server has no X25519",
}


# io_uring may cost no more than this in workloads where it is not demanded to cost less.
BACK_ENDS_ALIKE = Demand(1.05, "weir:epoll", "weir:uring")


class Results:
    """All cells of a run, and what follows from them."""

    def __init__(self, facts, workloads, servers):
        self.facts, self.workloads, self.servers = facts, workloads, servers
        self.cells = {}  # (workload's name, server's name): Cell
        self.idle = []
        self.open_loop = []

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

    def main_servers(self):
        """weir and the tuned peers; variants and stock configurations have tables of their own."""
        return [s for s in self.servers if ":" not in s]

    def rival(self, workload):
        """The tuned peer that costs least."""
        peers = {n: c for n, c in self.ok_cells(workload).items() if ":" not in n and n != "weir"}
        return peers.get(stats.best({n: c.summary("cpu_us").median for n, c in peers.items()}))

    def findings(self, workload):
        """One for each demand; without any, how weir stands to the best peer."""
        found = [demands.find(self, workload, d) for d in workload.demands]
        if {"weir:epoll", "weir:uring"} <= set(self.ok_cells(workload)) and not any(
                d.against == "weir:epoll" for d in workload.demands):
            found.append(demands.find(self, workload, BACK_ENDS_ALIKE))
        if not any(d.against in self.main_servers() or d.against == "best"
                   for d in workload.demands):
            found.insert(0, demands.find(self, workload, Demand(0.0)))
            found[0] = replace(found[0], limit=None, verdict=None)
        return found

    def main_finding(self, workload):
        return next(f for f in self.findings(workload) if f.subject == "weir" and
                    (f.against == "best peer" or f.against in self.main_servers()))

    def errors(self):
        said = [f"{c.workload} on {c.server}: {c.reason}" for c in self.cells.values()
                if c.state == "error"]
        said += [f"idle {r['protocol']} on {r['server']}: {r['reason']}" for r in self.idle
                 if r["state"] == "error"]
        return said + [f"constant rate {r['workload']} on {r['peer']}: {r['error']}"
                       for r in self.open_loop if "error" in r]

    def to_json(self):
        return {
            "format": 2,
            **self.facts,
            "workloads": [asdict(w) | {"size": w.size} for w in self.measured()],
            "cells": [c.to_json() for c in self.cells.values()],
            "findings": [f.to_json() for w in self.measured() for f in self.findings(w)],
            "idle": self.idle,
            "open_loop": self.open_loop,
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
        if cell is None:
            continue
        if not cell.ok:
            yield f"{server:12} {cell.state}{': ' + cell.reason if cell.reason else ''}"
            continue
        cpu = cell.summary("cpu_us")
        yield (f"{server:12} {number(cpu.median):>9} µs CPU per {workload.unit}"
               f" [{number(cpu.low)}, {number(cpu.high)}]"
               f"  {number(cell.summary('rate').median):>9}/s {marks(cell)}".rstrip())
    for found in results.findings(workload):
        if found.verdict:
            yield " ".join(filter(None, _judged(found)))


def _columns(results):
    return ["workload", *results.main_servers(), "who", "against", "ratio", "demanded", ""]


def _rows(results, workload):
    """One with the figures, and one more for each further demand."""
    head = [workload.name, *(_figure(results.cell(workload, s)) for s in results.main_servers())]
    for found in results.findings(workload):
        yield head + _judged(found)
        head = ["  the same"] + [""] * (len(head) - 1)


def _judged(found):
    ratio, limit = found.ratio, found.limit
    said = found.metric == "syscalls" and "system calls" or found.against
    span = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio and ratio.low != ratio.high else ""
    return [found.subject, said, f"{ratio.value:.2f}{span}" if ratio else "-",
            f"≤ {limit:.2f}" if limit else "-",
            found.verdict or ("not measured" if limit else "")]


def _align(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *rest = (cell.ljust(w) if i == 0 else cell.rjust(w)
                        for i, (cell, w) in enumerate(zip(row, widths)))
        yield "  ".join([first, *rest]).rstrip()


def table(results):
    """Server CPU time in µs per request (handshakes: per connection), and the verdicts."""
    rows = [_columns(results)] + [r for w in results.measured() for r in _rows(results, w)]
    lines = ["server CPU, µs per request (handshakes: per connection), medians"
             " of interleaved rounds", ""]
    lines += _align(rows)
    lines += [""] + [f"{mark}  {meaning}" for mark, meaning in MARKS.items()]
    for title, more in _further(results):
        lines += ["", title, ""] + list(_align(more))
    verdicts = [f.verdict.rstrip("?") for w in results.measured() for f in results.findings(w)
                if f.verdict]
    verdicts += openreport.verdicts(results)
    lines += ["", f"{verdicts.count('met')} demands met, {verdicts.count('missed')} missed"]
    lines += [f"error: {e}" for e in results.errors()]
    return "\n".join(lines)


def _further(results):
    """(title, rows) of the other tables, those that there is something in."""
    tables = (
        ("Variants of weir: CPU per request as a share of weir's", _variant_rows(results)),
        ("Stock configurations: CPU per request in µs", _stock_rows(results)),
        ("Latency in closed loops, µs: what a user of a busy server waits, queue included",
         _latency_rows(results)),
        ("Constant rate: latency in µs from the intended time", openreport.rows(results)),
        ("Idle connections: the server's own memory, bytes for each", _idle_rows(results)),
    )
    return [(title, rows) for title, rows in tables if len(rows) > 1]


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
    elif facts["seconds"] < method.GOOD_SECONDS:
        out += [f"**Short rounds of {facts['seconds']:g} s: trust ratios, not the last digit.**", ""]
    out += [f"Server CPU time per request (of handshakes: per connection) in µs, from the kernel's"
            f" accounting of all threads and processes of the server; median of {facts['rounds']}"
            f" interleaved rounds of about {facts['seconds']:g} s. The ratio is that of the medians;"
            " in brackets the smallest and largest ratio of neighbouring rounds; a verdict with `?`"
            " is one on which the rounds do not agree.", ""]
    out += _md_table([_columns(results)] +
                     [r for w in results.measured() for r in _rows(results, w)])
    out += [""] + [f"- `{mark}` {meaning}" for mark, meaning in MARKS.items()] + [""]
    out += [f"- error: {e}" for e in results.errors()] + [""]
    for title, rows in _further(results):
        out += [f"## {title}", ""] + _md_table(rows) + [""]
    for protocol, (_, _, words) in PROTOCOLS.items():
        workloads = [w for w in results.measured() if w.protocol == protocol]
        if workloads:
            out += [f"## {words}", "", f"![CPU per request]({plot_name(protocol)})", ""]
            for w in workloads:
                out += _details(results, w)
    out += _environment(facts) + method.section(facts)
    out += ["## Not measured", ""] + [f"- {what}: {why}" for what, why in NOT_YET.items()]
    return "\n".join(out) + "\n"


def plot_name(protocol):
    return f"cpu-{protocol}.svg"


def _variant_rows(results):
    rows = [["workload", "variant", "CPU µs", "variant / weir", "requests per CPU second"]]
    for w in results.measured():
        cells = results.ok_cells(w)
        for name in (s for s in cells if s.startswith("weir:") and "weir" in cells):
            r = stats.ratio(cells[name].cpu_us, cells["weir"].cpu_us)
            rows.append([w.name, name, number(cells[name].summary("cpu_us").median),
                         f"{r.value:.2f} [{r.low:.2f}, {r.high:.2f}]",
                         f"weir {r.value - 1:+.0%}"])
    return rows


def _stock_rows(results):
    rows = [["workload", "server", "stock", "tuned", "stock / tuned"]]
    for w in results.measured():
        cells = results.ok_cells(w)
        for name in (s for s in cells if s.endswith(":stock")):
            tuned = cells.get(name.partition(":")[0])
            stock_us = cells[name].summary("cpu_us").median
            rows.append([w.name, name, number(stock_us),
                         number(tuned.summary("cpu_us").median) if tuned else "-",
                         f"{stock_us / tuned.summary('cpu_us').median:.2f}" if tuned else "-"])
    return rows


def _latency_rows(results):
    points = ("p50", "p90", "p99", "p99.9")
    rows = [["workload", "server", *points]]
    for w in results.measured():
        for name, cell in results.ok_cells(w).items():
            if cell.latency_us:
                rows.append([w.name, name, *(number(cell.latency_us[p]) for p in points)])
    return rows


def _idle_rows(results):
    rows = [["protocol", "server", "bytes per connection"]]
    for r in results.idle:
        rows.append([r["protocol"], r["server"],
                     f"{r['bytes']:,.0f}" if r["bytes"] is not None else r["state"]])
    return rows


def _details(results, workload):
    shape = f"{workload.connections} connections × {workload.streams} in flight"
    if workload.connects:
        amount = max((c.amount for c in results.ok_cells(workload).values()), default=0)
        shape = (f"{amount:,} connections of one request each,"
                 f" {min(workload.connections, amount):,} at a time")
    head = ["server", "CPU µs", "min", "max", "requests/s", "MB/s", "server", "client", "others",
            "peak RSS MiB", "anonymous MiB", "system calls", "wire B/response", "header B/response",
            "marks"]
    rows = [head]
    for server in results.servers:
        cell = results.cell(workload, server)
        if cell is None:
            continue
        rows.append(_detail(cell, workload) if cell.ok else
                    [server, cell.state, *[""] * (len(head) - 3), cell.reason])
    files = len(workload.content.paths)
    of = f" on average, {files:,} files" if files > 1 else ""
    return [f"### {workload.name}", "",
            f"{workload.size:,} bytes of body{of}, {shape}, by {workload.client}.", "",
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
        f"{cell.syscalls:.3f}" if cell.syscalls is not None else "-",
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


def write_raw(results, folder):
    """Configurations, command lines and the clients' own words."""
    folder.mkdir(exist_ok=True)
    for cell in results.cells.values():
        if not cell.server_command:
            continue
        name = cell.server.replace("/", "_").replace(":", "-")
        if cell.latency_us:
            (folder / f"{cell.workload}.{name}.latency.json").write_text(
                json.dumps(cell.latency_us) + "\n")
        (folder / f"{name}.config.txt").write_text(cell.config)
        text = f"server: {' '.join(cell.server_command)}\n" \
               f"client: {' '.join(map(str, cell.client_command))}\n"
        for turn, output in enumerate(cell.outputs, 1):
            text += f"\n== round {turn}\n{output}"
        (folder / f"{cell.workload}.{name}.txt").write_text(text)
