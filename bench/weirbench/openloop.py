"""Constant rates: latency from the time at which a request should have been sent.

A closed loop waits for a stalled server and so hides the stall. Here each peer gets 50 and 80 % of the
rate at its peak, and weir the same rate in turn with it. The peak is that of the same client in a
closed loop.
"""

import contextlib
import statistics

from . import clients, process, probe, servers as servers_
from .workloads import OPEN_SHARES, shaped

PEAK_S = 0.3
SKIPPED = 0.1  # share of the requests at the beginning that is not recorded
POINTS = ("p50", "p90", "p99", "p99.9")


def estimate_s(peers, plan):
    return peers * (1.5 + len(OPEN_SHARES) * 2 * plan.rounds * (plan.seconds + 0.15))


def measure(spec, servers, site, plan, progress):
    """[{workload, peer, share, rate, server, rounds: [...], median: {...}}] of weir and each peer."""
    protocol, body, connections, streams = spec
    workload = shaped(protocol, body, connections, streams, client="load")
    weir = next((s for s in servers if s.name == "weir" and s.binary), None)
    found = []
    for peer in servers:
        if peer.is_weir or peer.is_stock or peer.why_not(workload):
            continue
        progress.now(f"constant rate {workload.name}  {peer.name}")
        try:
            found += _pair([s for s in (weir, peer) if s], workload, site, plan)
        except (clients.Wrong, servers_.CannotStart, OSError) as e:
            found.append({"workload": workload.name, "peer": peer.name, "error": str(e)})
        progress.worked(estimate_s(1, plan))
    return found


def _pair(pair, workload, site, plan):
    peer = pair[-1]
    with contextlib.ExitStack() as stack:
        running = {s.name: stack.enter_context(s.start(site, workload, plan.server_place))
                   for s in pair}
        for one in running.values():
            probe.check(workload, one.url, site.expected(workload.body), site.prefix)
        peak = _peak(running[peer.name], workload, site, plan)
        rows = [{"workload": workload.name, "peer": peer.name, "share": share,
                 "rate": round(share * peak), "server": s.name, "rounds": []}
                for share in OPEN_SHARES for s in pair]
        for _ in range(plan.rounds):
            for row in rows:
                row["rounds"].append(_once(running[row["server"]], workload, row["rate"], site, plan))
    for row in rows:
        row["median"] = {p: statistics.median(r["latency_us"][p] for r in row["rounds"])
                         for p in POINTS}
        row["late_p99"] = statistics.median(r["late_us"]["p99"] for r in row["rounds"])
        row["client_share"] = statistics.median(r["client_share"] for r in row["rounds"])
        row["server_share"] = statistics.median(r["server_share"] for r in row["rounds"])
    return rows


def _peak(running, workload, site, plan):
    """Requests per second of the closed loop, the median of three runs."""
    amount = workload.in_flight * 4
    rates = []
    while len(rates) < 3:
        said, _ = _load(running, workload, (f"--requests={amount}",), site, plan)
        if said["seconds"] < PEAK_S / 2 and amount < 1_000_000:
            amount = round(amount * min(20, 1.2 * PEAK_S / said["seconds"]))
        else:
            rates.append(said["requests"] / said["seconds"])
    return statistics.median(rates)


def _once(running, workload, rate, site, plan):
    amount = max(100, round(rate * plan.seconds))
    pids = running.pids()
    cpu = process.cpu_seconds(pids)
    said, client_s = _load(running, workload, (
        f"--requests={amount}", f"--rate={rate}", f"--skip={round(amount * SKIPPED)}"), site, plan)
    cpu = process.cpu_seconds(pids) - cpu
    if said["requests"] != amount:
        raise clients.Wrong(f"{said['requests']} of {amount} requests were answered")
    return {"latency_us": said["latency_us"], "late_us": said["late_us"],
            "server_share": min(cpu / said["seconds"], 1.0),
            "client_share": min(client_s / said["seconds"], 1.0)}


def _load(running, workload, more, site, plan):
    """(what the client says, its CPU seconds)"""
    argv = clients.load_command(workload, running.port, site, running.server.recipe.group, (
        f"--connections={workload.connections}", f"--streams={workload.streams}", *more))
    said = clients.read_load(clients.finished_process([*plan.client_place, *argv], 120, argv[0]))
    return said, said["cpu_seconds"]
