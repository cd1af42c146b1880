"""What follows from the cells for each demand: against whom, which ratio, met or missed."""

from dataclasses import asdict, dataclass

from . import stats


@dataclass(frozen=True)
class Finding:
    workload: str
    subject: str
    against: str  # whom it turned out to be
    metric: str
    limit: float
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
        ratio = stats.ratio(ours.cpu_us, other.cpu_us)
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
