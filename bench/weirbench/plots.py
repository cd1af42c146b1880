"""Bar charts of CPU time per request, and weir's ratio to the peer against what is demanded.

Workloads differ by five orders of magnitude, so each has a panel and a scale of its own.
"""

from . import openreport, report, stats, sweep
from .svg import Drawing, text_width
from .workloads import PROTOCOLS

INK, SOFT, FAINT, RULE = "#1d2733", "#5b6775", "#98a2ae", "#e4e8ec"
WEIR, VARIANT, PEER, RIVAL, DEMAND = "#0a7d8c", "#7cc0c8", "#c9d0d8", "#8d99a8", "#c2410c"
MET, MISSED = "#15803d", "#b91c1c"

MARGIN = 32
TOP = 88
PANEL_W = 440
GAP = 36
NAME_W = 96
VALUE_W = 84
HALO = {"stroke": "#ffffff", "stroke_width": 4, "paint_order": "stroke", "stroke_linejoin": "round"}
ROW = 26
BAR = 16
PANEL_HEAD = 46
PANEL_FOOT = 30


def all_plots(results):
    """{file name: SVG} of what has been measured."""
    plots = {}
    for protocol in PROTOCOLS:
        workloads = [w for w in results.listed()
                     if w.protocol == protocol and results.ok_cells(w)]
        if workloads:
            plots[f"cpu-{protocol}.svg"] = cpu_bars(results, protocol, workloads)
    if any(results.main_finding(w).ratio for w in results.listed()):
        plots["ratio.svg"] = ratios(results)
    return plots | sweep.plots(results) | openreport.plots(results)


