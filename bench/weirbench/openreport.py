"""What the runs at a constant rate say: rows of a table, and a plot of latency."""

import math

from . import demands
from .svg import Drawing

INK, SOFT, RULE = "#1d2733", "#5b6775", "#e4e8ec"
WEIR, PEER = "#0a7d8c", "#8d99a8"
POINTS = ("p50", "p90", "p99", "p99.9")
STRAINED = 0.9  # of its core: from here on the client may be what is late
ROW, LEFT, RIGHT = 24, 130, 860


def rows(results):
    """Everyone who took part in a rate, a line each; weir's p99 beside the best of the others."""
    ratios = {f.workload: f.ratio.value for f in demands.find_p99(results.good_open_loop())}
    out = [["workload", "rate/s", "of the peak", "server", *POINTS, "sent late p99", "client",
            "server", "weir's p99 / best peer's"]]
    for row in results.good_open_loop():
        of = f"{row['share']:.0%} of {row['peer']}'s"
        ratio = ratios.get(f"{row['workload']} at {of} peak")
        strained = " c" if row["client_share"] > STRAINED else ""
        late = " ~" if demands.is_disturbed(row) else ""
        out.append([row["workload"], f"{row['rate']:,}", of, row["server"],
                    *(f"{row['median'][p]:,.0f}" for p in POINTS),
                    f"{row['late_p99']:,.0f}{late}", f"{row['client_share']:.0%}{strained}",
                    f"{row['server_share']:.0%}",
                    f"{ratio:.2f}" if row["server"] == "weir" and ratio else ""])
    return out


def plots(results):
    found = {}
    for workload in dict.fromkeys(r["workload"] for r in results.good_open_loop()):
        shown = [r for r in results.good_open_loop() if r["workload"] == workload]
        found[f"latency-{workload}.svg"] = _plot(workload, shown)
    return found


def _plot(workload, shown):
    """A line from p50 to p99.9 for each row, on a logarithmic scale, a dot at p99; a block for each rate."""
    blocks = {}
    for row in shown:
        blocks.setdefault((row["peer"], row["share"], row["rate"]), []).append(row)
    top = 88
    bottom = top + ROW * (len(shown) + len(blocks))
    low = min(r["median"]["p50"] for r in shown)
    high = max(r["median"]["p99.9"] for r in shown)
    steps = _decades(low, high)
    d = Drawing(RIGHT + 140, bottom + 62, f"Latency at constant rates, {workload}")
    d.text(32, 38, d.title, font_size=20, font_weight=600, fill=INK)
    d.text(32, 60, "from the time a request was due · line: p50 to p99.9 · dot and number: p99 · medians of"
           " the rounds", font_size=12, fill=SOFT)

    def at(value):
        return LEFT + (RIGHT - LEFT) * _share(value, steps[0], steps[-1])

    for step in steps:
        d.line(at(step), top, at(step), bottom, stroke=RULE, stroke_width=1)
        d.text(at(step), bottom + 18, f"{step:,}", font_size=11, fill=SOFT, text_anchor="middle")
    d.text((LEFT + RIGHT) / 2, bottom + 40, "µs", font_size=12, fill=SOFT, text_anchor="middle")
    y = top
    for (peer, share, rate), rows_of_it in blocks.items():
        d.text(32, y + ROW / 2 + 6, f"{share:.0%} of {peer}'s peak: {rate:,} requests/s", font_size=12,
               font_weight=600, fill=INK)
        for row in sorted(rows_of_it, key=lambda r: r["server"] != "weir"):
            y += ROW
            _line(d, row, y + ROW / 2, at)
        y += ROW
    return d.document()


def _line(d, row, y, at):
    colour = WEIR if row["server"] == "weir" else PEER
    middle = row["median"]
    d.text(LEFT - 12, y + 4.5, row["server"], font_size=12, text_anchor="end", fill=INK)
    d.line(at(middle["p50"]), y, at(middle["p99.9"]), y, stroke=colour, stroke_width=3)
    d.circle(at(middle["p99"]), y, 5, fill=colour,
             tip=f"{row['server']}: " + ", ".join(f"{p} {middle[p]:,.0f} µs" for p in POINTS))
    d.text(at(middle["p99.9"]) + 10, y + 4.5, f"{middle['p99']:,.0f}", font_size=12, fill=SOFT)


def _decades(low, high):
    steps = [1]
    while steps[-1] * 10 <= low:
        steps[0] *= 10
    while steps[-1] < high:
        steps.append(steps[-1] * 10)
    return steps if len(steps) > 1 else [steps[0], steps[0] * 10]


def _share(value, low, high):
    return math.log(max(value, low) / low) / math.log(high / low)
