"""What the runs at a constant rate say: rows of a table, and a plot of latency."""

import math

from .svg import Drawing

INK, SOFT, RULE = "#1d2733", "#5b6775", "#e4e8ec"
WEIR, PEER = "#0a7d8c", "#8d99a8"
POINTS = ("p50", "p90", "p99", "p99.9")
STRAINED = 0.9  # of its core: from here on the client may be what is late
ROW, LEFT, RIGHT = 30, 250, 860


def good(results):
    return [r for r in results.open_loop if "error" not in r]


def rows(results):
    """weir and a peer at the same rate, a line each; met if weir's p99 is no worse."""
    out = [["workload", "rate/s", "of the peak", "server", *POINTS, "sent late p99", "client",
            "server", "weir's p99 / peer's"]]
    for row in good(results):
        rival = _partner(results, row)
        judged = ""
        if row["server"] == "weir" and rival:
            ratio = row["median"]["p99"] / rival["median"]["p99"]
            judged = f"{ratio:.2f}"
            if row["share"] > 0.7:
                judged += " met" if ratio <= 1 else " missed"
        strained = " c" if row["client_share"] > STRAINED else ""
        out.append([row["workload"], f"{row['rate']:,}", f"{row['share']:.0%} of {row['peer']}'s",
                    row["server"], *(f"{row['median'][p]:,.0f}" for p in POINTS),
                    f"{row['late_p99']:,.0f}", f"{row['client_share']:.0%}{strained}",
                    f"{row['server_share']:.0%}", judged])
    return out


def verdicts(results):
    """met or missed, for each rate at which p99 is compared."""
    return [row[-1].split()[1] for row in rows(results)[1:] if " " in row[-1]]


def _partner(results, row):
    return next((r for r in good(results) if r["server"] == row["peer"] and all(
        r[k] == row[k] for k in ("workload", "peer", "share"))), None)


def plots(results):
    found = {}
    for workload in dict.fromkeys(r["workload"] for r in good(results)):
        shown = [r for r in good(results) if r["workload"] == workload]
        found[f"latency-{workload}.svg"] = _plot(workload, shown)
    return found


def _plot(workload, shown):
    """A line from p50 to p99.9 for each row, on a logarithmic scale, a tick at p99."""
    top = 88
    bottom = top + ROW * len(shown)
    low = min(r["median"]["p50"] for r in shown)
    high = max(r["median"]["p99.9"] for r in shown)
    steps = _decades(low, high)
    d = Drawing(RIGHT + 140, bottom + 50, f"Latency at a constant rate, {workload}")
    d.text(32, 38, d.title, font_size=20, font_weight=600, fill=INK)
    d.text(32, 60, "µs from the time a request was due · line: p50 to p99.9 · dot: p99 · medians of"
           " the rounds", font_size=12, fill=SOFT)

    def at(value):
        return LEFT + (RIGHT - LEFT) * _share(value, steps[0], steps[-1])

    for step in steps:
        d.line(at(step), top, at(step), bottom, stroke=RULE, stroke_width=1)
        d.text(at(step), bottom + 18, f"{step:,}", font_size=11, fill=SOFT, text_anchor="middle")
    for i, row in enumerate(shown):
        y = top + ROW * (i + 0.5)
        colour = WEIR if row["server"] == "weir" else PEER
        name = f"{row['server']} at {row['share']:.0%} of {row['peer']}'s peak"
        d.text(LEFT - 12, y + 4.5, name, font_size=12, text_anchor="end", fill=INK)
        middle = row["median"]
        d.line(at(middle["p50"]), y, at(middle["p99.9"]), y, stroke=colour, stroke_width=3)
        d.circle(at(middle["p99"]), y, 5, fill=colour,
                 tip=f"{name}: " + ", ".join(f"{p} {middle[p]:,.0f}" for p in POINTS))
        d.text(at(middle["p99.9"]) + 10, y + 4.5, f"{middle['p99']:,.0f}", font_size=12, fill=SOFT)
    return d.document()


def _decades(low, high):
    steps = [1]
    while steps[-1] * 10 <= low:
        steps[0] *= 10
    while steps[-1] < high:
        steps.append(steps[-1] * 10)
    return steps if len(steps) > 1 else [steps[0], steps[0] * 10]


def _share(value, low, high):
    return math.log(max(value, low) / low) / math.log(high / low)
