"""What is demanded of weir, and what follows from the cells: against whom, which ratio, met or missed."""

from dataclasses import asdict, dataclass

from . import stats

P99_LIMIT = 1.0  # of the best peer's, at the same constant rate
LATE_SHARE = 0.3  # of p99, by which the client was late at its own p99
P99_SHARE = 0.8  # of a peer's peak: the rate at which it is demanded

MEANINGS = {
    "cpu_us": "CPU",
    "syscalls": "system calls per request",
    "p99": "p99",
}


@dataclass(frozen=True)
class Finding:
    workload: str
    subject: str
    against: str  # whom it turned out to be
    metric: str
    limit: float | None
    ratio: stats.Ratio | None  # None: one of the two has no figure
    verdict: str | None

    def to_json(self):
        return asdict(self)


def find(results, workload, demand):
    """`demand` on `workload`, judged by what has been measured."""
    ours = results.ok_cells(workload).get(demand.subject)
    other, name = _other(results, workload, demand)
    ratio = None
    if ours and demand.metric == "syscalls":
        if ours.syscalls is not None:
            ratio = stats.Ratio(ours.syscalls, ours.syscalls, ours.syscalls)
    elif ours and other:
        ratio = stats.ratio(ours.cpu_by_round, other.cpu_by_round)
    verdict = stats.verdict(ratio, demand.limit) if ratio else None
    return Finding(workload.name, demand.subject, name, demand.metric, demand.limit, ratio, verdict)


def _other(results, workload, demand):
    """(cell, name) of whom the subject is compared with."""
    if demand.against == "best":
        rival = results.rival(workload)
        return rival, rival.server if rival else "best peer"
    if demand.against.startswith("@"):
        name = demand.against[1:]
        cell = results.cells.get((name, demand.subject))
        return cell if cell is not None and cell.ok else None, name
    return results.ok_cells(workload).get(demand.against), demand.against


def find_p99(rows):
    """weir's p99 against the best of the peers', for each constant rate of OPEN_SHARES."""
    rates = {(r["workload"], r["peer"], r["share"]): [] for r in rows}
    for row in rows:
        rates[row["workload"], row["peer"], row["share"]].append(row)
    found = []
    for (workload, peer, share), alike in rates.items():
        ours = next((r for r in alike if r["server"] == "weir"), None)
        theirs = min((r for r in alike if r["server"] != "weir"),
                     key=lambda r: r["median"]["p99"], default=None)
        if ours is None or theirs is None:
            continue
        ratio = stats.ratio(*({n: r["latency_us"]["p99"] for n, r in enumerate(one["rounds"])}
                              for one in (ours, theirs)))
        limit = P99_LIMIT if share == P99_SHARE else None
        verdict = stats.verdict(ratio, limit)
        if verdict and is_disturbed(ours):
            verdict = verdict.rstrip("?") + "?"
        found.append(Finding(f"{workload} at {share:.0%} of {peer}'s peak", "weir", theirs["server"],
                             "p99", limit, ratio, verdict))
    return found


def is_disturbed(row):
    """Was the client itself late by about as much? Then p99 tells of the machine, not of the server."""
    return row["late_p99"] > row["median"]["p99"] * LATE_SHARE


def found(results):
    """Every demand that has something to do with what was asked for."""
    by_cell = [f for w in results.measured() for f in results.findings(w) if f.limit]
    return by_cell + [f for f in find_p99(results.good_open_loop()) if f.limit]


def rows(results):
    """One for each demand, the missed ones shown as such."""
    out = [["demand on", "who", "of", "what", "found", "demanded", ""]]
    for f in found(results):
        of = f.against or "-"
        out.append([f.workload, f.subject, of, MEANINGS[f.metric], ratio_text(f.ratio),
                    f"≤ {f.limit:.2f}", f.verdict or "not measured"])
    return out


def ratio_text(ratio):
    if ratio is None:
        return "-"
    span = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low != ratio.high else ""
    return f"{ratio.value:.2f}{span}"


def tally(results):
    verdicts = [(f.verdict or "").rstrip("?") for f in found(results)]
    said = f"{verdicts.count('met')} demands met, {verdicts.count('missed')} missed"
    return said + (f", {verdicts.count('')} not measured" if "" in verdicts else "")