def cpu_bars(results, protocol, workloads):
    columns = min(2, len(workloads))
    rows = -(-len(workloads) // columns)
    panel_h = PANEL_HEAD + ROW * len(results.main_servers()) + PANEL_FOOT
    width = 2 * MARGIN + columns * PANEL_W + (columns - 1) * GAP
    height = TOP + rows * panel_h + MARGIN / 2
    title = f"Server CPU time, {PROTOCOLS[protocol][2]}"
    d = Drawing(width, round(height), title)
    d.text(MARGIN, 38, title, font_size=20, font_weight=600, fill=INK)
    when = results.facts["started"].split()[0]
    d.text(MARGIN, 60, f"µs per request, less is better · median of {results.facts['rounds']} rounds,"
           f" whiskers from min to max · c: the client was the limit · ~: noisy · {when}", font_size=12,
           fill=SOFT)
    for i, workload in enumerate(workloads):
        x = MARGIN + (i % columns) * (PANEL_W + GAP)
        y = TOP + (i // columns) * panel_h
        _panel(d, results, workload, x, y)
    return d.document()


def _shape(workload):
    if workload.connects:
        kind = "resumed" if workload.resume else "full"
        return f"{kind} handshakes", "per connection"
    words = {"6b": "6 B", "1k": "1 KiB", "10k": "10 KiB", "16k": "16 KiB", "100k": "100 KiB",
             "1m": "1 MiB", "100m": "100 MiB", "range": "16 KiB of 100 MiB", "gz": "10 KiB, .gz",
             "plain": "10 KiB, no .gz", "many": "100,000 files", "mix": "20 files"}
    return (words.get(workload.body, workload.body),
            f"{workload.connections} connections × {workload.streams} in flight")


def _panel(d, results, workload, x, y):
    head, shape = _shape(workload)
    soft = {"dx": 10, "font_size": 12, "font_weight": 400, "fill": SOFT}
    d.text(x, y + 16, head, (shape, soft), font_size=15, font_weight=600, fill=INK)
    _panel_verdict(d, results, workload, x + PANEL_W, y + 16)
    cells = {n: c for n, c in results.ok_cells(workload).items() if n in results.main_servers()}
    found = results.main_finding(workload)
    rival = cells.get(found.against)
    most = max((c.summary("cpu_us").high for c in cells.values()), default=1)
    demanded = None
    if found.limit and rival:
        demanded = found.limit * rival.summary("cpu_us").median
        most = max(most, demanded)
    left, right = x + NAME_W, x + PANEL_W - VALUE_W
    scale = (right - left) / most
    top = y + PANEL_HEAD - 16
    if demanded:
        _demand(d, left + demanded * scale, top, top + ROW * len(results.main_servers()), left,
                f"demanded: {found.limit:.2f} of {rival.server}")
    d.line(left, top, left, top + ROW * len(results.main_servers()), stroke=FAINT, stroke_width=1)
    for i, server in enumerate(results.main_servers()):
        middle = top + ROW * (i + 0.5)
        _bar(d, results.cell(workload, server), server, rival, (x, left, middle, scale))


def _panel_verdict(d, results, workload, right, y):
    finding = results.main_finding(workload)
    found, word = finding.ratio, finding.verdict
    if not found:
        return
    colour = SOFT if word is None else MET if word.startswith("met") else MISSED
    says = f"{found.value:.2f} of {finding.against}" + (f", {word}" if word else "")
    d.text(right, y, says, font_size=12, font_weight=600, fill=colour, text_anchor="end")


def _bar(d, cell, server, rival, place):
    x, left, middle, scale = place
    weir = report.is_weir(server)
    d.text(left - 10, middle + 4.5, server, font_size=13, text_anchor="end",
           fill=INK, font_weight=600 if server == "weir" else 400)
    if cell is None or not cell.ok:
        d.text(left + 8, middle + 4.5, cell.state if cell else "", font_size=12, fill=FAINT,
               font_style="italic", **HALO)
        return
    cpu = cell.summary("cpu_us")
    colour = WEIR if server == "weir" else VARIANT if weir else RIVAL if cell is rival else PEER
    tip = f"{server}: {report.number(cpu.median)} µs [{report.number(cpu.low)}, " \
          f"{report.number(cpu.high)}] {report.marks(cell)}"
    d.rect(left, middle - BAR / 2, cpu.median * scale, BAR, tip=tip, fill=colour)
    low, high = left + cpu.low * scale, left + cpu.high * scale
    d.line(low, middle, high, middle, stroke=INK, stroke_width=1.2)
    for end in (low, high):
        d.line(end, middle - 4, end, middle + 4, stroke=INK, stroke_width=1.2)
    label = f"{report.number(cpu.median)} {report.marks(cell)}".rstrip()
    d.text(max(high, left + cpu.median * scale) + 8, middle + 4.5, label, font_size=12,
           fill=INK if weir else SOFT, font_weight=600 if weir else 400, **HALO)


def _demand(d, at, top, bottom, left, says):
    d.line(at, top - 2, at, bottom + 4, stroke=DEMAND, stroke_width=1.4, stroke_dasharray="4 3",
           stroke_opacity=0.8)
    room = at - left > text_width(says, 11) / 2
    d.text(at if room else left, bottom + 16, says, font_size=11, fill=DEMAND,
           text_anchor="middle" if room else "start")


def ratios(results):
    """One line per workload: weir's share of the peer's CPU time, and the most it may be."""
    workloads = [w for w in results.listed() if results.main_finding(w).ratio]
    most = max([1.25] + [results.main_finding(w).ratio.high * 1.05 for w in workloads])
    left, right = MARGIN + 150, 800
    scale = (right - left) / most
    bottom = TOP + 30 * len(workloads)
    d = Drawing(right + 200, bottom + 50, "weir's CPU time as a share of the peer's")
    d.text(MARGIN, 38, d.title, font_size=20, font_weight=600, fill=INK)
    d.text(MARGIN, 60, f"dot: median ratio of rounds that ran in turn · whiskers: {stats.CONFIDENCE:.0%} confidence"
           " · tick: the most that is demanded", font_size=12, fill=SOFT)
    for quarter in range(int(most * 4) + 1):
        at = left + quarter / 4 * scale
        d.line(at, TOP, at, bottom, stroke=INK if quarter == 4 else RULE,
               stroke_width=1)
        d.text(at, bottom + 18, f"{quarter / 4:.2f}", font_size=11, fill=SOFT, text_anchor="middle")
    for i, workload in enumerate(workloads):
        _ratio_row(d, results, workload, (left, right, TOP + 30 * i + 15, scale))
    return d.document()


def _ratio_row(d, results, workload, place):
    left, right, y, scale = place
    finding = results.main_finding(workload)
    found, word = finding.ratio, finding.verdict
    colour = SOFT if word is None else MET if word.startswith("met") else MISSED
    d.text(left - 12, y + 4.5, workload.name, font_size=13, text_anchor="end", fill=INK)
    if finding.limit:
        at = left + finding.limit * scale
        d.line(at, y - 10, at, y + 10, stroke=DEMAND, stroke_width=3)
    d.line(left + found.low * scale, y, left + found.high * scale, y, stroke=colour,
           stroke_width=1.5)
    d.circle(left + found.value * scale, y, 5, fill=colour,
             tip=f"{workload.name}: {found.value:.3f} [{found.low:.3f}, {found.high:.3f}]")
    says = f"{found.value:.2f} of {finding.against}" + (f", {word}" if word else "")
    d.text(right + 16, y + 4.5, says, font_size=12, fill=colour)
