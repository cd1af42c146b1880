"""Constant rates: latency from the time at which a request should have been sent.

A closed loop waits for a stalled server and so hides the stall. Here the rates are 50 and 80 % of each
peer's peak, and at each of them weir and that peer take turns; at 80 %, where p99 is compared, whoever else
has such a peak too. The peak is that of the same client in a closed loop.
"""

import contextlib
import statistics

from . import clients, process, probe, servers as servers_
from .demands import P99_SHARE
from .workloads import OPEN_SHARES, shaped

PEAK_S = 0.2
SKIPPED = 0.1  # share of the requests at the beginning that is not recorded
POINTS = ("p50", "p90", "p99", "p99.9")
ROUNDS, SECONDS = 5, 0.5  # at least: a stall of a few ms is a hundredth of a round
QUICK_ROUNDS, QUICK_SECONDS = 3, 0.1
PLANNED_ROWS = 5  # for each peer's peak


def shape(plan, quick):
    """Rounds and seconds for these runs."""
    if quick:
        return {"rounds": QUICK_ROUNDS, "seconds": QUICK_SECONDS}
    return {"rounds": max(plan.rounds, ROUNDS), "seconds": max(plan.seconds, SECONDS)}


def estimate_s(peers, plan):
    return 2 + peers * (0.8 + PLANNED_ROWS * plan.rounds * (plan.seconds + 0.15))


def measure(spec, servers, site, plan, progress):
    """[{workload, peer, share, rate, server, rounds: [...], median: {...}}], or {workload, server, error}"""
    protocol, body, connections, streams = spec
    workload = shaped(protocol, body, connections, streams, client="load")
    trouble = []
    with contextlib.ExitStack() as stack:
        able = {}  # server's name: (running, peak)
        for server in servers:
            if server.only or server.is_stock or ":" in server.name or server.why_not(workload):
                continue
            progress.now(f"peak rate {workload.name}  {server.name}")
            with _errors_told(workload, server.name, trouble):
                running = stack.enter_context(server.start(site, workload, plan.server_place))
                probe.check(workload, running.url, site.expected(workload.body), site.prefix)
                able[server.name] = running, _peak(running, workload, site, plan)
        rows = _rows(workload, {name: peak for name, (_, peak) in able.items()})
        failed = set()
        for number in range(plan.rounds):
            progress.now(f"constant rates {workload.name}  round {number + 1}/{plan.rounds}")
            for row in rows:
                if row["server"] not in failed and not _round(row, able, workload, site, plan, trouble):
                    failed.add(row["server"])
        progress.worked(estimate_s(len(able) - ("weir" in able), plan))
    return [_summed_up(r) for r in rows if r["server"] not in failed] + trouble


@contextlib.contextmanager
def _errors_told(workload, server, trouble):
    try:
        yield
    except (clients.Wrong, servers_.CannotStart, OSError) as e:
        trouble.append({"workload": workload.name, "server": server, "error": str(e)})


def _rows(workload, peaks):
    """For each rate those that take part, weir and the peer whose peak it is at least."""
    rows = []
    for peer in (name for name in peaks if name != "weir"):
        for share in OPEN_SHARES:
            rows += [{"workload": workload.name, "peer": peer, "share": share,
                      "rate": round(share * peaks[peer]), "server": name, "rounds": []}
                     for name, peak in peaks.items()
                     if name in ("weir", peer) or (share == P99_SHARE and peak >= peaks[peer])]
    return rows


def _round(row, able, workload, site, plan, trouble):
    before = len(trouble)
    with _errors_told(workload, row["server"], trouble):
        running, _ = able[row["server"]]
        row["rounds"].append(_once(running, workload, row["rate"], site, plan))
    return len(trouble) == before


def _summed_up(row):
    def middle(value):
        return statistics.median(map(value, row["rounds"]))

    row["median"] = {p: middle(lambda r, p=p: r["latency_us"][p]) for p in POINTS}
    row["late_p99"] = middle(lambda r: r["late_us"]["p99"])
    row["client_share"] = middle(lambda r: r["client_share"])
    row["server_share"] = middle(lambda r: r["server_share"])
    return row


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
