"""details.md: all that is known of each cell, a table for each workload."""

from .report import marks, md_table, number
from .workloads import PROTOCOLS

POINTS = ("p50", "p90", "p99", "p99.9")


def markdown(results):
    out = ["# Cells", "", "CPU in µs per request (handshakes: per connection); the shares are of a core:"
           " the server's of its own, the client's of its own, others' of the server's. Latencies are in"
           " µs, from full logs of closed loops: what a user of a busy server waits, queue included.", ""]
    for protocol, (_, _, words) in PROTOCOLS.items():
        workloads = [w for w in results.measured() if w.protocol == protocol]
        if workloads:
            out += [f"## {words}", ""]
            for w in workloads:
                out += _details(results, w)
    return "\n".join(out) + "\n"


def _details(results, workload):
    shape = f"{workload.connections} connections × {workload.streams} in flight"
    if workload.connects:
        amount = max((c.amount for c in results.ok_cells(workload).values()), default=0)
        shape = (f"{amount:,} connections of one request each,"
                 f" {min(workload.connections, amount):,} at a time")
    head = ["server", "CPU µs", "min", "max", "requests/s", "MB/s", "server", "client", "others",
            "peak RSS MiB", "anonymous MiB", "system calls", "wire B/response", "header B/response",
            *POINTS, "marks"]
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
            *md_table(rows), ""]


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
        *(number(cell.latency_us[p]) if cell.latency_us else "-" for p in POINTS),
        marks(cell),
    ]
