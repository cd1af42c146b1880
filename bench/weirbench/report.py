"""What was found: the printed tables, report.md, results.json and the raw output of the clients."""

import json
from dataclasses import asdict, replace

from . import demands, method, openreport, stats, sweep
from .workloads import NOT_YET, PROTOCOLS, Demand, is_default

MARKS = {
    "c": "the client was the limit: requests per second are a lower bound (server below"
         f" {stats.SERVER_BUSY:.0%} and client above {stats.CLIENT_IDLE:.0%} of its core)",
    "~": f"noisy: rounds differ by more than {stats.NOISY_SPREAD:.0%}, or others took more than"
         f" {stats.NOISY_OTHERS:.0%} of the server's core",
    "p": "key exchange on P-256: this server has no X25519",
    "r": "the server closed connections, and the client opened others: their cost is in the figure",
}


# io_uring may cost no more than this in workloads where it is not demanded to cost less.
BACK_ENDS_ALIKE = Demand(1.05, "weir:epoll", "weir:uring")
STEADY = 0.10  # of a ratio: rounds of a sweep that differ by no more are enough of them


class Results:
    """All cells of a run, and what follows from them."""

    def __init__(self, facts, workloads, servers):
        self.facts, self.workloads, self.servers = facts, workloads, servers
        self.cells = {}  # (workload's name, server's name): Cell
        self.idle = []
        self.open_loop = []
        self.left_out = []  # names of what there was no time for

    def add(self, cells):
        for cell in cells:
            self.cells[cell.workload, cell.server] = cell

    def cell(self, workload, server):
        return self.cells.get((workload.name, server))

    def measured(self):
        return [w for w in self.workloads if any(self.cell(w, s) for s in self.servers)]

    def listed(self):
        """Those with a line of their own: a sweep has a matrix."""
        return [w for w in self.measured() if is_default(w) or not w.is_swept]

    def good_open_loop(self):
        return [r for r in self.open_loop if "error" not in r]

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

    def undecided(self, workloads):
        """{(workload's name, server's name)} of whom more rounds are wanted, to judge a demand by."""
        wanted = set()
        for f in (f for w in workloads for f in self.findings(w)):
            if (f.verdict or "").endswith("?"):
                wanted |= {self._named(f.workload, f.subject), self._named(f.workload, f.against)}
        return wanted

    def unsteady(self, workloads):
        """The same of whom more are wanted because the rounds do not agree on weir beside the best peer."""
        wanted = set()
        for w in workloads:
            found = self.main_finding(w)
            if found.ratio and found.ratio.high - found.ratio.low > STEADY * found.ratio.value:
                wanted |= {(w.name, found.subject), (w.name, found.against)}
        return wanted

    def _named(self, workload, name):
        """A demand may be on a workload beside its own: then that is whom it is against."""
        return (workload, name) if name in self.servers else (name, "weir")

    def errors(self):
        said = [f"{c.workload} on {c.server}: {c.reason}" for c in self.cells.values()
                if c.state == "error"]
        said += [f"idle {r['name']} on {r['server']}: {r['reason']}" for r in self.idle
                 if r["state"] == "error"]
        return said + [f"constant rate {r['workload']} on {r['server']}: {r['error']}"
                       for r in self.open_loop if "error" in r]

    def to_json(self):
        return {
            "format": 2,
            **self.facts,
            "workloads": [asdict(w) | {"size": w.size} for w in self.measured()],
            "cells": [c.to_json() for c in self.cells.values()],
            "findings": [f.to_json() for w in self.measured() for f in self.findings(w)]
            + [f.to_json() for f in demands.find_p99(self.good_open_loop())],
            "idle": self.idle,
            "open_loop": self.open_loop,
            "left_out": self.left_out,
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
    found = {"c": cell.client_bound, "~": cell.noisy, "p": cell.odd_group, "r": cell.renewed}
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
            yield (f"{found.subject} / {found.against or 'request'}: {demands.ratio_text(found.ratio)}"
                   f" ≤ {found.limit:.2f} {found.verdict}")


def _main_rows(results):
    """A line for each workload that is no part of a sweep: figures, and weir beside the best peer."""
    rows = [["workload", *results.main_servers(), "weir / best peer", ""]]
    for w in results.listed():
        found = results.main_finding(w)
        rows.append([w.name, *(_figure(results.cell(w, s)) for s in results.main_servers()),
                     demands.ratio_text(found.ratio), found.against if found.ratio else ""])
    return rows


def _align(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        first, *rest = (cell.ljust(w) if i == 0 else cell.rjust(w)
                        for i, (cell, w) in enumerate(zip(row, widths)))
        yield "  ".join([first, *rest]).rstrip()


def table(results):
    """What is printed: demands, server CPU time, and the other tables."""
    lines = []
    for title, rows in _tables(results):
        lines += [title, "", *_align(rows), ""]
    lines += [f"{mark}  {meaning}" for mark, meaning in MARKS.items()]
    lines += ["", demands.tally(results), *(f"left out: {name}" for name in results.left_out)]
    lines += [f"error: {e}" for e in results.errors()]
    return "\n".join(lines)


def _tables(results):
    """(title, rows) of those tables that there is something in."""
    tables = (
        ("Demands", demands.rows(results)),
        ("Server CPU, µs per request (handshakes: per connection), medians of interleaved rounds",
         _main_rows(results)),
        *((f"Sweep, {PROTOCOLS[p][2]}: weir's CPU per request as a share of the best peer's",
           sweep.rows(results, p)) for p in PROTOCOLS),
        ("Variants of weir: CPU per request as a share of weir's", _variant_rows(results)),
        ("Stock configurations: CPU per request in µs", _stock_rows(results)),
        ("Constant rate: latency in µs from the intended time (~: the client itself was late by much of it)",
         openreport.rows(results)),
        ("Idle connections: the server's own memory, bytes for each", _idle_rows(results)),
    )
    return [(title, rows) for title, rows in tables if len(rows) > 1]


def md_table(rows):
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    out = ["| " + " | ".join(head) + " |",
           "| --- |" + " ---: |" * (len(head) - 1)]
    return out + ["| " + " | ".join(row) + " |" for row in body]


def markdown(results, pictures=()):
    facts = results.facts
    out = [f"# weir and its peers, {facts['started']}", ""]
    if facts["quick"]:
        out += ["**A quick run: rounds are too short to be quoted.**", ""]
    elif facts["seconds"] < method.GOOD_SECONDS:
        out += [f"**Short rounds of {facts['seconds']:g} s: trust ratios, not the last digit.**", ""]
    out += [f"Server CPU time per request (of handshakes: per connection) in µs, from the kernel's"
            f" accounting of all threads and processes of the server; median of {facts['rounds']}"
            f" interleaved rounds of about {facts['seconds']:g} s, and of up to {facts['most_rounds']}"
            " where these left open whether a demand is met. A ratio is the median of those of rounds"
            f" that ran in turn; in brackets where it lies with {stats.CONFIDENCE:.0%} confidence (of fewer"
            " than nine rounds: the smallest and largest); a verdict with `?` is one that this leaves open.",
            ""]
    out += [demands.tally(results) + ".", ""]
    out += [f"- error: {e}" for e in results.errors()]
    out += [f"- left out, the time was up: {name}" for name in results.left_out] + [""]
    for title, rows in _tables(results):
        out += [f"## {title}", ""] + md_table(rows) + [""]
    out += [f"- `{mark}` {meaning}" for mark, meaning in MARKS.items()] + [""]
    out += [f"![{name}]({name})" for name in pictures] + [""]
    out += ["Rates, shares of the cores, memory, system calls, bytes and percentiles of each cell are in"
            " [details.md](details.md), all of it in `results.json`.", ""]
    out += _environment(facts) + method.section(facts)
    out += ["## Not measured", ""] + [f"- {what}: {why}" for what, why in NOT_YET.items()]
    return "\n".join(out) + "\n"


def _variant_rows(results):
    rows = [["workload", "variant", "CPU µs", "variant / weir", "requests per CPU second"]]
    for w in results.measured():
        cells = results.ok_cells(w)
        for name in (s for s in cells if s.startswith("weir:") and "weir" in cells):
            r = stats.ratio(cells[name].cpu_by_round, cells["weir"].cpu_by_round)
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


def _idle_rows(results):
    rows = [["connections", "server", "bytes for each"]]
    for r in results.idle:
        rows.append([r["name"], r["server"],
                     f"{r['bytes']:,.0f}" if r["bytes"] is not None else r["state"]])
    return rows


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
